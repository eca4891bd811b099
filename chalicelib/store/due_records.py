"""The reads of the index of due records; see `due_index`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from chalicelib.store.table import Item, Key, attribute_names, pages_of, read, readable, table_name, value_of

PAGE = 100


@dataclass(frozen=True)
class Due:
    """An entry of the index: the key of a record, and the time since which it is due."""

    key: Mapping[str, str]
    since: datetime

    @property
    def id(self) -> str:
        """Return the ID of a record whose key is its ID."""
        return self.key["id"]

    @property
    def name(self) -> str:
        """Return the values of the key, for the log."""
        return " ".join(self.key[name] for name in sorted(self.key))


@dataclass(frozen=True)
class _Owner:
    client_id: int | None = None
    terminal_name: str | None = None


def owner_of(table: str, entry: Due) -> Mapping[str, Any]:
    """Return the merchant and the TID of a due record, for the log. Messages and events have no TID."""
    if "day" in entry.key:
        return {"merchant": int(entry.key["day"].partition("#")[0])}
    found = read(Key(table, _Owner, entry.key)) or _Owner()
    return {"merchant": found.client_id, "terminal": found.terminal_name}


def of_lane(table: str, lane: str, until: datetime) -> Iterator[Due]:
    """Yield the records of a lane that are due at this time, the longest due first. Pages are read when needed.

    The index is slightly behind its table, so callers must check in the table that a record is due.
    """
    return _entries(table, "#due_lane = :lane AND #due_at <= :until", {"lane": lane, "until": until}, PAGE)


def next_due(table: str, lane: str) -> datetime | None:
    """Return the time when the first record of a lane is due; None for an empty lane."""
    return next((entry.since for entry in _entries(table, "#due_lane = :lane", {"lane": lane}, 1)), None)


def _entries(table: str, condition: str, values: Mapping[str, Any], limit: int) -> Iterator[Due]:
    parameters = {
        "TableName": table_name(table),
        "IndexName": "due",
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": attribute_names(condition),
        "ExpressionAttributeValues": {f":{name}": value_of(value) for name, value in values.items()},
        "Limit": limit,
    }
    for page in pages_of(parameters):
        yield from readable(table, page["Items"], _due_in)


def _due_in(item: Item) -> Due:
    key = {name: value["S"] for name, value in item.items() if name not in {"due_at", "due_lane"}}
    since = datetime.fromisoformat(item["due_at"]["S"])
    return Due(key, since.astimezone(UTC))
