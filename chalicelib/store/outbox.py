"""Messages to send, by ID. The index of due records lists them until they are finished."""

from datetime import datetime

from chalicelib.domain.outbox import HELD_FOR, Outbox, SendingRequest, expiry, held_for_stream
from chalicelib.store import due_index
from chalicelib.store.table import Key, Write, put_new

TABLE, REQUESTS = "outbox", "sequences"


class OriginalSentError(Exception):
    """The original receipt of a transaction was sent already: a further one is a copy."""


class AlreadyStoredError(Exception):
    """The message of a transaction is stored already: the transaction itself was lost, and is stored again."""


def key(entry_id: str) -> Key[Outbox]:
    """Return the key of an entry."""
    return Key(TABLE, Outbox, {"id": entry_id})


def put(entry: Outbox) -> Write:
    """Return the write of a new entry, in the lane of its channel. The stream of the table then sends the message."""
    return put_new(TABLE, held_for_stream(entry), "id", AlreadyStoredError(), index={"due_lane": entry.channel})


def request_key(request_id: str) -> Key[SendingRequest]:
    """Return the key of a request to send a receipt later."""
    return Key(REQUESTS, SendingRequest, {"name": f"later#{request_id}"})


def put_request(own: Key[SendingRequest], digest: str, withheld: tuple[str, ...], now: datetime) -> Write:
    """Return the write of a request under its key. Its transaction raises AlreadyExistsError for a used key."""
    return put_new(REQUESTS, SendingRequest(own.key["name"], digest, withheld, expiry(now)), "name")


def put_original(transaction_id: str, now: datetime) -> Write:
    """Return the write of the first receipt that is sent later. Its transaction raises OriginalSentError for others."""
    first = SendingRequest(request_key(transaction_id).key["name"], "", expires_at=expiry(now))
    return put_new(REQUESTS, first, "name", OriginalSentError())


def claim_new(entry: Outbox) -> Outbox | None:
    """Claim an entry without attempts while it is held for the stream; return None when another process has it."""
    return due_index.claim(key(entry.id), due_index.NEW, {"none": 0}, {"due_at": entry.due_at})


def claim(entry_id: str, now: datetime) -> Outbox | None:
    """Claim a due entry until its new `due_at`; return None when another process has it."""
    return due_index.claim(key(entry_id), due_index.DUE, {"now": now}, {"due_at": now + HELD_FOR})


def store_attempt(held: Outbox, after: Outbox) -> None:
    """Store an entry after an attempt, due later or finished. Change nothing when the claim was lost."""
    names = ("attempts", "to", "due_at", "sent_at", "given_up_at", "expires_at")
    changes = {name: value for name in names if (value := getattr(after, name)) is not None}
    due_index.store_held(key(held.id), held.due_at, changes, is_finished=after.due_at is None)
