"""The merchant's days, and the periods of lists."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.business_days import LONGEST, Period, business_day, days_up_to, end_of_day, period_of, start_of
from chalicelib.errors import Check, ErrorCode, ServiceError

TODAY = date(2028, 2, 29)
instants = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  hypothesis adds the zone
zones = st.integers(-12, 14)


@given(instants, zones)
def test_an_instant_is_within_its_own_day_in_every_zone(at: datetime, gmt: int) -> None:
    day = business_day(at, gmt)

    assert start_of(day, gmt) <= at < end_of_day(at, gmt) == start_of(day + timedelta(days=1), gmt)


@pytest.mark.parametrize(
    ("gmt", "day"),
    [(-12, "2028-02-28"), (-1, "2028-02-28"), (0, "2028-02-29"), (2, "2028-02-29"), (14, "2028-02-29")],
)
def test_midnight_in_greenwich_is_another_day_in_the_west(gmt: int, day: str) -> None:
    midnight = datetime(2028, 2, 29, tzinfo=UTC)

    assert business_day(midnight, gmt) == date.fromisoformat(day)


def test_a_period_that_is_named_is_taken_with_both_its_ends() -> None:
    period = period_of(date(2028, 2, 1), date(2028, 2, 29), TODAY)

    assert date(2028, 2, 1) in period
    assert date(2028, 2, 29) in period
    assert date(2028, 3, 1) not in period


def test_from_alone_lasts_until_today() -> None:
    assert period_of(date(2028, 2, 1), None, TODAY) == Period(date(2028, 2, 1), TODAY)


def test_from_alone_in_the_future_is_that_day() -> None:
    assert period_of(date(2028, 3, 5), None, TODAY) == Period(date(2028, 3, 5), date(2028, 3, 5))


def test_to_alone_is_that_day() -> None:
    assert period_of(None, date(2028, 2, 1), TODAY) == Period(date(2028, 2, 1), date(2028, 2, 1))


def test_no_period_is_the_last_31_days() -> None:
    assert period_of(None, None, TODAY) == Period(date(2028, 1, 30), TODAY)


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
