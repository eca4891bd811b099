"""Deliveries: each after its event in the table of events. The index `due` holds each until it is finished.

It is listed there in the queue of its webhook.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Any

from chalicelib.domain import events as rules
from chalicelib.domain.deliveries import HELD_FOR, Delivery
from chalicelib.domain.events import Event
from chalicelib.store import due_index, ranges, table
from chalicelib.store.events import TABLE

SECOND = timedelta(seconds=1)
START, END = "0", "~"  # they sort before and after every place of a day
AT_ONCE = 250  # items: a page of events with two deliveries each


def with_id(client_id: int, event_id: str) -> tuple[Event, list[Delivery]] | None:
    """Read the merchant's event with this ID, which contains its second, and its deliveries; None if it is missing."""
    second = rules.second_of(event_id)
    if second is None:
        return None
    span = rules.spans(client_id, second, second + SECOND)[0]
    return next(((made, deliveries_in(items)) for made, items in between(*span) if made.id == event_id), None)


def between(
    day: str, low: str = START, high: str = END, *, newest_first: bool = False
) -> Iterator[tuple[Event, list[table.Item]]]:
    """Yield the events between two places of a partition, oldest or newest first, with the items of their deliveries.

    Most are passed over, so `deliveries_in` reads the items of the others.
    """
    items = ranges.items_of(ranges.Range(TABLE, ("day", day), "place", low, high, AT_ONCE), newest_first=newest_first)
    for _, group in groupby(items, lambda item: "#".join(item["place"]["S"].split("#")[:2])):
        found = list(group)
        made = list(table.readable(TABLE, (one for one in found if "kind" in one), partial(table.decode, Event)))
        if made:  # otherwise deliveries of an expired event
            yield made[0], [one for one in found if "kind" not in one]


def deliveries_in(items: Iterable[table.Item]) -> list[Delivery]:
    """Return the deliveries in these items."""
    return list(table.readable(TABLE, items, partial(table.decode, Delivery)))


def begin(new: Delivery) -> bool:
    """Store a new delivery in its queue, due or held; return False when one exists."""
    try:
        table.write_one(table.put_new(TABLE, new, "place"))
    except table.AlreadyExistsError:
        return False
    return True


def begin_again(wanted: Delivery) -> None:
    """Store a delivery that a caller requested again. Its earlier attempts remain as they are stored."""
    item = table.attributes_of(wanted)
    values = {name: item[name] for name in item.keys() - {"day", "place", "made"}}
    table.write_one(table.update(_key(wanted.day, wanted.place), values))


def claim(day: str, place: str, now: datetime) -> Delivery | None:
    """Claim a due delivery; return None when another process has it or it is finished.

    Raise UnreadableError for a key that names no merchant: somebody stored it past the service.
    """
    if not day.partition("#")[0].isdecimal():
        message = "day"
        raise table.UnreadableError(message)
    return due_index.claim(_key(day, place), due_index.DUE, {"now": now}, {"due_at": now + HELD_FOR})


def store_attempt(held: Delivery, after: Delivery) -> bool:
    """Store a delivery after an attempt, due later or finished; return False when the claim was lost."""
    changes: dict[str, Any] = {"state": after.state, "made": after.made}
    if after.due_at:
        changes["due_at"] = after.due_at
    return due_index.store_held(_key(held.day, held.place), held.due_at, changes, is_finished=after.due_at is None)


def _key(day: str, place: str) -> table.Key[Delivery]:
    return table.Key(TABLE, Delivery, {"day": day, "place": place})
