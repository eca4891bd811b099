"""Guessing passwords, by an injected clock."""

from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.domain.password_lock import LOCK_AFTER, LOCK_FOR
from chalicelib.errors import ErrorCode
from chalicelib.services.authentication import caller_of
from tests.support.accounts import PASSWORD, QUICK_HASHER, an_account, basic, guess, refusal_of
from tests.support.giving import Give, Instead

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
WRONG = "not-the-password"

pytestmark = pytest.mark.usefixtures("engine", "signing")


def test_the_tenth_wrong_password_in_a_row_locks_passwords_for_thirty_minutes() -> None:
    account = an_account()

    assert set(guess(account, LOCK_AFTER, NOW)) == {ErrorCode.BAD_CREDENTIAL}
    assert refusal_of(account.basic, NOW) is ErrorCode.LOGIN_LOCKED
    assert refusal_of(basic(account.email, WRONG), NOW) is ErrorCode.LOGIN_LOCKED
    assert account.login.failed_attempts == LOCK_AFTER
    assert refusal_of(account.basic, NOW + LOCK_FOR - timedelta(seconds=1)) is ErrorCode.LOGIN_LOCKED
    assert refusal_of(account.basic, NOW + LOCK_FOR) is None


@pytest.mark.slow
def test_nine_wrong_passwords_and_a_right_one_begin_the_count_anew() -> None:
    account = an_account()
    guess(account, LOCK_AFTER - 1, NOW)
    caller_of(account.basic, NOW)
    guess(account, LOCK_AFTER - 1, NOW)

    assert refusal_of(account.basic, NOW) is None


def test_no_password_is_verified_while_passwords_are_locked(give: Give) -> None:
    account = an_account()
    verified: list[object] = []
    give(hasher=lambda: Instead(QUICK_HASHER, verify=lambda *asked: verified.append(asked)))
    guess(account, LOCK_AFTER, NOW)
    refused = [refusal_of(basic(account.email, password), NOW) for password in (PASSWORD, WRONG)]

    assert refused == [ErrorCode.LOGIN_LOCKED] * 2
    assert len(verified) == LOCK_AFTER


def test_guessing_passwords_stops_no_till_that_uses_its_secret_key() -> None:
    account = an_account()
    guess(account, LOCK_AFTER, NOW)

    assert refusal_of(account.basic_with_key, NOW) is None
    assert refusal_of(account.jwt(), NOW) is None
    assert account.login.locked_until is not None


def test_a_secret_key_does_not_begin_the_count_of_wrong_passwords_anew() -> None:
    account = an_account()
    guess(account, LOCK_AFTER - 1, NOW)
    caller_of(account.basic_with_key, NOW)
    guess(account, 1, NOW)

    assert refusal_of(account.basic, NOW) is ErrorCode.LOGIN_LOCKED
