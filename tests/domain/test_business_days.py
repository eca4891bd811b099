"""The merchant's days, the periods of lists, and local times."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.business_days import (
    LONGEST,
    Period,
    business_day,
    days_up_to,
    end_of_day,
    instant_of,
    period_of,
    start_of,
    text_of,
    to_local,
    zone_of,
)
from chalicelib.errors import Check, ErrorCode, ServiceError

TODAY = date(2028, 2, 29)
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


def test_a_period_that_is_named_is_taken_with_both_its_ends() -> None:
    period = period_of(date(2028, 2, 1), date(2028, 2, 29), TODAY)

    assert date(2028, 2, 1) in period
    assert date(2028, 2, 29) in period
    assert date(2028, 3, 1) not in period


@pytest.mark.parametrize(
    ("first", "last", "period"),
    [
        (date(2028, 2, 1), None, Period(date(2028, 2, 1), TODAY)),
        (date(2028, 3, 5), None, Period(date(2028, 3, 5), date(2028, 3, 5))),
        (None, date(2028, 2, 1), Period(date(2028, 2, 1), date(2028, 2, 1))),
        (None, None, Period(date(2028, 1, 30), TODAY)),
    ],
    ids=["from alone until today", "from alone in the future is that day", "to alone is that day", "the last 31 days"],
)
def test_what_a_period_leaves_out_is_completed(first: date | None, last: date | None, period: Period) -> None:
    assert period_of(first, last, TODAY) == period


def test_a_leap_year_is_not_too_long_and_a_day_more_is() -> None:
    period_of(date(2028, 1, 1), date(2028, 12, 31), TODAY)
    with pytest.raises(ServiceError) as refusal:
        period_of(date(2028, 1, 1), date(2029, 1, 1), TODAY)

    assert refusal.value.error is ErrorCode.PERIOD_TOO_LONG


def test_a_period_does_not_end_before_it_begins() -> None:
    with pytest.raises(ServiceError) as refusal:
        period_of(date(2028, 2, 2), date(2028, 2, 1), TODAY)

    assert [(one.field, one.code) for one in refusal.value.validations] == [("period.first", Check.CONTRADICTION)]


@pytest.mark.parametrize(
    ("first", "last", "day"),
    [
        (None, None, TODAY),
        (None, date(2028, 1, 15), date(2028, 1, 15)),
        (date(2028, 1, 10), None, date(2028, 1, 10)),
        (date(2028, 1, 10), date(2028, 1, 15), date(2028, 1, 15)),
    ],
)
def test_a_list_by_days_goes_back_from_its_day(first: date | None, last: date | None, day: date) -> None:
    period = days_up_to(first, last, TODAY)

    assert period.last == day
    assert (period.last - period.first).days == LONGEST - 1


def test_the_calendar_has_a_beginning_and_an_end() -> None:
    assert days_up_to(None, date.min, TODAY) == Period(date.min, date.min)
    assert Period(date.max - timedelta(days=40), date.max).months == ["9999-11", "9999-12"]


def test_the_months_of_a_period_are_those_it_touches() -> None:
    assert Period(date(2027, 11, 30), date(2028, 2, 1)).months == ["2027-11", "2027-12", "2028-01", "2028-02"]


MILLISECOND = timedelta(milliseconds=1)
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
