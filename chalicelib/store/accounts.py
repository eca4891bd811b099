"""When an account last asked for its configuration: kept apart from the login, which signing in reads each time."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from chalicelib.store.table import Key, alone, read, update

TABLE = "sequences"


@dataclass(frozen=True)
class Asked:
    """The last time somebody asked."""

    name: str
    at: datetime


class TooSoonError(Exception):
    """The account asked within the interval."""


def ask(agent_id: int, now: datetime, interval: timedelta) -> timedelta | None:
    """Take the one call of an interval: None, or how long to wait. One write decides, whoever asks at the same time."""
    key = Key(TABLE, Asked, {"name": f"asked#{agent_id}"})
    claim = update(
        key,
        "SET #at = :now",
        {"now": now, "before": now - interval},
        condition="attribute_not_exists(#at) OR #at <= :before",
        otherwise=TooSoonError(),
    )
    try:
        alone(claim)
    except TooSoonError:
        asked = read(key)
        return (asked.at if asked else now) + interval - now
    return None
