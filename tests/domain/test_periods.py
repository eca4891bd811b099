"""The periods of lists."""

from datetime import date, timedelta

import pytest

from chalicelib.domain.periods import LONGEST, Period, days_up_to, period_of
from chalicelib.errors import Check, ErrorCode, ServiceError

TODAY = date(2028, 2, 29)


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
