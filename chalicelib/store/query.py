"""Queries: the items of one partition, read a page of the store at a time.

A range of a partition is a strong read. What belongs to an owner may be read through an index, which follows its table
with a delay of milliseconds: code that must not miss a record reads by key.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store.codec import Value, decode, value_of
from chalicelib.store.table import client, table_name, with_retries

R = TypeVar("R")

LIMIT = 20_000  # records one list may have to look at


def all_of(table: str, record: type[R], owner: tuple[str, int | str], index: str | None = None) -> list[R]:
    """Every record whose key attribute has this value, in the order of the second key."""
    name, value = owner
    parameters: dict[str, Any] = {
        "TableName": table_name(table),
        "KeyConditionExpression": "#owner = :owner",
        "ExpressionAttributeNames": {"#owner": name},
        "ExpressionAttributeValues": {":owner": value_of(value)},
        **({"IndexName": index} if index else {"ConsistentRead": True}),
    }
    records: list[R] = []
    for page in _pages(parameters):
        records.extend(decode(record, item) for item in page)
        if len(records) > LIMIT:
            raise ServiceError(ErrorCode.PERIOD_TOO_LONG, f"There are more than {LIMIT} to look at: narrow the search.")
    return records


@dataclass(frozen=True)
class Condition:
    """What the store leaves out before it sends: attributes are written `#name` in the expression."""

    expression: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """The attributes it looks at."""
        words = "".join(letter if letter.isalnum() or letter in "#_" else " " for letter in self.expression).split()
        return {word[1:] for word in words if word.startswith("#")}


@dataclass(frozen=True)
class Range:
    """The items of a partition whose second key is from `low` to `high`."""

    table: str
    partition: tuple[str, str]  # the name of the key and its value
    sort: str
    low: str
    high: str


def prefixed(table: str, partition: tuple[str, str], sort: str, prefix: str) -> Range:
    """The items whose second key begins so."""
    return Range(table, partition, sort, prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1))


def items(wanted: Range, condition: Condition | None = None, only: Sequence[str] = ()) -> Iterator[Mapping[str, Value]]:
    """The items in the order of the second key; `only` these attributes of each, when given."""
    condition = condition or Condition()
    name, value = wanted.partition
    values = {"partition": value, "low": wanted.low, "high": wanted.high, **condition.values}
    parameters: dict[str, Any] = {
        "TableName": table_name(wanted.table),
        "KeyConditionExpression": f"#{name} = :partition AND #{wanted.sort} BETWEEN :low AND :high",
        "ExpressionAttributeNames": {f"#{one}": one for one in {name, wanted.sort, *condition.names, *only}},
        "ExpressionAttributeValues": {f":{one}": value_of(each) for one, each in values.items()},
        "ConsistentRead": True,
        **({"FilterExpression": condition.expression} if condition.expression else {}),
        **({"ProjectionExpression": ", ".join(f"#{one}" for one in only)} if only else {}),
    }
    for page in _pages(parameters):
        yield from page


def _pages(parameters: dict[str, Any]) -> Iterator[list[Mapping[str, Value]]]:
    """Yield the items of each page of the store until the last."""
    while True:
        answer = with_retries(lambda: client().query(**parameters))
        yield answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        parameters["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
