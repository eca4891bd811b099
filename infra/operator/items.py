"""Items of any table as they are stored: read in pages and by key, and written if they are as they were read."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from chalicelib.errors import ServiceError
from chalicelib.settings import settings
from chalicelib.store.aws_retries import is_dropped, with_retries
from chalicelib.store.table import BATCH, Item, Value, Write, client, table_name
from infra.stack import resources

MOST_COMPARED = 100  # attributes in one condition: DynamoDB takes 300 operators


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
    start: dict[str, Any] = {}
    while True:
        parameters = {"TableName": name, "ConsistentRead": True, **start}
        page = with_retries(lambda sent=parameters: client().call("Scan", **sent))  # type: ignore[misc]
        yield page["Items"]
        if "LastEvaluatedKey" not in page:
            return
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def items_at(table: str, wanted: Sequence[Item], *, name: str | None = None) -> dict[str, dict[str, Value]]:
    """Return the stored items with the keys of these items, by name (strong reads). A missing copy has none.

    `name` is the full name of a copy of the table.
    """
    name, found = name or table_name(table), dict[str, dict[str, Value]]()
    keys = list({name_of(table, item): key_of(table, item) for item in wanted}.values())  # a key twice is refused
    while keys:
        request = {name: {"Keys": keys[:BATCH], "ConsistentRead": True}}
        try:
            answer = with_retries(lambda sent=request: client().call("BatchGetItem", RequestItems=sent))  # type: ignore[misc]
        except ServiceError as refusal:
            if not is_dropped(refusal.__cause__):
                raise
            return {}
        found.update({name_of(table, item): item for item in answer["Responses"].get(name, [])})
        keys = answer.get("UnprocessedKeys", {}).get(name, {}).get("Keys", []) + keys[BATCH:]
    return found


def put(table: str, item: Item, present: Item | None) -> Write:
    """Return the write of an item, which requires that the stored one is `present`."""
    return Write("Put", {"TableName": table_name(table), "Item": item, **_if_unchanged(table, present)})


def _if_unchanged(table: str, present: Item | None) -> Mapping[str, Any]:
    if present is None:
        return {
            "ConditionExpression": "attribute_not_exists(#key)",
            "ExpressionAttributeNames": {"#key": keys_of(table)[0]},
        }
    compared = sorted(present)[:MOST_COMPARED]
    return {
        "ConditionExpression": " AND ".join(f"#a{number} = :a{number}" for number in range(len(compared))),
        "ExpressionAttributeNames": {f"#a{number}": name for number, name in enumerate(compared)},
        "ExpressionAttributeValues": {f":a{number}": present[name] for number, name in enumerate(compared)},
    }
