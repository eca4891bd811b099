"""Counts of drawers by merchant: each count of a day is kept, and the latest of each agent is stored once more."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import partial

from chalicelib.domain.drawer import Count
from chalicelib.store import audit
from chalicelib.store.audit import Act
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import (
    Key,
    Range,
    commit,
    decode,
    items_of,
    put_new,
    range_of_prefix,
    readable,
    replace_record,
)

TABLE = "drawers"
FIRST, LAST = "0", "9~"  # of all days


def key(client_id: int, day: date, agent_id: int) -> Key[Count]:
    """Return the key of the latest count of an agent's drawer on a day."""
    return Key(TABLE, Count, {"client_id": client_id, "place": f"{_latest(day)}{agent_id}"})


def put(new: Count, day: date, entered: Sequence[str]) -> None:
    """Keep a count, and store it as the latest. Raise ChangedMeanwhileError when another one came before it.

    The audit names the fields that were entered.
    """
    latest = replace(new, place=f"{_latest(day)}{new.agent_id}")
    kept = replace(new, place=f"{day}#count#{new.agent_id}#{new.number:06d}")
    changed = ChangedMeanwhileError()
    if new.number == 1:
        write = put_new(TABLE, latest, "client_id", changed)
    else:
        write = replace_record(key(new.client_id, day, new.agent_id), latest, changed)
    act = Act("count", new.stored_by, new.stored_at)
    entry = audit.write(f"drawer#{new.client_id}#{day}#{new.agent_id}", act, entered)
    commit(write, put_new(TABLE, kept, "client_id", changed), entry)


def latest_of_day(client_id: int, day: date) -> list[Count]:
    """List the latest count of each drawer on a day."""
    span = range_of_prefix(TABLE, ("client_id", client_id), "place", _latest(day))
    return list(readable(TABLE, items_of(span), partial(decode, Count)))


def of_merchant(client_id: int) -> Iterator[Count]:
    """Yield all counts of a merchant, the latest ones twice."""
    span = Range(TABLE, ("client_id", client_id), "place", FIRST, LAST)
    return (decode(Count, item) for item in items_of(span))


def _latest(day: date) -> str:
    return f"{day}#latest#"
