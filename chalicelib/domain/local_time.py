"""Local times: inside an instant is UTC; on the wire it is the local time of a zone, written without the zone."""

from datetime import UTC, datetime, timedelta, timezone


def zone_of(requested: int | None, merchant: int) -> int:
    """Return the zone of a request's times, in hours: the GMT that it names, else its merchant's."""
    return merchant if requested is None else requested


def to_local(at: datetime, gmt: int) -> datetime:
    """Return an instant as the local time of a zone, without the zone."""
    return at.astimezone(timezone(timedelta(hours=gmt))).replace(tzinfo=None)


def text_of(at: datetime, gmt: int) -> str:
    """Return an instant as it is written on the wire: 2026-01-31T12:00:00.000."""
    return to_local(at, gmt).isoformat(timespec="milliseconds")


def instant_of(text: str, gmt: int) -> datetime:
    """Return the instant of an ISO 8601 text: the local time of a zone, unless the text has an offset of its own.

    Raise ValueError or OverflowError when it is no time.
    """
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=timezone(timedelta(hours=gmt)))).astimezone(UTC)
