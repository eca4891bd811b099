"""AuthAccount: the last call for an account's configuration, because an account has one call in an interval."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_hex

from chalicelib.store.table import Key, read, update, write_one

TABLE = "sequences"


@dataclass(frozen=True)
class LastCall:
    """The time of an account's last call."""

    name: str
    at: datetime
    by: str | None = None  # a random name, by which a call recognises its own write after a lost answer


class TooSoonError(Exception):
    """An account made a second call within the interval."""


def take_call(agent_id: int, now: datetime, interval: timedelta) -> timedelta | None:
    """Take an account's only call in the interval: return None, or the time to wait when it is already taken.

    One conditional write decides, so exactly one of several parallel calls is allowed. The stored call may be later
    than `now`: it came meanwhile, or its process has a fast clock. Nobody waits longer than the interval.
    """
    key = Key(TABLE, LastCall, {"name": f"asked#{agent_id}"})
    call = update(
        key,
        {"at": now, "by": token_hex(8)},
        condition="attribute_not_exists(#at) OR #at <= :before OR #by = :by",
        compared={"before": now - interval},
        otherwise=TooSoonError(),
    )
    try:
        write_one(call)
    except TooSoonError:
        last = read(key)
        return min((last.at if last else now) + interval - now, interval)
    return None
