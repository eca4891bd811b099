from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.domain.session import Session, expiry, is_alive, is_guid, opened, wants_touch

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
GUID = "0f8fad5b-d9cb-469f-a165-70867728950e"


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


def test_a_use_is_written_down_once_a_minute() -> None:
    assert not wants_touch(_session(timedelta(hours=1), timedelta(seconds=59)), NOW)
    assert wants_touch(_session(timedelta(hours=1), timedelta(seconds=60)), NOW)


def test_the_store_may_delete_a_session_no_earlier_than_it_ends() -> None:
    young, old = _session(timedelta(hours=1), timedelta()), _session(timedelta(hours=11, minutes=45), timedelta())

    assert expiry(young, NOW) > (NOW + timedelta(minutes=30)).timestamp() >= expiry(young, NOW) - 1
    assert expiry(old, NOW) > (NOW + timedelta(minutes=15)).timestamp() >= expiry(old, NOW) - 1
    assert opened("digest", 17, 1, NOW).expires_at == expiry(young, NOW)


@pytest.mark.parametrize(
    "text", ["", "not-a-guid", f"{{{GUID}}}", GUID.replace("-", ""), f"{GUID}\n", f"urn:uuid:{GUID}"]
)
def test_what_is_not_a_guid_is_the_id_of_no_session(text: str) -> None:
    assert not is_guid(text)


def test_a_guid_is_one_in_either_case() -> None:
    assert is_guid(GUID)
    assert is_guid(GUID.upper())
