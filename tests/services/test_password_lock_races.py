"""Guesses verified at the same time, on DynamoDB Local: what is written last decides, not what was read first."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from argon2 import PasswordHasher

from chalicelib.domain.password_lock import LOCK_AFTER, LOCK_FOR
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.sign_in import SignIn
from chalicelib.services import sessions
from tests.support.accounts import PASSWORD, QUICK_HASHER, Account, an_account, basic, guess, refusal_of
from tests.support.giving import Give, Instead
from tests.support.intercepted_calls import hooked
from tests.support.interleaving import Turns

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
AT_ONCE = 50

on_both_engines = pytest.mark.usefixtures("engine")
on_dynamodb_local = pytest.mark.usefixtures("dynamodb_local")  # threads, or costs


@pytest.fixture
def account() -> Account:
    """An account that signed in a moment ago, so that there is no logon to record."""
    account = an_account()
    account.set_on_login(last_logon=NOW - timedelta(minutes=1))
    return account


def _by_header(account: Account) -> ErrorCode | None:
    return refusal_of(account.basic, NOW)


def _by_session_login(account: Account) -> ErrorCode | None:
    try:
        sessions.sign_in(SignIn.model_validate({"Email": account.email, "Password": PASSWORD}), NOW)
    except ServiceError as refusal:
        return refusal.error
    return None


SignsIn = Callable[[Account], ErrorCode | None]
WAYS: list[SignsIn] = [_by_header, _by_session_login]


def _in_a_thread(function: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    return thread, results


def _right_after(give: Give, account: Account, meanwhile: Callable[[], Any], sign_in: SignsIn) -> ErrorCode | None:
    """Return how the right password is answered when `meanwhile` happens between its verification and the decision."""
    verified, go_on = threading.Event(), threading.Event()

    def slow(password_hash: str, password: bytes) -> bool:
        right = QUICK_HASHER.verify(password_hash, password)  # it raises for a wrong one
        verified.set()
        go_on.wait(30)
        return right

    give(hasher=lambda: Instead(QUICK_HASHER, verify=slow))
    thread, results = _in_a_thread(lambda: sign_in(account))
    assert verified.wait(30)
    meanwhile()
    go_on.set()
    thread.join(30)
    (result,) = results
    return result  # type: ignore[no-any-return]


@pytest.mark.slow
@on_both_engines
@pytest.mark.parametrize("sign_in", WAYS)
def test_the_eleventh_verification_that_finishes_is_refused_though_it_began_before_the_lock_and_is_right(
    account: Account, give: Give, sign_in: SignsIn
) -> None:
    before: list[Any] = []
    refusal = _right_after(give, account, lambda: before.extend(guess(account, LOCK_AFTER, NOW)), sign_in)

    assert set(before) == {ErrorCode.BAD_CREDENTIAL}
    assert refusal is ErrorCode.LOGIN_LOCKED
    assert account.login.locked_until == NOW + LOCK_FOR


@on_both_engines
def test_the_tenth_verification_that_finishes_may_be_right(account: Account, give: Give) -> None:
    assert _right_after(give, account, lambda: guess(account, LOCK_AFTER - 1, NOW), _by_header) is None
    assert account.login.failed_attempts == 0


@on_both_engines
def test_a_blocked_agents_right_password_looks_wrong_after_the_lock(give: Give) -> None:
    blocked = an_account(state=0)

    assert _right_after(give, blocked, lambda: guess(blocked, LOCK_AFTER, NOW), _by_header) is ErrorCode.LOGIN_LOCKED


@on_both_engines
def test_a_right_password_that_was_refused_is_not_rehashed(account: Account, give: Give) -> None:
    weak = PasswordHasher(1, 8192, 1).hash(PASSWORD)
    account.set_on_login(password_hash=weak)
    _right_after(give, account, lambda: guess(account, LOCK_AFTER, NOW), _by_header)

    assert account.login.password_hash == weak


@on_dynamodb_local
def test_of_fifty_guesses_at_once_ten_are_counted_and_the_right_one_among_the_last_is_refused(
    account: Account, give: Give
) -> None:
    together, wrong_are_done = threading.Barrier(AT_ONCE), threading.Event()
    left = threading.Semaphore(0)

    def slow(password_hash: str, password: bytes) -> bool:
        together.wait(60)  # all have read the login before the first is decided
        right = QUICK_HASHER.verify(password_hash, password)  # it raises for a wrong one
        wrong_are_done.wait(60)
        return right

    def attempt(authorization: str) -> ErrorCode | None:
        refusal = refusal_of(authorization, NOW)
        left.release()
        return refusal

    give(hasher=lambda: Instead(QUICK_HASHER, verify=slow))
    wrong = [basic(account.email, f"wrong {number}") for number in range(AT_ONCE - 1)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        others = [pool.submit(attempt, authorization) for authorization in wrong]
        right = pool.submit(attempt, account.basic)
        for _ in range(LOCK_AFTER):
            left.acquire(timeout=60)
        wrong_are_done.set()

    counts = Counter(other.result() for other in others)
    assert right.result() is ErrorCode.LOGIN_LOCKED
    assert counts == {ErrorCode.BAD_CREDENTIAL: LOCK_AFTER, ErrorCode.LOGIN_LOCKED: AT_ONCE - 1 - LOCK_AFTER}
    assert (account.login.failed_attempts, account.login.locked_until) == (LOCK_AFTER, NOW + LOCK_FOR)


@pytest.mark.slow
@on_both_engines
@pytest.mark.parametrize("seed", range(20))
def test_in_any_order_a_right_password_lets_in_only_before_the_tenth_failure(account: Account, seed: int) -> None:
    order: list[ErrorCode | None] = []
    guesses = [basic(account.email, f"wrong {number}") for number in range(LOCK_AFTER + 2)] + [account.basic] * 2
    random.Random(seed).shuffle(guesses)  # noqa: S311  an order, not a secret
    turns = Turns(seed)

    def attempt(authorization: str) -> Callable[[], None]:
        return lambda: order.append(refusal_of(authorization, NOW))

    with hooked(turns.hook):
        turns.run(*map(attempt, guesses))

    failures = order.count(ErrorCode.BAD_CREDENTIAL)
    entries = order.count(None)
    assert failures <= LOCK_AFTER * (entries + 1)
    assert account.login.failed_attempts <= LOCK_AFTER
    if not entries:
        assert failures == LOCK_AFTER
        assert account.login.locked_until == NOW + LOCK_FOR
