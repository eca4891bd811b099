"""What is due: a sparse index of the records somebody must look at again, in shards so that no moment is one hot spot.

A record that is due carries `due_shard` and `due_at`; one that is not carries neither.
"""

from datetime import datetime
from typing import Any

from chalicelib.store.codec import value_of
from chalicelib.store.table import client, table_name, with_retries

SHARDS = 4


def ids(table: str, now: datetime, limit: int) -> list[str]:
    """The IDs of at most `limit` records that are due, longest due first.

    The index follows its table with a short delay: whoever acts on a record asks the table whether it is due indeed.
    """
    found = [item for shard in range(SHARDS) for item in _of_shard(table, str(shard), now, limit)]
    found.sort(key=lambda item: str(item["due_at"]["S"]))
    return [item["id"]["S"] for item in found[:limit]]


def lag_seconds(table: str, now: datetime) -> int:
    """For how long the record that is due longest has been due; 0 when none is."""
    found = [item["due_at"]["S"] for shard in range(SHARDS) for item in _of_shard(table, str(shard), now, 1)]
    return int((now - datetime.fromisoformat(min(found))).total_seconds()) if found else 0


def shard_of(record_id: str) -> str:
    """The part of the index a record is in."""
    return str(sum(record_id.encode()) % SHARDS)


def _of_shard(table: str, shard: str, now: datetime, limit: int) -> list[dict[str, Any]]:
    answer = with_retries(
        lambda: client().query(
            TableName=table_name(table),
            IndexName="due",
            KeyConditionExpression="#shard = :shard AND #due_at <= :now",
            ExpressionAttributeNames={"#shard": "due_shard", "#due_at": "due_at"},
            ExpressionAttributeValues={":shard": value_of(shard), ":now": value_of(now)},
            Limit=limit,
        )
    )
    items: list[dict[str, Any]] = answer["Items"]
    return items
