"""The merchant's days, and local times."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.business_days import business_day, end_of_day, instant_of, start_of, text_of, to_local, zone_of

instants = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  hypothesis adds the zone
zones = st.integers(-12, 14)


@given(instants, zones)
def test_an_instant_is_within_its_own_day_in_every_zone(at: datetime, gmt: int) -> None:
    day = business_day(at, gmt)

    assert start_of(day, gmt) <= at < end_of_day(at, gmt) == start_of(day + timedelta(days=1), gmt)


@pytest.mark.parametrize(
    ("gmt", "day"), [(-12, "2028-02-28"), (-1, "2028-02-28"), (0, "2028-02-29"), (2, "2028-02-29"), (14, "2028-02-29")]
)
def test_midnight_in_greenwich_is_another_day_in_the_west(gmt: int, day: str) -> None:
    midnight = datetime(2028, 2, 29, tzinfo=UTC)

    assert business_day(midnight, gmt) == date.fromisoformat(day)


INSTANTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  hypothesis adds the zone
NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


@given(at=INSTANTS, gmt=zones)
def test_a_time_sent_back_as_it_came_is_the_same_instant(at: datetime, gmt: int) -> None:
    whole = at - timedelta(microseconds=at.microsecond % 1000)

    assert instant_of(text_of(at, gmt), gmt) == whole
    assert text_of(instant_of(text_of(at, gmt), gmt), gmt) == text_of(at, gmt)


@given(at=INSTANTS, one=zones, other=zones)
def test_two_zones_show_one_instant_as_many_hours_apart_as_they_are(at: datetime, one: int, other: int) -> None:
    assert to_local(at, one) - to_local(at, other) == timedelta(hours=one - other)


@given(at=INSTANTS, gmt=zones, own=zones)
def test_an_offset_in_the_text_is_honoured_whatever_the_zone(at: datetime, gmt: int, own: int) -> None:
    assert instant_of(at.astimezone(timezone(timedelta(hours=own))).isoformat(), gmt) == at
    assert instant_of(f"{at.replace(tzinfo=None).isoformat()}Z", gmt) == at


@given(at=INSTANTS, gmt=zones)
def test_an_instant_is_the_same_in_whatever_zone_it_comes(at: datetime, gmt: int) -> None:
    assert to_local(at.astimezone(timezone(timedelta(hours=5))), gmt) == to_local(at, gmt)


def test_a_time_has_three_fraction_digits_and_no_zone() -> None:
    assert text_of(NOON, 0) == "2026-03-14T12:00:00.000"
    assert text_of(NOON.replace(microsecond=999_999), -12) == "2026-03-14T00:00:00.999"
    assert text_of(NOON, 14) == "2026-03-15T02:00:00.000"


@pytest.mark.parametrize(
    "text", ["2026-03-14T14:00:00", "2026-03-14T14:00:00.000", "2026-03-14 14:00", "2026-03-14T14", "20260314T140000"]
)
def test_a_local_time_may_be_written_in_several_ways(text: str) -> None:
    assert instant_of(text, 2) == NOON


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00", "0001-01-01T00:00:00", "9999-12-31T23:59:59"])
def test_what_is_no_time_is_an_error_of_two_kinds(text: str) -> None:
    with pytest.raises((ValueError, OverflowError)):
        instant_of(text, -12 if text.startswith("9") else 14)


@pytest.mark.parametrize(("requested", "zone"), [(None, 2), (0, 0), (-5, -5)])
def test_a_request_that_names_no_zone_has_its_merchants(requested: int | None, zone: int) -> None:
    assert zone_of(requested, 2) == zone


@pytest.mark.parametrize("text", ["2026-03-14T10:00:00\0", "2026-03-14\0", "", "now"])
def test_another_text_is_no_instant(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  Python's own message is of no use
        instant_of(text, 2)
