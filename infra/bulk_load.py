"""A bulk load of past transactions into the tables of a local stage: for benchmarks, and for tests of size.

The items are those the service writes with each transaction, pending ones among what is due, but its counters are added
up first. Nothing else may write to the same days at the same time.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from chalicelib.domain.transaction import Transaction
from chalicelib.store import history, transactions
from chalicelib.store.table import BATCH, client, table_name

MAX_BATCH_WRITE = 25  # items in one BatchWriteItem

Item = dict[str, Any]
ItemKey = tuple[str, str]  # of an item of the history table


def write_in_bulk(many: Iterable[Transaction], keep: Callable[[Item], bool] = bool) -> None:
    """Store transactions that are not stored yet, with their entries in the history; of the items those to `keep`."""
    counters: dict[ItemKey, Counter[str]] = defaultdict(Counter)
    _write_batches(one for one in _items(many, counters) if keep(one[1]))
    _write_batches((table_name(history.TABLE), item) for item in _counter_items(counters))


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


def _counter_items(counters: Mapping[ItemKey, Counter[str]]) -> Iterator[Item]:
    """Yield the counter items: the stored counters, if there are any, and the increments."""
    remaining = iter(counters.items())
    while group := dict(itertools.islice(remaining, BATCH)):
        stored = _stored(list(group))
        for key, increments in group.items():
            numbers = increments + stored[key]
            yield {**_wire(key), **{name: {"N": str(number)} for name, number in numbers.items()}}


def _stored(keys: list[ItemKey]) -> dict[ItemKey, Counter[str]]:
    """Return the stored counters of at most `BATCH` keys."""
    found: dict[ItemKey, Counter[str]] = defaultdict(Counter)
    request = {table_name(history.TABLE): {"Keys": [_wire(key) for key in keys], "ConsistentRead": True}}
    while request:
        answer = client().call("BatchGetItem", RequestItems=request)
        for item in itertools.chain.from_iterable(answer["Responses"].values()):
            numbers = {name: int(value["N"]) for name, value in item.items() if "N" in value}
            found[item["month"]["S"], item["at"]["S"]] = Counter(numbers)
        request = answer.get("UnprocessedKeys") or {}
    return found


def _wire(key: ItemKey) -> Item:
    return {"month": {"S": key[0]}, "at": {"S": key[1]}}


def _write_batches(items: Iterator[tuple[str, Item]]) -> None:
    while batch := list(itertools.islice(items, MAX_BATCH_WRITE)):
        requests: dict[str, list[Item]] = {table: [] for table, _ in batch}
        for table, item in batch:
            requests[table].append({"PutRequest": {"Item": item}})
        while requests:
            requests = client().call("BatchWriteItem", RequestItems=requests).get("UnprocessedItems") or {}
