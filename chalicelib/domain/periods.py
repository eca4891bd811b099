"""The periods of lists: whole days of a merchant."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date

from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid

LONGEST = 366  # days in one list
USUAL = 31  # days in a list without a requested period


@dataclass(frozen=True)
class Period:
    """A period of a merchant's days, including the first and the last."""

    first: date
    last: date

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last

    @property
    def months(self) -> list[str]:
        """Return the months with a day in the period, oldest first, as 2026-03."""
        first, last = (day.year * 12 + day.month - 1 for day in (self.first, self.last))
        return [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in range(first, last + 1)]

    def within(self, month: str) -> "Period":
        """Return the part of the period in one of its months (2026-03)."""
        whole = days_of_month(month)
        return Period(max(self.first, whole.first), min(self.last, whole.last))


def days_of_month(month: str) -> Period:
    """Return the days of a month (2026-03)."""
    first = date.fromisoformat(f"{month}-01")
    return Period(first, first.replace(day=monthrange(first.year, first.month)[1]))


def period_of(first: date | None, last: date | None, today: date, longest: int = LONGEST) -> Period:
    """Return the period of a list.

    With only a first day, the period ends today. With only a last day, it is that day. Without both it is the usual
    number of days up to today. Raise VALIDATION_FAILED when the period ends before it begins, PERIOD_TOO_LONG when it
    has more than `longest` days.
    """
    if last is None:
        last = today if first is None else max(first, today)
    elif first is None:
        first = last
    if first is None:
        first = _days_before(last, USUAL)
    if first > last:
        raise invalid(Finding("period.first", Check.CONTRADICTION, "The period ends before it begins."))
    if (last - first).days >= longest:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, f"A period has at most {longest} days.")
    return Period(first, last)


def days_up_to(first: date | None, last: date | None, today: date) -> Period:
    """Return the longest period that ends with the last day, else the first, else today."""
    period_of(first, last, today)  # raises the same refusals
    day = last or first or today
    return Period(_days_before(day, LONGEST), day)


def _days_before(day: date, count: int) -> date:
    """Return the first of `count` days that end with `day`, or the first day of the calendar."""
    return date.fromordinal(max(1, day.toordinal() - count + 1))
