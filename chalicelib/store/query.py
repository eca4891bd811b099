"""Queries of one partition, whose items come in the order of the sort key and are read page by page.

A partition of a table is read strongly. An index follows its table with a delay of milliseconds: code that must not
miss a record reads by key.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeVar

from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.record import Record
from chalicelib.store.retries import with_retries
from chalicelib.store.table import Value, attribute_names, client, decode, table_name, value_of

R = TypeVar("R")
Item = Mapping[str, Value]
Partition = tuple[str, int | str]  # the name of the partition key and its value

LIMIT = 20_000  # records in one list


class Range(Record):
    """The items of a partition whose sort key is from `low` to `high`, both included.

    A call reads `at_once` of them at the most: for who may not want all.
    """

    table: str
    partition: Partition
    sort_key: str
    low: str
    high: str
    at_once: int | None = None


class Filter(Record):
    """A filter expression: items that do not match it are read, but not returned."""

    expression: str
    values: Mapping[str, Any] = field(default_factory=dict)


def range_of_prefix(table: str, partition: Partition, sort_key: str, prefix: str) -> Range:
    """Return the range of the items whose sort key begins with `prefix`."""
    return Range(table, partition, sort_key, prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1))


def list_records(table: str, record: type[R], partition: Partition, index: str | None = None) -> list[R]:
    """Return every record of a partition of a table or its index; 404 when there are more than `LIMIT`."""
    name, value = partition
    parameters: dict[str, Any] = {
        "TableName": table_name(table),
        "KeyConditionExpression": "#owner = :owner",
        "ExpressionAttributeNames": {"#owner": name},
        "ExpressionAttributeValues": {":owner": value_of(value)},
        **({"IndexName": index} if index else {"ConsistentRead": True}),
    }
    records: list[R] = []
    for page in pages_of(parameters):
        records.extend(decode(record, item) for item in page["Items"])
        if len(records) > LIMIT:
            raise ServiceError(ErrorCode.PERIOD_TOO_LONG, f"There are more than {LIMIT} to look at: narrow the search.")
    return records


def items_of(
    span: Range,
    matching: Filter | None = None,
    only: Sequence[str] = (),
    looked_at: list[int] | None = None,
    *,
    newest_first: bool = False,
) -> Iterator[Item]:
    """Yield the items of a range that match the filter, in the order of the sort key or the reverse of it.

    With `only` they have these attributes alone. The numbers of items that were read for it, whether they match or not,
    are appended to `looked_at`.
    """
    name, value = span.partition
    key_condition = f"#{name} = :partition AND #{span.sort_key} BETWEEN :low AND :high"
    filter_expression = matching.expression if matching else ""
    projection = ", ".join(f"#{attribute}" for attribute in only)
    values = {"partition": value, "low": span.low, "high": span.high, **(matching.values if matching else {})}
    parameters: dict[str, Any] = {
        "TableName": table_name(span.table),
        "KeyConditionExpression": key_condition,
        "ExpressionAttributeNames": attribute_names(f"{key_condition} {filter_expression} {projection}"),
        "ExpressionAttributeValues": {f":{placeholder}": value_of(each) for placeholder, each in values.items()},
        "ConsistentRead": True,
        **({"Limit": span.at_once} if span.at_once else {}),
        **({"FilterExpression": filter_expression} if filter_expression else {}),
        **({"ProjectionExpression": projection} if projection else {}),
        **({"ScanIndexForward": False} if newest_first else {}),
    }
    for page in pages_of(parameters):
        if looked_at is not None:
            looked_at.append(page["ScannedCount"])
        yield from page["Items"]


def pages_of(parameters: dict[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the answer of each page of a query until the last."""
    while True:
        response = with_retries(lambda: client().call("Query", **parameters))
        yield response
        if "LastEvaluatedKey" not in response:
            return
        parameters["ExclusiveStartKey"] = response["LastEvaluatedKey"]
