"""Messages to send, by ID; those that are due are in the index of what is due until they are finished."""

from datetime import datetime

from chalicelib.domain.outbox import HELD_FOR, Outbox, held_for_stream
from chalicelib.store import due_index
from chalicelib.store.table import Key, Write, put_new

TABLE = "outbox"


def key(entry_id: str) -> Key[Outbox]:
    """Return the key of an entry."""
    return Key(TABLE, Outbox, {"id": entry_id})


def put(entry: Outbox) -> Write:
    """Store a new entry, in the lane of its channel; the stream of the table sends it right after."""
    index = {"due_shard": due_index.shard_of(entry.id, entry.channel)}
    return put_new(TABLE, held_for_stream(entry), "id", index=index)


def claim_new(entry: Outbox) -> Outbox | None:
    """Claim an entry that nobody has tried, while it is held for the stream; None when another process has it."""
    return due_index.claim_first(key(entry.id), entry.due_at)


def claim(entry_id: str, now: datetime) -> Outbox | None:
    """Claim an entry that is due, until its `due_at`; None when another process has it."""
    return due_index.claim(key(entry_id), now, HELD_FOR)


def store_attempt(held: Outbox, after: Outbox) -> None:
    """Store an entry after an attempt: due again later, or finished; change nothing when the claim was lost."""
    names = ("attempts", "to", "due_at", "sent_at", "given_up_at", "expires_at")
    changes = {name: value for name in names if (value := getattr(after, name)) is not None}
    due_index.store_held(key(held.id), held.due_at, changes, is_finished=after.due_at is None)
