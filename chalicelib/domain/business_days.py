"""Business days and local times.

Instants are stored in UTC. A business day is a day in the merchant's time zone. Times on the wire are local and name no
zone.
"""

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta, timezone

from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid
from chalicelib.record import Record

ZONE = {"within": range(-12, 15)}  # the hours of a stored zone


def zone_of(requested: int | None, merchant: int) -> int:
    """Return the zone of a request's times, in hours: the GMT in the request, else its merchant's."""
    return merchant if requested is None else requested


def to_local(at: datetime, gmt: int) -> datetime:
    """Return an instant as the local time of a zone, without the zone."""
    return at.astimezone(timezone(timedelta(hours=gmt))).replace(tzinfo=None)


def text_of(at: datetime, gmt: int) -> str:
    """Return an instant as text for the wire: 2026-01-31T12:00:00.000."""
    return to_local(at, gmt).isoformat(timespec="milliseconds")


def instant_of(text: str, gmt: int) -> datetime:
    """Return the instant of an ISO 8601 text: a local time of the zone, unless the text has its own offset.

    Raise ValueError or OverflowError when the text is not a time.
    """
    if "\0" in text:  # Python ignores it at the end
        raise ValueError
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=timezone(timedelta(hours=gmt)))).astimezone(UTC)


LONGEST = 366  # days in one list
USUAL = 31  # days in a list without a requested period


def business_day(at: datetime, gmt: int) -> date:
    """Return the merchant's calendar day at an instant; `gmt` is the merchant's offset in hours."""
    return to_local(at, gmt).date()


def start_of(day: date, gmt: int) -> datetime:
    """Return the instant (UTC) at which a merchant's day begins."""
    return datetime.combine(day, time.min, UTC) - timedelta(hours=gmt)


def end_of_day(at: datetime, gmt: int) -> datetime:
    """Return the instant (UTC) at which the merchant's day of `at` ends: the Deadline of a payment made at `at`."""
    return start_of(business_day(at, gmt) + timedelta(days=1), gmt)


class Period(Record):
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
