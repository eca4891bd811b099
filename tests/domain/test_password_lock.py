from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.domain.agent import Login
from chalicelib.domain.password_lock import FailedAttempts, is_locked, is_over, reaches_many_places

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


def test_a_lock_ends_when_its_time_has_come() -> None:
    login = Login("till@demo.example", 17, 1, locked_until=NOW)

    assert is_locked(login, NOW - timedelta(seconds=1))
    assert not is_locked(login, NOW)
    assert not is_locked(Login("till@demo.example", 17, 1), NOW)


@pytest.mark.parametrize("attempts", [FailedAttempts(10, locked_until=NOW), FailedAttempts(3, counted_until=NOW)])
def test_failures_no_longer_count_when_their_lock_or_their_day_is_over(attempts: FailedAttempts) -> None:
    assert not is_over(attempts, NOW - timedelta(microseconds=1))
    assert is_over(attempts, NOW)
    assert not is_over(FailedAttempts(3), NOW)


def test_the_fifth_place_is_reached_once() -> None:
    four = FailedAttempts(4, sources=frozenset("abcd"))

    assert reaches_many_places(four, "e")
    assert not reaches_many_places(four, "d")
    assert not reaches_many_places(replace(four, sources=frozenset("abc")), "e")
    assert not reaches_many_places(replace(four, sources=frozenset("abcde")), "f")
