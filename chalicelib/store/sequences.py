"""IDs in sequence: the last ID of each table's records, and the last number of each terminal's messages."""

from dataclasses import dataclass

from chalicelib.domain.terminal import canonical_mid
from chalicelib.store.table import Key, Write, read, update, write_one

TABLE = "sequences"


@dataclass(frozen=True)
class LastId:
    """The last ID of a sequence."""

    last: int = 0


def next_id(name: str) -> int:
    """Return the next ID of a sequence. An unused ID is never given again."""
    return next_ids(name, 1)[0]


def next_ids(name: str, count: int) -> range:
    """Return the next `count` IDs of a sequence, consecutive."""
    return _next(update(sequence_key(name), add={"last": count}), count)


def next_stans(mid: str, tid: str, count: int, *, start: int) -> range:
    """Return the next numbers for messages of a terminal; the first ever follows `start`.

    The terminal is identified by its merchant's number (MID) and its name (TID), as the host pads both with spaces. One
    item per terminal is enough: a till takes a few payments a second, and an item takes a thousand writes.
    """
    key = sequence_key(f"stan#{canonical_mid(mid)}#{tid.strip()}")
    return _next(update(key, add={"last": count}, start={"last": start}), count)


def _next(addition: Write, count: int) -> range:
    last = int(write_one(addition)["last"]["N"])
    return range(last - count + 1, last + 1)


def last_id(name: str) -> int:
    """Return the last ID of a sequence, 0 before the first."""
    last = read(sequence_key(name))
    return last.last if last else 0


def sequence_key(name: str) -> Key[LastId]:
    """Return the key of the last ID of a table's records."""
    return Key(TABLE, LastId, {"name": name})
