"""The store of the simulation beside DynamoDB Local: the same operations, one after the other, on both."""

import os
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

import boto3

from chalicelib.store.aws_client import DYNAMODB, Client, Limits, RefusedError
from tests.simulation.operations import DEFINITIONS, Operations
from tests.simulation.store import Store
from tests.simulation.tables import Table
from tests.simulation.values import stored

LIMITS = Limits(connect_seconds=2, read_seconds=20, attempts=3)
SETS = frozenset({"SS", "NS", "BS"})


class DifferenceError(AssertionError):
    """An operation that ends otherwise on the two stores."""


class Pair:
    """Both stores, with the tables of `operations`; the name of each table is its own among those of other tests."""

    def __init__(self, url: str) -> None:
        self._suffix = os.urandom(4).hex()
        self._remote = boto3.client("dynamodb", endpoint_url=url)
        for definition in DEFINITIONS:
            self._remote.create_table(**{**definition, "TableName": self._name(definition["TableName"])})
        self._client = Client(DYNAMODB, LIMITS)
        self.store = Store(map(Table, DEFINITIONS), time.monotonic)
        self.counts: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for definition in DEFINITIONS:
            self._remote.delete_table(TableName=self._name(definition["TableName"]))
        self._remote.close()

    def _name(self, table: str) -> str:
        return f"{table}-{self._suffix}"

    def run(self, operations: Operations, count: int) -> None:
        """Carry out so many operations on both; raise DifferenceError at the first that differs."""
        for _ in range(count):
            self.compare(*operations.operation())
        for table, key in operations.every_key():
            self.compare("GetItem", {"TableName": table, "Key": key, "ConsistentRead": True})

    def compare(self, operation: str, parameters: dict[str, Any]) -> None:
        """Carry out one operation on both."""
        renamed = self._renamed(operation, parameters)
        ours = _outcome(lambda: self.store.call(operation, parameters))
        theirs = _in_order(_original(_outcome(lambda: self._client.call(operation, **renamed)), self._suffix))
        self.counts[f"{operation} {ours[0] if ours[0] != 'refused' else ours[1]}"] += 1
        if _in_order(ours) != theirs and not _is_documented(ours, theirs):
            message = f"{operation} {parameters}\n  here:  {_in_order(ours)}\n  there: {theirs}"
            raise DifferenceError(message)

    def _renamed(self, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        if operation in {"BatchGetItem", "BatchWriteItem"}:
            requests = {self._name(name): request for name, request in parameters["RequestItems"].items()}
            return {"RequestItems": requests}
        if operation == "TransactWriteItems":
            items = [
                {kind: {**write, "TableName": self._name(write["TableName"])} for kind, write in item.items()}
                for item in parameters["TransactItems"]
            ]
            return {**parameters, "TransactItems": items}
        return {**parameters, "TableName": self._name(parameters["TableName"])}


def _outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """Return the answer, or the code of the error with the reason of each write."""
    try:
        return "answered", {name: value for name, value in call().items() if name != "ResponseMetadata"}
    except RefusedError as error:
        return "refused", error.code, error.reasons


def _is_documented(ours: tuple[Any, ...], theirs: Any) -> bool:
    """Return whether ours is what the documents say where DynamoDB Local differs from them.

    An update that cannot be carried out cancels its transaction with the reason ValidationError; DynamoDB Local refuses
    the whole request.
    """
    return ours[0] == "refused" and "ValidationError" in ours[2] and theirs[:2] == ["refused", "ValidationException"]


def _original(outcome: Any, suffix: str) -> Any:
    if outcome[0] == "answered" and "Responses" in outcome[1]:
        found = {name.removesuffix(f"-{suffix}"): items for name, items in outcome[1]["Responses"].items()}
        return "answered", {**outcome[1], "Responses": found}
    return outcome


def _in_order(value: Any) -> Any:
    """Return the value with what has no order of its own in one (sets, attributes, the items of a batch).

    And numbers in one form: DynamoDB Local does not always write those that it computed as DynamoDB does.
    """
    if isinstance(value, dict):
        if value.keys() == {"N"} and isinstance(value["N"], str):
            return stored(value)
        if "Responses" in value:
            return {name: sorted(map(_in_order, items), key=repr) for name, items in value["Responses"].items()}
        return {
            name: sorted(each) if name in SETS else _in_order(each)
            for name, each in sorted(value.items())
            if name != "ConsumedCapacity"  # DynamoDB Local adds it to some answers that nobody asked it for
        }
    return [_in_order(each) for each in value] if isinstance(value, list | tuple) else value
