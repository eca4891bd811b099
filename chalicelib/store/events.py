"""Events of a merchant's day in the order of time, each followed by its deliveries.

The index `due` holds each event until its deliveries are stored, and each delivery until it is finished: the events in
a lane of their own, the deliveries in the queue of their webhook.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Any

from chalicelib.domain import deliveries
from chalicelib.domain import events as rules
from chalicelib.domain.deliveries import Delivery
from chalicelib.domain.events import Event
from chalicelib.store import due_index
from chalicelib.store.table import (
    NEW,
    VERSION,
    AlreadyExistsError,
    Key,
    Range,
    UnreadableError,
    Write,
    attributes_of,
    decode,
    encode,
    items_of,
    put_new,
    readable,
    table_name,
    update,
    value_of,
    write_one,
)

TABLE = "events"
LANE = "event"  # of events whose deliveries are not stored yet
SECOND = timedelta(seconds=1)
START, END = "0", "~"  # they sort before and after every place of a day
AT_ONCE = 250  # items: a page of events with two deliveries each


def put(made: Event) -> Write:
    """Return the write of an event, for the transaction of its change, whose condition ensures that it is made once."""
    item = {**encode(made), "due_lane": value_of(LANE), VERSION: NEW}
    return Write("Put", {"TableName": table_name(TABLE), "Item": item})


def create(made: Event) -> None:
    """Store an event without a transaction, such as a ping."""
    write_one(put(made))


def key(day: str, place: str) -> Key[Event]:
    """Return the key of an event."""
    return Key(TABLE, Event, {"day": day, "place": place})


def with_id(client_id: int, event_id: str) -> tuple[Event, list[Delivery]] | None:
    """Read the merchant's event with this ID, which contains its second, and its deliveries; None if it is missing."""
    second = rules.second_of(event_id)
    if second is None:
        return None
    span = rules.spans(client_id, second, second + SECOND)[0]
    return next(((made, deliveries) for made, deliveries in between(*span) if made.id == event_id), None)


def between(
    day: str, low: str = START, high: str = END, *, newest_first: bool = False
) -> Iterator[tuple[Event, list[Delivery]]]:
    """Yield the events between two places of a partition, oldest or newest first, each with its deliveries."""
    items = items_of(Range(TABLE, ("day", day), "place", low, high, AT_ONCE), newest_first=newest_first)
    for _, group in groupby(items, lambda item: "#".join(item["place"]["S"].split("#")[:2])):
        found = list(group)
        made = list(readable(TABLE, (one for one in found if "kind" in one), partial(decode, Event)))
        if made:  # otherwise deliveries of an expired event
            deliveries_of = readable(TABLE, (one for one in found if "kind" not in one), partial(decode, Delivery))
            yield made[0], list(deliveries_of)


def begin(new: Delivery) -> bool:
    """Store a new delivery in its queue, due or held; return False when one exists."""
    try:
        write_one(put_new(TABLE, new, "place"))
    except AlreadyExistsError:
        return False
    return True


def end_beginning(event: Event) -> None:
    """Take an event whose deliveries are stored out of the index, unless another process has."""
    due_index.store_held(key(event.day, event.place), event.due_at, {}, is_finished=True)


def begin_again(wanted: Delivery) -> None:
    """Store a delivery that a caller requested again. Its earlier attempts remain as they are stored."""
    item = attributes_of(wanted)
    values = {name: item[name] for name in item.keys() - {"day", "place", "made"}}
    write_one(update(_key(wanted.day, wanted.place), values))


def claim(day: str, place: str, now: datetime) -> Delivery | None:
    """Claim a due delivery; return None when another process has it or it is finished.

    Raise UnreadableError for a key that names no merchant: somebody stored it past the service.
    """
    if not day.partition("#")[0].isdecimal():
        message = "day"
        raise UnreadableError(message)
    return due_index.claim(_key(day, place), due_index.DUE, {"now": now}, {"due_at": now + deliveries.HELD_FOR})


def store_attempt(held: Delivery, after: Delivery) -> bool:
    """Store a delivery after an attempt, due later or finished; return False when the claim was lost."""
    changes: dict[str, Any] = {"state": after.state, "made": after.made}
    if after.due_at:
        changes["due_at"] = after.due_at
    return due_index.store_held(_key(held.day, held.place), held.due_at, changes, is_finished=after.due_at is None)


def _key(day: str, place: str) -> Key[Delivery]:
    return Key(TABLE, Delivery, {"day": day, "place": place})
