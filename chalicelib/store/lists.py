"""What belongs to an owner, read through an index: all of it, a page at a time, up to a limit.

An index follows its table with a delay of milliseconds; whoever must not miss a thing reads by key.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store.codec import decode, value_of
from chalicelib.store.table import client, persist, table_name

R = TypeVar("R")

LIMIT = 20_000  # records one list may have to look at


def all_of(table: str, record: type[R], owner: tuple[str, int | str], index: str | None = None) -> list[R]:
    """Every record whose key attribute has this value, in the order of the second key."""
    records: list[R] = []
    for items in _pages(table, owner, index):
        records.extend(decode(record, item) for item in items)
        if len(records) > LIMIT:
            raise ServiceError(ErrorCode.PERIOD_TOO_LONG, f"There are more than {LIMIT} to look at: narrow the search.")
    return records


def _pages(table: str, owner: tuple[str, int | str], index: str | None) -> Iterator[list[Any]]:
    name, value = owner
    parameters: dict[str, Any] = {
        "TableName": table_name(table),
        "KeyConditionExpression": "#owner = :owner",
        "ExpressionAttributeNames": {"#owner": name},
        "ExpressionAttributeValues": {":owner": value_of(value)},
        **({"IndexName": index} if index else {"ConsistentRead": True}),
    }
    while True:
        answer = persist(lambda: client().query(**parameters))
        yield answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        parameters["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
