"""When an account last asked for its configuration: kept apart from the login, which signing in reads each time."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from chalicelib.store.table import Key, read, update, write_one

TABLE = "sequences"


@dataclass(frozen=True)
class LastCall:
    """The last time somebody asked."""

    name: str
    at: datetime


class TooSoonError(Exception):
    """The account asked within the interval."""


def take(agent_id: int, now: datetime, interval: timedelta) -> timedelta | None:
    """Take the one call of an interval: None, or how long to wait. One write decides, whoever asks at the same time."""
    key = Key(TABLE, LastCall, {"name": f"asked#{agent_id}"})
    claim = update(
        key,
        "SET #at = :now",
        {"now": now, "before": now - interval},
        condition="attribute_not_exists(#at) OR #at <= :before",
        otherwise=TooSoonError(),
    )
    try:
        write_one(claim)
    except TooSoonError:
        asked = read(key)
        return (asked.at if asked else now) + interval - now
    return None
