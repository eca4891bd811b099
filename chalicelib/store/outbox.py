"""What is to be sent. What is due stands in a sparse index (`store.due`): an entry that was sent is in it no more."""

from dataclasses import replace
from datetime import datetime

from chalicelib.domain.outbox import HELD_FOR, Outbox, born
from chalicelib.store.codec import decode
from chalicelib.store.due_index import shard_of
from chalicelib.store.table import Key, Write, put_new, update, write_one

TABLE = "outbox"


class NotOursError(Exception):
    """Somebody else holds the entry, or it is finished."""


def key(entry_id: str) -> Key[Outbox]:
    """Where the entry is kept."""
    return Key(TABLE, Outbox, {"id": entry_id})


def put(entry: Outbox) -> Write:
    """Keep an entry, which whoever commits this write then sends.

    A receipt is kept without its words: they are written anew from the transaction when they are needed again.
    """
    kept = replace(entry, sender=None, subject=None, text=None, html=None) if entry.transaction_id else entry
    return put_new(TABLE, born(kept), "id", index={"due_shard": shard_of(entry.id)})


def claim(entry_id: str, now: datetime) -> Outbox | None:
    """Take an entry that is due: it is ours until `due_at`, and one attempt more is counted. None: others have it.

    Counting before the attempt bounds the attempts of an entry that kills whoever sends it.
    """
    ours = update(
        key(entry_id),
        "SET #due_at = :until ADD #attempts :one",
        {"until": now + HELD_FOR, "one": 1, "now": now},
        condition="#due_at <= :now",
        otherwise=NotOursError(),
    )
    try:
        return decode(Outbox, write_one(ours))
    except NotOursError:
        return None


def settle(held: Outbox, after: Outbox) -> None:
    """Keep what became of an entry that is held: tried again later, or finished. Nothing, when the hold was lost."""
    changes = {"attempts": after.attempts, "to": after.to}
    names = ("due_at", "sent_at", "given_up_at", "expires_at")
    changes |= {name: value for name in names if (value := getattr(after, name)) is not None}
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in changes)
    write = update(
        key(held.id),
        expression if after.due_at else f"{expression} REMOVE #due_at, #due_shard",
        {**changes, "held": held.due_at},
        condition="#due_at = :held",
        otherwise=NotOursError(),
    )
    try:
        write_one(write)
    except NotOursError:
        return
