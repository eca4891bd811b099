"""The next IDs, and claims on names that must be unique: both are items under a name."""

from dataclasses import dataclass

from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store.table import Key, Write, put_new, read, update, write_one

TABLE = "sequences"


@dataclass(frozen=True)
class Claim:
    """A name that was taken, and the ID of its holder."""

    name: str
    holder: int


@dataclass(frozen=True)
class Last:
    """How far a sequence is."""

    last: int = 0


def tid_key(client_id: int, tid: str) -> Key[Claim]:
    """Where it is kept which terminal of the merchant has this name."""
    return Key(TABLE, Claim, {"name": f"tid#{client_id}#{tid}"})


def claim_tid(client_id: int, tid: str, terminal_id: int) -> Write:
    """Take the name for the terminal, or 308: two of a merchant's terminals never share one."""
    claim = Claim(str(tid_key(client_id, tid).key["name"]), terminal_id)
    return put_new(TABLE, claim, "name", ServiceError(ErrorCode.TID_TAKEN))


def next_id(name: str) -> int:
    """An ID nobody had before. One that is not used in the end is lost, never given again."""
    return next_ids(name, 1)[0]


def next_ids(name: str, count: int) -> range:
    """So many IDs in a row."""
    one_step = update(Key(TABLE, Claim, {"name": name}), "ADD #last :count", {"count": count})
    last = int(write_one(one_step)["last"]["N"])
    return range(last - count + 1, last + 1)


def last_id(name: str) -> int:
    """The ID given last; 0 before the first."""
    last = read(Key(TABLE, Last, {"name": name}))
    return last.last if last else 0
