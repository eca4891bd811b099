from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.domain.sessions import Session, device_of, expiry, is_alive, is_use_to_record, new_session

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


def test_the_store_may_delete_a_session_a_week_after_its_end() -> None:
    young, old = _session(timedelta(hours=1), timedelta()), _session(timedelta(hours=11, minutes=45), timedelta())

    week = NOW + timedelta(days=7)
    assert expiry(young, NOW) > (week + timedelta(minutes=30)).timestamp() >= expiry(young, NOW) - 1
    assert expiry(old, NOW) > (week + timedelta(minutes=15)).timestamp() >= expiry(old, NOW) - 1
    assert new_session("digest", 17, 1, NOW).expires_at == expiry(young, NOW)


CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0"


@pytest.mark.parametrize(
    ("user_agent", "device"),
    [
        (f"Mozilla/5.0 (Linux; Android 10; K) {CHROME} Mobile Safari/537.36", "Chrome, Android"),
        (f"Mozilla/5.0 (Linux; Android 13) {CHROME} SamsungBrowser/27.0 Safari/537.36", "Samsung Internet, Android"),
        (f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {CHROME} Safari/537.36 Edg/130.0.0.0", "Edge, Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) Version/17.6 Mobile Safari/604.1", "Safari, iPhone"),
        ("Mozilla/5.0 (iPad; CPU OS 17_6 like Mac OS X) CriOS/130 Mobile Safari/604.1", "Chrome, iPad"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0", "Firefox, Linux"),
        ("Till/7 (Sunmi V2)", "Till/7 (Sunmi V2)"),
        ("  \x00Till\n\x1b[31m  ", "Till[31m"),
        ("x" * 101, "x" * 100),
        ("", None),
        (" \t", None),
    ],
)
def test_a_device_is_named_by_browser_and_system_or_by_the_first_characters(user_agent: str, device: str) -> None:
    assert device_of(user_agent) == device
