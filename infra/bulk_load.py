"""Writing many past transactions at once into the tables of a local stage: for benchmarks, and for tests of size.

What is written is what the service writes with each of them, only counters are added up before. Nobody may write to
the same days meanwhile.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from chalicelib.domain.transaction import Transaction
from chalicelib.store import history, transactions
from chalicelib.store.codec import encode
from chalicelib.store.table import client, table_name

BATCH = 25  # items in one BatchWriteItem

Item = dict[str, Any]
Place = tuple[str, str]  # of an item of the history table


def write_in_bulk(many: Iterable[Transaction]) -> None:
    """Keep transactions under new IDs, each with its place in the history."""
    counters: dict[Place, Counter[str]] = defaultdict(Counter)
    _put(_records(many, counters))
    items = (_with_counters(place, numbers) for place, numbers in counters.items())
    _put((table_name(history.TABLE), item) for item in items)


def _records(many: Iterable[Transaction], counters: Mapping[Place, Counter[str]]) -> Iterator[tuple[str, Item]]:
    for transaction in many:
        yield table_name(transactions.TABLE), encode(transaction)
        for write in history.writes_for_new(transaction):
            if write.kind == "Put":
                yield write.parameters["TableName"], write.parameters["Item"]
            else:
                key = write.parameters["Key"]
                counters[key["month"]["S"], key["at"]["S"]].update(_added(write.parameters))


def _added(parameters: Mapping[str, Any]) -> dict[str, int]:
    """What an `ADD #name :value, ...` adds."""
    pairs = [pair.split() for pair in parameters["UpdateExpression"].removeprefix("ADD ").split(",")]
    names, values = parameters["ExpressionAttributeNames"], parameters["ExpressionAttributeValues"]
    return {names[name]: int(values[value]["N"]) for name, value in pairs}


def _with_counters(place: Place, numbers: Counter[str]) -> Item:
    """The counters of a place, with what is counted there already."""
    key: Item = {"month": {"S": place[0]}, "at": {"S": place[1]}}
    answer = client().get_item(TableName=table_name(history.TABLE), Key=key, ConsistentRead=True)
    kept = {name: int(value["N"]) for name, value in answer.get("Item", key).items() if "N" in value}
    return {**key, **{name: {"N": str(number)} for name, number in (numbers + Counter(kept)).items()}}


def _put(items: Iterator[tuple[str, Item]]) -> None:
    while batch := list(itertools.islice(items, BATCH)):
        requests: dict[str, list[Item]] = {table: [] for table, _ in batch}
        for table, item in batch:
            requests[table].append({"PutRequest": {"Item": item}})
        while requests:
            requests = client().batch_write_item(RequestItems=requests).get("UnprocessedItems") or {}
