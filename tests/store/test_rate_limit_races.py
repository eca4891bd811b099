"""Limits under many calls at the same time, on DynamoDB Local: moto loses updates under threads."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.domain.password_lock import LOCK_AFTER, LOCK_FOR, finished
from chalicelib.errors import ServiceError
from chalicelib.store import password_lock
from chalicelib.store.auth_account_calls import take_call
from tests.support.accounts import an_account

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
AT_ONCE = 32

pytestmark = pytest.mark.usefixtures("dynamodb_local")


def test_of_failures_at_the_same_time_ten_are_counted_and_lock() -> None:
    account = an_account()
    counter = password_lock.counter(account.email)

    def fail(_: int) -> bool:
        try:
            password_lock.count_failure(counter, finished(NOW), "a", begins_anew=False)
        except ServiceError:
            return False
        return True

    with ThreadPoolExecutor(AT_ONCE) as pool:
        counted = list(pool.map(fail, range(2 * AT_ONCE)))

    assert counted.count(True) == account.login.failed_attempts == LOCK_AFTER
    assert account.login.locked_until == NOW + LOCK_FOR


def test_of_32_calls_for_the_configuration_exactly_one_is_allowed() -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        waits = list(pool.map(lambda _: take_call(4711, NOW, timedelta(minutes=10)), range(AT_ONCE)))

    assert waits.count(None) == 1
