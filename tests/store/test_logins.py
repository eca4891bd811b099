from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.domain.agent import Login
from chalicelib.domain.credential import LOCK_AFTER, LOCK_FOR
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import logins
from chalicelib.store.codec import Value
from chalicelib.store.table import Write, client, commit, read, table_name, write_one
from tests.accounts import Account, an_account

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
UNKNOWN = "nobody@store.example"

pytestmark = pytest.mark.usefixtures("engine")


def _fail(account: Account, times: int, now: datetime = NOW) -> None:
    for _ in range(times):
        logins.count_failure(account.email, account.login, now)


def test_a_login_is_found_whatever_its_case() -> None:
    account = an_account()

    assert read(logins.key(f" {account.email.upper()} ")) == account.login


def test_an_email_belongs_to_one_agent_whatever_its_case() -> None:
    account = an_account()

    with pytest.raises(ServiceError) as refusal:
        commit(logins.create(Login(account.email.upper(), 1, 1)))

    assert refusal.value.error is ErrorCode.EMAIL_TAKEN


def test_the_tenth_failure_in_a_row_locks_for_thirty_minutes() -> None:
    account = an_account()

    _fail(account, LOCK_AFTER - 1)
    before = account.login
    _fail(account, 1)

    assert (before.failed_attempts, before.locked_until) == (9, None)
    assert (account.login.failed_attempts, account.login.locked_until) == (10, NOW + LOCK_FOR)


def test_while_locked_no_failure_is_counted() -> None:
    account = an_account()
    login = account.login  # as it was read by a guess that is under way
    _fail(account, LOCK_AFTER)

    with pytest.raises(ServiceError) as refusal:
        logins.count_failure(account.email, login, NOW + timedelta(minutes=1))

    assert refusal.value.error is ErrorCode.LOGIN_LOCKED
    assert (account.login.failed_attempts, account.login.locked_until) == (LOCK_AFTER, NOW + LOCK_FOR)


def test_after_the_lock_ten_more_failures_lock_again() -> None:
    account = an_account()
    later = NOW + LOCK_FOR
    _fail(account, LOCK_AFTER)

    _fail(account, LOCK_AFTER - 1, later)
    before = account.login
    _fail(account, 1, later)

    assert (before.failed_attempts, before.locked_until) == (LOCK_AFTER - 1, None)
    assert account.login.locked_until == later + LOCK_FOR


def test_after_the_lock_two_guesses_at_once_are_both_counted() -> None:
    account = an_account()
    _fail(account, LOCK_AFTER)
    login = account.login

    for _ in range(2):
        logins.count_failure(account.email, login, NOW + LOCK_FOR)

    assert (account.login.failed_attempts, account.login.locked_until) == (2, None)


@pytest.mark.parametrize(
    "attempt",
    [lambda email: logins.record_logon(email, NOW), lambda email: logins.count_failure(email, Login(email, 1, 1), NOW)],
)
def test_a_lock_that_a_crash_left_out_is_set_by_the_next_attempt(attempt: Callable[[str], None]) -> None:
    account = an_account()
    account.set_on_login(failed_attempts=LOCK_AFTER)

    with pytest.raises(ServiceError) as refusal:
        attempt(account.email)

    assert refusal.value.error is ErrorCode.LOGIN_LOCKED
    assert account.login.locked_until == NOW + LOCK_FOR


def test_a_success_resets_the_count() -> None:
    account = an_account()
    _fail(account, LOCK_AFTER - 1)

    logins.record_logon(account.email, NOW)

    assert (account.login.failed_attempts, account.login.last_logon) == (0, NOW)


def test_a_success_after_the_lock_lifts_it_for_good() -> None:
    account = an_account()
    _fail(account, LOCK_AFTER)

    logins.record_logon(account.email, NOW + LOCK_FOR)

    assert (account.login.failed_attempts, account.login.locked_until) == (0, None)


def test_a_success_after_a_lock_was_set_is_refused() -> None:
    account = an_account()
    _fail(account, LOCK_AFTER)

    with pytest.raises(ServiceError) as refusal:
        logins.record_logon(account.email, NOW)

    assert refusal.value.error is ErrorCode.LOGIN_LOCKED
    assert account.login.locked_until is not None


def test_the_failure_of_an_unknown_login_leaves_nothing() -> None:
    logins.count_failure(UNKNOWN, None, NOW)

    assert read(logins.key(UNKNOWN)) is None


def test_a_lock_that_comes_too_late_for_a_login_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    account = an_account()
    _fail(account, LOCK_AFTER - 1)

    def move_away(write: Write) -> dict[str, Value]:
        left = write_one(write)
        client().delete_item(TableName=table_name("logins"), Key=logins.key(account.email).wire())
        return left

    monkeypatch.setattr(logins, "write_one", move_away)
    _fail(account, 1)

    assert read(logins.key(account.email)) is None


def test_a_rehash_replaces_the_hash_it_was_made_from() -> None:
    account = an_account()

    logins.rehash(account.login, "stronger")

    assert account.login.password_hash == "stronger"  # noqa: S105  a stand-in for a hash


def test_a_rehash_gives_way_to_a_password_changed_meanwhile() -> None:
    account = an_account()
    login = account.login
    logins.rehash(login, "changed")

    logins.rehash(login, "stronger")
    logins.rehash(replace(login, email=UNKNOWN), "stronger")

    assert account.login.password_hash == "changed"  # noqa: S105  a stand-in for a hash
    assert read(logins.key(UNKNOWN)) is None
