from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.domain.sign_in import Session, expiry, is_alive, is_use_to_record, new_session

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


def _session(opened_ago: timedelta, used_ago: timedelta) -> Session:
    return Session("digest", 17, 1, NOW - opened_ago, NOW - used_ago, 0)


@pytest.mark.parametrize(
    ("opened_ago", "used_ago", "alive"),
    [
        (timedelta(), timedelta(), True),
        (timedelta(minutes=29, seconds=59), timedelta(minutes=29, seconds=59), True),
        (timedelta(minutes=30), timedelta(minutes=30), False),
        (timedelta(hours=11, minutes=59, seconds=59), timedelta(minutes=1), True),
        (timedelta(hours=12), timedelta(), False),
    ],
)
def test_a_session_lives_twelve_hours_and_thirty_minutes_without_use(
    opened_ago: timedelta,
    used_ago: timedelta,
    alive: bool,  # noqa: FBT001  a column of the table above
) -> None:
    assert is_alive(_session(opened_ago, used_ago), NOW) is alive


def test_a_use_is_recorded_once_a_minute() -> None:
    assert not is_use_to_record(_session(timedelta(hours=1), timedelta(seconds=59)), NOW)
    assert is_use_to_record(_session(timedelta(hours=1), timedelta(seconds=60)), NOW)


def test_the_store_may_delete_a_session_no_earlier_than_it_ends() -> None:
    young, old = _session(timedelta(hours=1), timedelta()), _session(timedelta(hours=11, minutes=45), timedelta())

    assert expiry(young, NOW) > (NOW + timedelta(minutes=30)).timestamp() >= expiry(young, NOW) - 1
    assert expiry(old, NOW) > (NOW + timedelta(minutes=15)).timestamp() >= expiry(old, NOW) - 1
    assert new_session("digest", 17, 1, NOW).expires_at == expiry(young, NOW)
