"""Events of a merchant's day in the order of time, each followed by its deliveries.

An event costs only its own item, because no index holds events. A delivery that is due again is in the index `due`, in
the queue of its webhook.
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
    attributes_of,
    decode,
    encode,
    items_of,
    put_new,
    read,
    read_all,
    set_attributes,
    table_name,
    update,
    write_one,
)

TABLE = "events"
SECOND = timedelta(seconds=1)
START, END = "0", "~"  # they sort before and after every place of a day
AT_ONCE = 250  # items: a page of events with two deliveries each


class Cursor(Record):
    """The time up to which the sweep has searched a merchant's events."""

    until: datetime


def put(made: Event) -> Write:
    """Return the write of an event, for the transaction of its change, whose condition ensures that it is made once."""
    return Write("Put", {"TableName": table_name(TABLE), "Item": encode(made)})


def create(made: Event) -> None:
    """Store an event without a transaction, such as a ping."""
    write_one(put(made))


def get(day: str, place: str) -> Event | None:
    """Read the event at a place; None when it is missing or expired."""
    return read(Key(TABLE, Event, {"day": day, "place": place}))


def with_id(client_id: int, event_id: str) -> tuple[Event, list[Delivery]] | None:
    """Read the merchant's event with this ID, which contains its second, and its deliveries; None if it is missing."""
    second = webhooks.second_of(event_id)
    if second is None:
        return None
    span = webhooks.spans(client_id, second, second + SECOND)[0]
    return next(((made, deliveries) for made, deliveries in between(*span) if made.id == event_id), None)


def between(
    day: str, low: str = START, high: str = END, *, newest_first: bool = False
) -> Iterator[tuple[Event, list[Delivery]]]:
    """Yield the events between two places of a partition, oldest or newest first, each with its deliveries."""
    items = items_of(Range(TABLE, ("day", day), "place", low, high, AT_ONCE), newest_first=newest_first)
    for _, group in groupby(items, lambda item: "#".join(item["place"]["S"].split("#")[:2])):
        found = list(group)
        made = [decode(Event, item) for item in found if "kind" in item]  # none: deliveries of an expired event
        if made:
            yield made[0], [decode(Delivery, item) for item in found if "kind" not in item]


def begin(new: Delivery) -> bool:
    """Store a new delivery, held or in its queue; return False when one exists."""
    try:
        write_one(put_new(TABLE, new, "place"))
    except AlreadyExistsError:
        return False
    return True


def begin_again(wanted: Delivery) -> None:
    """Store a delivery that a caller requested again. Its earlier attempts remain as they are stored."""
    item = attributes_of(wanted)
    values = {name: item[name] for name in item.keys() - {"day", "place", "made"}}
    write_one(update(_key(wanted.day, wanted.place), set_attributes(values), values))


def claim(day: str, place: str, queue: str, now: datetime) -> Delivery | None:
    """Claim a due delivery; return None when another process has it or it is finished.

    The claim also queues the delivery, in case the process dies.
    """
    return due_index.claim(_key(day, place), now, webhooks.HELD_FOR, due_shard=queue, is_urgent=False)


def enqueue(orphan: Delivery, queue: str) -> None:
    """Queue a delivery whose holder died during its first attempt, unless another process has claimed it."""
    key = _key(orphan.day, orphan.place)
    due_index.store_held(key, orphan.due_at, {"due_shard": queue}, is_finished=False)


def store_attempt(held: Delivery, after: Delivery) -> bool:
    """Store a delivery after an attempt, queued or finished; return False when the claim was lost."""
    changes: dict[str, Any] = {"state": after.state, "made": after.made}
    if after.due_at:
        changes |= {"due_at": after.due_at, "due_shard": after.due_shard}
    return due_index.store_held(_key(held.day, held.place), held.due_at, changes, is_finished=after.due_at is None)


def cursors(client_ids: Sequence[int]) -> dict[int, datetime]:
    """Read the time up to which the sweep has searched the events of each merchant."""
    found: list[Cursor | None] = read_all([_cursor_key(one) for one in client_ids])
    return {client_id: one.until for client_id, one in zip(client_ids, found, strict=True) if one}


def store_cursor(client_id: int, until: datetime) -> None:
    """Store the time up to which the sweep has searched a merchant's events."""
    write_one(update(_cursor_key(client_id), "SET #until = :until", {"until": until}))


def _key(day: str, place: str) -> Key[Delivery]:
    return Key(TABLE, Delivery, {"day": day, "place": place})


def _cursor_key(client_id: int) -> Key[Cursor]:
    return Key(TABLE, Cursor, {"day": f"{client_id}#cursor", "place": "cursor"})
