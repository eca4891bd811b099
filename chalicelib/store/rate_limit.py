"""The rate limit of the configuration call: apart from the login, which every sign-in reads."""

from datetime import datetime, timedelta
from secrets import token_hex

from chalicelib.record import Record
from chalicelib.store.table import Key, read, update, write_one

TABLE = "sequences"


class LastCall(Record):
    """The time of an account's last call."""

    name: str
    at: datetime
    by: str | None = None  # a random name of the call, so that its repeat, after a lost answer, is known as its own


class TooSoonError(Exception):
    """A second call of an account within the interval."""


def take(agent_id: int, now: datetime, interval: timedelta) -> timedelta | None:
    """Take the one call an account has per interval: return None, or the time to wait when it is taken already.

    One conditional write decides, so of calls at the same time exactly one is allowed. The last one may be later than
    `now`: it came meanwhile, or the clock of its process is ahead. Nobody waits for longer than the interval.
    """
    key = Key(TABLE, LastCall, {"name": f"asked#{agent_id}"})
    call = update(
        key,
        "SET #at = :now, #by = :by",
        {"now": now, "before": now - interval, "by": token_hex(8)},
        condition="attribute_not_exists(#at) OR #at <= :before OR #by = :by",
        otherwise=TooSoonError(),
    )
    try:
        write_one(call)
    except TooSoonError:
        last = read(key)
        return min((last.at if last else now) + interval - now, interval)
    return None
