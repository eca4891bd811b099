"""Events of a merchant's day, in the order of time, each followed by its deliveries.

An event costs what its own item costs: nothing is indexed by it. A delivery that is to be tried again is in the index
`due`, in the queue of its webhook.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from chalicelib.domain import webhooks
from chalicelib.domain.webhooks import Delivery, Event
from chalicelib.record import Record
from chalicelib.store import due_index
from chalicelib.store.table import (
    AlreadyExistsError,
    Key,
    Range,
    Write,
    decode,
    encode,
    items_of,
    put_new,
    read,
    read_all,
    table_name,
    update,
    write_one,
)

TABLE = "events"
SECOND = timedelta(seconds=1)
START, END = "0", "~"  # before and after every place of a day
AT_ONCE = 250  # items: a page of events with two deliveries each


class Cursor(Record):
    """Until when the events of a merchant were looked through."""

    until: datetime


def put(made: Event) -> Write:
    """Store an event in the transaction of what it tells, whose condition decides that it is made once."""
    return Write("Put", {"TableName": table_name(TABLE), "Item": encode(made)})


def create(made: Event) -> None:
    """Store an event that tells of no transaction."""
    write_one(put(made))


def get(day: str, place: str) -> Event | None:
    """Read the event at a place; None when there is none any more."""
    return read(Key(TABLE, Event, {"day": day, "place": place}))


def with_id(client_id: int, event_id: str) -> tuple[Event, list[Delivery]] | None:
    """Read the event of a merchant with this ID, which says its second, and its deliveries; None for no such event."""
    second = webhooks.second_of(event_id)
    if second is None:
        return None
    span = webhooks.spans(client_id, second, second + SECOND)[0]
    return next(((made, deliveries) for made, deliveries in between(*span) if made.id == event_id), None)


def between(
    day: str, low: str = START, high: str = END, *, newest_first: bool = False
) -> Iterator[tuple[Event, list[Delivery]]]:
    """Yield the events of a partition from one place to another, oldest or newest first, each with its deliveries."""
    items = items_of(Range(TABLE, ("day", day), "place", low, high, AT_ONCE), newest_first=newest_first)
    for _, group in groupby(items, lambda item: "#".join(item["place"]["S"].split("#")[:2])):
        found = list(group)
        made = [decode(Event, item) for item in found if "kind" in item]  # none: what is left of an event that expired
        if made:
            yield made[0], [decode(Delivery, item) for item in found if "kind" not in item]


def begin(new: Delivery) -> bool:
    """Store a new delivery, held or in its queue; return False when there is one already."""
    try:
        write_one(put_new(TABLE, new, "place"))
    except AlreadyExistsError:
        return False
    return True


def begin_again(wanted: Delivery) -> None:
    """Store a delivery that was asked for again, whatever became of it."""
    write_one(Write("Put", {"TableName": table_name(TABLE), "Item": encode(wanted)}))


def claim(day: str, place: str, queue: str, now: datetime) -> Delivery | None:
    """Claim a delivery that is due; None when another process has it, or it is finished.

    It is in its queue from then on, in case the process dies.
    """
    return due_index.claim(_key(day, place), now, webhooks.HELD_FOR, due_shard=queue, is_urgent=False)


def enqueue(orphan: Delivery, queue: str) -> None:
    """Put a delivery whose holder died during its first attempt in a queue, unless somebody else has it by now."""
    key = _key(orphan.day, orphan.place)
    due_index.store_held(key, orphan.due_at, {"due_shard": queue}, is_finished=False)


def store_attempt(held: Delivery, after: Delivery) -> bool:
    """Store a delivery after an attempt: in its queue, or finished; return False when the claim was lost."""
    changes: dict[str, Any] = {"state": after.state, "made": after.made}
    if after.due_at:
        changes |= {"due_at": after.due_at, "due_shard": after.due_shard}
    return due_index.store_held(_key(held.day, held.place), held.due_at, changes, is_finished=after.due_at is None)


def cursors(client_ids: Sequence[int]) -> dict[int, datetime]:
    """Read until when the events of merchants were looked through for what the stream has missed."""
    found: list[Cursor | None] = read_all([_cursor_key(one) for one in client_ids])
    return {client_id: one.until for client_id, one in zip(client_ids, found, strict=True) if one}


def store_cursor(client_id: int, until: datetime) -> None:
    """Store until when the events of a merchant were looked through."""
    write_one(update(_cursor_key(client_id), "SET #until = :until", {"until": until}))


def _key(day: str, place: str) -> Key[Delivery]:
    return Key(TABLE, Delivery, {"day": day, "place": place})


def _cursor_key(client_id: int) -> Key[Cursor]:
    return Key(TABLE, Cursor, {"day": f"{client_id}#cursor", "place": "cursor"})
