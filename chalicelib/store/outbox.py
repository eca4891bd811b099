"""Messages to send, by ID; those that are due are in a sparse index (`store.due_index`) until they are finished."""

from contextlib import suppress
from datetime import datetime
from typing import Any

from chalicelib.domain.outbox import HELD_FOR, Outbox, held_for_stream
from chalicelib.store.codec import decode
from chalicelib.store.due_index import shard_of
from chalicelib.store.expressions import set_attributes
from chalicelib.store.table import Key, Write, put_new, update, write_one

TABLE = "outbox"
NO_TEXT: dict[str, Any] = dict.fromkeys(("sender", "subject", "text", "html", "logo_key"))


class NotHeldError(Exception):
    """An entry that another process holds, or that is finished."""


def key(entry_id: str) -> Key[Outbox]:
    """Return the key of an entry."""
    return Key(TABLE, Outbox, {"id": entry_id})


def put(entry: Outbox) -> Write:
    """Store a new entry; the stream of the table sends it right after."""
    return put_new(TABLE, held_for_stream(entry), "id", index={"due_shard": shard_of(entry.id)})


def claim_new(entry: Outbox) -> Outbox | None:
    """Claim an entry that nobody has tried, while it is held for the stream; None when another process has it.

    It stays held until the same time, so the index of what is due does not change.
    """
    claimed = update(
        key(entry.id),
        "SET #attempts = :one",
        {"one": 1, "none": 0, "held": entry.due_at},
        condition="#attempts = :none AND #due_at = :held",
        otherwise=NotHeldError(),
    )
    try:
        return decode(Outbox, write_one(claimed))
    except NotHeldError:
        return None


def claim(entry_id: str, now: datetime) -> Outbox | None:
    """Claim an entry that is due, until its `due_at`, and count an attempt; return None when another process has it.

    Counting before the attempt limits the attempts of an entry that crashes the process that sends it.
    """
    claimed = update(
        key(entry_id),
        "SET #due_at = :until ADD #attempts :one",
        {"until": now + HELD_FOR, "one": 1, "now": now},
        condition="#due_at <= :now",
        otherwise=NotHeldError(),
    )
    try:
        return decode(Outbox, write_one(claimed))
    except NotHeldError:
        return None


def store_attempt(held: Outbox, after: Outbox) -> None:
    """Store an entry after an attempt: due again later, or finished; change nothing when the claim was lost."""
    changes = {"attempts": after.attempts, "to": after.to}
    names = ("due_at", "sent_at", "given_up_at", "expires_at")
    changes |= {name: value for name in names if (value := getattr(after, name)) is not None}
    expression = set_attributes(changes)
    attempt = update(
        key(held.id),
        expression if after.due_at else f"{expression} REMOVE #due_at, #due_shard",
        {**changes, "held": held.due_at},
        condition="#due_at = :held",
        otherwise=NotHeldError(),
    )
    with suppress(NotHeldError):
        write_one(attempt)
