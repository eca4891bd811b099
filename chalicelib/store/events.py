"""Events of a merchant's day in the order of time, each followed by its deliveries.

The index `due` holds each event in a lane of their own until its deliveries are stored. `store.deliveries` reads both.
"""

from chalicelib.domain.events import Event
from chalicelib.store import due_index
from chalicelib.store.table import NEW, VERSION, Key, Write, encode, table_name, value_of, write_one

TABLE = "events"
LANE = "event"  # of events whose deliveries are not stored yet


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


def end_beginning(event: Event) -> None:
    """Take an event whose deliveries are stored out of the index, unless another process has."""
    due_index.store_held(key(event.day, event.place), event.due_at, {}, is_finished=True)
