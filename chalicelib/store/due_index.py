"""The index of what is due: a sparse index of the records a sweep must process, in shards to avoid one hot partition.

A record that is due carries `due_shard` and `due_at`; any other record carries neither. The shards of the outbox are
"0" to "3". Those of transactions name a lane, which is read apart from every other: "SANDBOX.0" holds what is due at
the acquirer SANDBOX, "none.0" what needs no acquirer. Transactions stored by version 1.0 are in the shards of the
outbox's form until they are moved.
"""

import heapq
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from chalicelib.record import Record
from chalicelib.store.codec import value_of
from chalicelib.store.retries import with_retries
from chalicelib.store.table import client, table_name

SHARDS = 4
LANE_SHARDS = 2  # a shard takes 1,000 writes a second, a card payment is two: see decision 19 before there are fewer
NO_ACQUIRER = "none"  # the lane of what needs no acquirer
PAGE = 100

Item = dict[str, Any]


class Due(Record):
    """An entry of the index: the record of this ID has been due since then."""

    id: str
    since: datetime
    shard: str


def ids(table: str, now: datetime, limit: int) -> list[str]:
    """List the IDs of at most `limit` records that are due, the longest due first: of a table without lanes.

    The index follows its table with a short delay: check in the table that a record is due before acting on it.
    """
    items = [item for shard in range(SHARDS) for item in _page(_query(table, str(shard), now, limit))["Items"]]
    items.sort(key=lambda item: str(item["due_at"]["S"]))
    return [item["id"]["S"] for item in items[:limit]]


def lag_seconds(table: str, now: datetime) -> int:
    """Return for how many seconds the longest due record of a table without lanes has been due; 0 when none is due."""
    pages = [_page(_query(table, str(shard), now, 1))["Items"] for shard in range(SHARDS)]
    times = [item["due_at"]["S"] for page in pages for item in page]
    return int((now - datetime.fromisoformat(min(times))).total_seconds()) if times else 0


def shard_of(record_id: str, lane: str | None = None) -> str:
    """Return the shard of the index a record is in, of its lane if there is one."""
    number = sum(record_id.encode())
    return f"{lane}.{number % LANE_SHARDS}" if lane else str(number % SHARDS)


def of_lane(table: str, lane: str, now: datetime) -> Iterator[Due]:
    """Yield what is due in a lane, the longest due first; pages are read as they are needed.

    Records that move on meanwhile are passed by, and checked in the table by whoever processes them.
    """
    shards = [_entries(_query(table, f"{lane}.{number}", now, PAGE)) for number in range(LANE_SHARDS)]
    return heapq.merge(*shards, key=lambda due: due.since)


def without_lane(table: str) -> Iterator[Due]:
    """Yield what version 1.0 stored before there were lanes, whether it is due or not."""
    for number in range(SHARDS):
        yield from _entries(_query(table, str(number), None, PAGE))


def _entries(query: dict[str, Any]) -> Iterator[Due]:
    while True:
        response = _page(query)
        for item in response["Items"]:
            yield Due(item["id"]["S"], datetime.fromisoformat(item["due_at"]["S"]), item["due_shard"]["S"])
        if "LastEvaluatedKey" not in response:
            return
        query = {**query, "ExclusiveStartKey": response["LastEvaluatedKey"]}


def _query(table: str, shard: str, now: datetime | None, limit: int) -> dict[str, Any]:
    """Return the query of a shard; without `now`, of everything in it."""
    names, values = {"#shard": "due_shard"}, {":shard": value_of(shard)}
    condition = "#shard = :shard"
    if now is not None:
        names["#due_at"], values[":now"] = "due_at", value_of(now)
        condition += " AND #due_at <= :now"
    return {
        "TableName": table_name(table),
        "IndexName": "due",
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
        "Limit": limit,
    }


def _page(query: dict[str, Any]) -> dict[str, Any]:
    response: dict[str, Any] = with_retries(lambda: client().call("Query", **query))
    return response
