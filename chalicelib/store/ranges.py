"""Queries of a range of a partition by its sort key, with a filter and a projection. All reads are strong."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chalicelib.store.table import Item, Partition, attribute_names, pages_of, table_name, value_of


@dataclass(frozen=True)
class Range:
    """The items of a partition whose sort key is from `low` to `high`, both included.

    A call reads at most `at_once` items, for callers that may stop early.
    """

    table: str
    partition: Partition
    sort_key: str
    low: str
    high: str
    at_once: int | None = None


@dataclass(frozen=True)
class Filter:
    """A filter expression. Items that do not match are read but not returned."""

    expression: str
    values: Mapping[str, Any] = field(default_factory=dict)


def range_of_prefix(table: str, partition: Partition, sort_key: str, prefix: str) -> Range:
    """Return the range of items whose sort key begins with `prefix`."""
    return Range(table, partition, sort_key, prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1))


def items_of(
    span: Range, matching: Filter | None = None, only: Sequence[str] = (), *, newest_first: bool = False
) -> Iterator[Item]:
    """Yield the items of a range that match the filter, in the order of the sort key or in reverse.

    With `only`, items have only these attributes.
    """
    for page in item_pages(span, matching, only, newest_first=newest_first):
        yield from page


def item_pages(
    span: Range, matching: Filter | None = None, only: Sequence[str] = (), *, newest_first: bool = False
) -> Iterator[Sequence[Item]]:
    """Yield the items like `items_of`: a list for each store call."""
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
    return (response["Items"] for response in pages_of(parameters))
