"""Records that are due: the index that lists them, and the claim by which one process at a time attempts one.

The index is sparse. A record that is due carries `due_at` and `due_shard`; any other record has no place in it. A shard
belongs to a lane, which is read apart from every other: "SANDBOX.0" holds what is due at the acquirer SANDBOX, "none.0"
what needs no acquirer, "email.0" e-mails, "7#1" the deliveries to webhook 1 of merchant 7.

A claim holds a record until its new `due_at`. A process that dies lets go of it at that time, and the record is due
again. Whatever a process writes about a record that it holds requires that `due_at`, so it changes nothing after
another process has claimed the record. Transactions have a claim of their own, `store.transactions.claim`.
"""

import heapq
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

from chalicelib.record import Record
from chalicelib.store.table import (
    Key,
    Write,
    attribute_names,
    decode,
    pages_of,
    set_attributes,
    table_name,
    update,
    value_of,
    write_one,
)

LANE_SHARDS = 2  # a shard takes 1,000 writes a second, a card payment is two: see decision 19 before there are fewer
NO_ACQUIRER = "none"  # the lane of what needs no acquirer
PAGE = 100

R = TypeVar("R")


class NotHeldError(Exception):
    """A record that another process holds, or that is finished."""


class Due(Record):
    """An entry of the index: the record of this key has been due since then."""

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


def shard_of(record_id: str, lane: str) -> str:
    """Return the shard of its lane that a record is in."""
    return f"{lane}.{sum(record_id.encode()) % LANE_SHARDS}"


def of_lane(table: str, lane: str, now: datetime) -> Iterator[Due]:
    """Yield what is due in a lane, the longest due first; pages are read as they are needed.

    The index follows its table with a short delay: check in the table that a record is due before acting on it.
    """
    shards = [of_shard(table, f"{lane}.{number}", now) for number in range(LANE_SHARDS)]
    return heapq.merge(*shards, key=lambda due: due.since)


def of_shard(table: str, shard: str, now: datetime) -> Iterator[Due]:
    """Yield what is due in a shard, the longest due first."""
    return _entries(table, "#due_shard = :shard AND #due_at <= :now", {"shard": shard, "now": now}, PAGE)


def next_due(table: str, shard: str) -> datetime | None:
    """Return when the first record of a shard is due; None when the shard is empty."""
    return next((entry.since for entry in _entries(table, "#due_shard = :shard", {"shard": shard}, 1)), None)


def claim(key: Key[R], now: datetime, held_for: timedelta, **also: Any) -> R | None:
    """Claim a record that is due, count an attempt, and store `also`; return None when another process has it.

    Counting before the attempt limits the attempts of a record that crashes the process that makes them.
    """
    values = {"due_at": now + held_for, **also}
    expression = f"{set_attributes(values)} ADD #attempts :one"
    claimed = update(
        key, expression, {**values, "one": 1, "now": now}, condition="#due_at <= :now", otherwise=NotHeldError()
    )
    return _if_held(key, claimed)


def claim_first(key: Key[R], due_at: datetime | None) -> R | None:
    """Claim a new record that nobody has attempted; return None when another process has it.

    It stays held until the same time, so the index does not change.
    """
    values = {"one": 1, "none": 0, "held": due_at}
    condition = "#attempts = :none AND #due_at = :held"
    return _if_held(key, update(key, "SET #attempts = :one", values, condition=condition, otherwise=NotHeldError()))


def store_held(key: Key[Any], due_at: datetime | None, changes: Mapping[str, Any], *, is_finished: bool) -> bool:
    """Store what came of a record that is held until `due_at`; one that is finished leaves the index.

    Return False, and change nothing, when the claim was lost.
    """
    expression = set_attributes(changes) + (" REMOVE #due_at, #due_shard" if is_finished else "")
    values = {**changes, "held": due_at}
    stored = update(key, expression, values, condition="#due_at = :held", otherwise=NotHeldError())
    return _if_held(key, stored) is not None


def _if_held(key: Key[R], write: Write) -> R | None:
    """Carry out a write that requires a claim, and return the record after it; None when the claim was lost."""
    try:
        return decode(key.record, write_one(write))
    except NotHeldError:
        return None


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
        for item in page["Items"]:
            key = {name: value["S"] for name, value in item.items() if name not in {"due_at", "due_shard"}}
            yield Due(key, datetime.fromisoformat(item["due_at"]["S"]))
