"""Items of any table as they are stored: read in pages and by key, and written if they are as they were read."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from chalicelib.errors import ServiceError
from chalicelib.settings import settings
from chalicelib.store.aws_client import is_dropped
from chalicelib.store.table import BATCH, VERSION, Item, Value, Write, call, pages_of, table_name
from infra.stack import resources


def stack() -> str:
    """Return the name of the stack, which begins the names of its tables."""
    return settings().table_prefix.removesuffix("-")


def definitions() -> dict[str, dict[str, Any]]:
    """Return the arguments of CreateTable for each table of the stage, by its name without the prefix."""
    tables = resources.create_table_arguments(stack())
    return {one["TableName"].removeprefix(settings().table_prefix): one for one in tables}


@cache
def keys_of(table: str) -> tuple[str, ...]:
    """Return the names of a table's key attributes."""
    return tuple(one["AttributeName"] for one in definitions()[table]["KeySchema"])


def key_of(table: str, item: Item) -> dict[str, Value]:
    """Return the key of an item."""
    return {name: item[name] for name in keys_of(table)}


def name_of(table: str, item: Item) -> str:
    """Return the values of an item's key, for people and as the key of a dictionary."""
    return " ".join(str(next(iter(value.values()))) for value in key_of(table, item).values())


def pages(name: str) -> Iterator[list[dict[str, Value]]]:
    """Yield all items of the table with this full name, page by page (strong reads)."""
    return (page["Items"] for page in pages_of({"TableName": name, "ConsistentRead": True}, "Scan"))


def items_at(table: str, wanted: Sequence[Item], *, name: str | None = None) -> dict[str, dict[str, Value]]:
    """Return the stored items with the keys of these items, by name (strong reads). A missing copy has none.

    `name` is the full name of a copy of the table.
    """
    name, found = name or table_name(table), dict[str, dict[str, Value]]()
    keys = list({name_of(table, item): key_of(table, item) for item in wanted}.values())  # a key twice is refused
    while keys:
        request = {name: {"Keys": keys[:BATCH], "ConsistentRead": True}}
        try:
            answer = call("BatchGetItem", RequestItems=request)
        except ServiceError as refusal:
            if not is_dropped(refusal.__cause__):
                raise
            return {}
        found.update({name_of(table, item): item for item in answer["Responses"].get(name, [])})
        keys = answer.get("UnprocessedKeys", {}).get(name, {}).get("Keys", []) + keys[BATCH:]
    return found


def batches(ids: list[str]) -> Iterator[list[str]]:
    """Yield the IDs in batches of one read."""
    return (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))


def version_of(item: Item | None) -> int:
    """Return the version of an item. An item whose version no write could raise has 0, a missing one -1."""
    if item is None:
        return -1
    text = item.get(VERSION, {}).get("N", "")
    return int(text) if text.isdecimal() else 0


def as_read(table: str, item: Item) -> dict[str, Value]:
    """Return the key and the version of an item: the condition of its next write."""
    return {name: value for name, value in item.items() if name in {*keys_of(table), VERSION}}


def raised(item: Item, *others: Item | None) -> dict[str, Value]:
    """Return an item with a version above its own and those of the others."""
    return {**item, VERSION: {"N": str(1 + max(version_of(one) for one in (item, *others)))}}


def put(table: str, item: Item, present: Item | None) -> Write:
    """Return the write of an item, which requires that the stored one has the version of `present`, or is missing."""
    parameters: dict[str, Any] = {"TableName": table_name(table), "Item": item}
    if present is None or VERSION not in present:
        key = "attribute_not_exists(#key)" if present is None else "attribute_exists(#key)"
        parameters["ConditionExpression"] = f"{key} AND attribute_not_exists(#version)"
        parameters["ExpressionAttributeNames"] = {"#key": keys_of(table)[0], "#version": VERSION}
    else:
        parameters["ConditionExpression"] = "#version = :version"
        parameters["ExpressionAttributeNames"] = {"#version": VERSION}
        parameters["ExpressionAttributeValues"] = {":version": present[VERSION]}
    return Write("Put", parameters)
