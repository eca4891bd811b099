"""Business days and local times.

Instants are stored in UTC. A business day is a day in the merchant's time zone. Times on the wire are local and name no
zone.
"""

from datetime import UTC, date, datetime, time, timedelta, timezone

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


def business_day(at: datetime, gmt: int) -> date:
    """Return the merchant's calendar day at an instant; `gmt` is the merchant's offset in hours."""
    return to_local(at, gmt).date()


def start_of(day: date, gmt: int) -> datetime:
    """Return the instant (UTC) at which a merchant's day begins."""
    return datetime.combine(day, time.min, UTC) - timedelta(hours=gmt)


def end_of_day(at: datetime, gmt: int) -> datetime:
    """Return the instant (UTC) at which the merchant's day of `at` ends: the Deadline of a payment made at `at`."""
    return start_of(business_day(at, gmt) + timedelta(days=1), gmt)
