"""The index of what is due: a sparse index of the records a sweep must process, in shards to avoid one hot partition.

A record that is due carries `due_shard` and `due_at`; any other record carries neither.
"""

from datetime import datetime
from typing import Any

from chalicelib.store.codec import value_of
from chalicelib.store.retries import with_retries
from chalicelib.store.table import client, table_name

SHARDS = 4


def ids(table: str, now: datetime, limit: int) -> list[str]:
    """List the IDs of at most `limit` records that are due, the longest due first.

    The index follows its table with a short delay: check in the table that a record is due before acting on it.
    """
    items = [item for shard in range(SHARDS) for item in _due_items(table, str(shard), now, limit)]
    items.sort(key=lambda item: str(item["due_at"]["S"]))
    return [item["id"]["S"] for item in items[:limit]]


def lag_seconds(table: str, now: datetime) -> int:
    """Return for how many seconds the longest due record has been due; 0 when none is due."""
    times = [item["due_at"]["S"] for shard in range(SHARDS) for item in _due_items(table, str(shard), now, 1)]
    return int((now - datetime.fromisoformat(min(times))).total_seconds()) if times else 0


def shard_of(record_id: str) -> str:
    """Return the shard of the index a record is in."""
    return str(sum(record_id.encode()) % SHARDS)


def _due_items(table: str, shard: str, now: datetime, limit: int) -> list[dict[str, Any]]:
    response = with_retries(
        lambda: client().query(
            TableName=table_name(table),
            IndexName="due",
            KeyConditionExpression="#shard = :shard AND #due_at <= :now",
            ExpressionAttributeNames={"#shard": "due_shard", "#due_at": "due_at"},
            ExpressionAttributeValues={":shard": value_of(shard), ":now": value_of(now)},
            Limit=limit,
        )
    )
    items: list[dict[str, Any]] = response["Items"]
    return items
