"""A bulk load of past transactions into the tables of a local stage: for benchmarks, and for tests of size.

The items are those the service writes with each transaction, pending ones among what is due, but its counters are added
up first. Nothing else may write to the same days at the same time.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from chalicelib.domain.transaction import Transaction
from chalicelib.store import history, transactions
from chalicelib.store.table import client, table_name

MAX_BATCH_WRITE = 25  # items in one BatchWriteItem

Item = dict[str, Any]
ItemKey = tuple[str, str]  # of an item of the history table


def write_in_bulk(many: Iterable[Transaction]) -> None:
    """Store transactions that are not stored yet, with their entries in the history."""
    counters: dict[ItemKey, Counter[str]] = defaultdict(Counter)
    _write_batches(_items(many, counters))
    items = (_counter_item(key, increments) for key, increments in counters.items())
    _write_batches((table_name(history.TABLE), item) for item in items)


def _items(many: Iterable[Transaction], counters: Mapping[ItemKey, Counter[str]]) -> Iterator[tuple[str, Item]]:
    """Yield the table and item of each record; add to `counters` the increments of each counter item."""
    for transaction in many:
        yield table_name(transactions.TABLE), transactions.item_of(transaction)
        for write in history.writes_for_new(transaction):
            if write.kind == "Put":
                yield write.parameters["TableName"], write.parameters["Item"]
            else:
                key = write.parameters["Key"]
                counters[key["month"]["S"], key["at"]["S"]].update(_increments(write.parameters))


def _increments(parameters: Mapping[str, Any]) -> dict[str, int]:
    """Return the increments of an `ADD #name :value, ...`, by attribute."""
    pairs = [pair.split() for pair in parameters["UpdateExpression"].removeprefix("ADD ").split(",")]
    names, values = parameters["ExpressionAttributeNames"], parameters["ExpressionAttributeValues"]
    return {names[name]: int(values[value]["N"]) for name, value in pairs}


def _counter_item(item_key: ItemKey, increments: Counter[str]) -> Item:
    """Return a counter item: the stored counters, if there are any, and the increments."""
    key: Item = {"month": {"S": item_key[0]}, "at": {"S": item_key[1]}}
    answer = client().call("GetItem", TableName=table_name(history.TABLE), Key=key, ConsistentRead=True)
    stored = {name: int(value["N"]) for name, value in answer.get("Item", key).items() if "N" in value}
    return {**key, **{name: {"N": str(number)} for name, number in (increments + Counter(stored)).items()}}


def _write_batches(items: Iterator[tuple[str, Item]]) -> None:
    while batch := list(itertools.islice(items, MAX_BATCH_WRITE)):
        requests: dict[str, list[Item]] = {table: [] for table, _ in batch}
        for table, item in batch:
            requests[table].append({"PutRequest": {"Item": item}})
        while requests:
            requests = client().call("BatchWriteItem", RequestItems=requests).get("UnprocessedItems") or {}
