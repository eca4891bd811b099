"""The merchant's days: everything is stored in UTC and counted in the merchant's zone."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid

LONGEST = 366  # days of one list
USUAL = 31  # days of a list that names none


def business_day(at: datetime, gmt: int) -> date:
    """The merchant's calendar day at an instant; `gmt` is the merchant's offset in hours."""
    return (at + timedelta(hours=gmt)).date()


def start_of(day: date, gmt: int) -> datetime:
    """The instant (UTC) a merchant's day begins."""
    return datetime.combine(day, time.min, UTC) - timedelta(hours=gmt)


def end_of_day(at: datetime, gmt: int) -> datetime:
    """The instant (UTC) the merchant's day that holds `at` is over: the deadline of a payment made then."""
    return start_of(business_day(at, gmt) + timedelta(days=1), gmt)


@dataclass(frozen=True)
class Period:
    """Days of a merchant, both ends included."""

    first: date
    last: date

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last

    @property
    def months(self) -> list[str]:
        """The months it touches, oldest first: 2026-03."""
        first, last = (day.year * 12 + day.month - 1 for day in (self.first, self.last))
        return [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in range(first, last + 1)]


def period_of(first: date | None, last: date | None, today: date) -> Period:
    """The period of a list: From alone ends today, To alone is that day, neither is the usual number of days.

    Raises 202 when it ends before it begins, 404 when it is longer than a list may be.
    """
    if last is None:
        last = today if first is None else max(first, today)
    elif first is None:
        first = last
    if first is None:
        first = _days_before(last, USUAL)
    if first > last:
        raise invalid(Finding("period.first", Check.CONTRADICTION, "The period ends before it begins."))
    if (last - first).days >= LONGEST:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, f"A period has at most {LONGEST} days.")
    return Period(first, last)


def days_up_to(first: date | None, last: date | None, today: date) -> Period:
    """What a list by days shows: the day (To, else From, else today) and the days before it, as many as a list has."""
    period_of(first, last, today)  # what is no period of a list is no period here
    day = last or first or today
    return Period(_days_before(day, LONGEST), day)


def _days_before(day: date, count: int) -> date:
    """The first of so many days that end with `day`; the calendar has a beginning."""
    return date.fromordinal(max(1, day.toordinal() - count + 1))
