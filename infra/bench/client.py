"""A client that calls the app as Lambda does, and a meter of its calls to DynamoDB and their capacity units."""

import contextlib
import io
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from math import ceil
from typing import Any, NamedTuple

import boto3
from chalice.app import Chalice
from chalice.local import LambdaContext, LambdaEventConverter, RouteMatcher

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.store.aws_client import DYNAMODB, Client
from chalicelib.store.table import Item, Value
from infra.operator.items import definitions, key_of


class LambdaClient:
    """The app, called on behalf of one agent."""

    def __init__(self, app: Chalice, caller: Caller) -> None:
        self._app = app
        self._events = LambdaEventConverter(RouteMatcher(list(app.routes)))
        self._authorizer_context = {
            "agent": str(caller.agent_id),
            "client": str(caller.client_id),
            "version": str(caller.credential_version),
            "terminal": "" if caller.terminal_id is None else str(caller.terminal_id),
        }

    def call(self, method: str, resource: str, body: Any = None, **path_parameters: str) -> Any:
        """Send one request and return the body of the answer; exit if the answer is an error."""
        content = b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        event = self._events.create_lambda_event(method, resource.format(**path_parameters), headers, content)
        event["requestContext"]["authorizer"] = dict(self._authorizer_context)
        with contextlib.redirect_stdout(io.StringIO()):
            answer = self._app(event, LambdaContext("bench", memory_size=1024))
        if answer["statusCode"] != HTTPStatus.OK:
            sys.exit(answer["body"])
        return answer["body"]


READS = frozenset({"GetItem", "BatchGetItem", "Query"})
KILOBYTE = 1024


class Touched(NamedTuple):
    """An item that a transaction wrote, before and after: empty when missing."""

    table: str
    versions: Sequence[Item]


def size_of(item: Item) -> int:
    """Return the bytes of an item for which DynamoDB charges: of its names and values."""
    return sum(len(name.encode()) + _size_of(value) for name, value in item.items())


def _size_of(value: Value) -> int:
    ((kind, content),) = value.items()
    if kind == "N":  # a byte for two digits, and one
        return (len(content) + 1) // 2 + 1
    if kind == "L":
        return 3 + sum(1 + _size_of(one) for one in content)
    if kind == "M":
        return 3 + sum(1 + len(name.encode()) + _size_of(one) for name, one in content.items())
    if kind == "SS":
        return sum(len(one.encode()) for one in content)
    return len(content.encode()) if kind == "S" else len(content) if kind == "B" else 1


def _key_of_index(table: str, index: str) -> set[str]:
    (found,) = (one for one in definitions()[table]["GlobalSecondaryIndexes"] if one["IndexName"] == index)
    return {one["AttributeName"] for one in found["KeySchema"]}


class Meter:
    """The DynamoDB calls of a block: how many, the read units, and the table and units of each write."""

    def __init__(self) -> None:
        self.calls, self.read_units = 0, 0.0
        self.writes: list[tuple[str, float]] = []

    @property
    def write_units(self) -> float:
        """Return the units of all writes."""
        return sum(units for _, units in self.writes)

    def count(self, operation: str, parameters: dict[str, Any], answer: dict[str, Any]) -> None:
        """Count a call with the capacity units that AWS charges.

        Of a query that finds nothing, DynamoDB Local reports none: the meter counts the least that DynamoDB charges.
        """
        self.calls += 1
        consumed = answer.get("ConsumedCapacity") or []
        for table in consumed if isinstance(consumed, list) else [consumed]:
            units = table["CapacityUnits"]
            if operation == "Query":
                units = max(units, 1 if parameters.get("ConsistentRead") else 0.5)
            if operation in READS:
                self.read_units += units
            else:
                self.writes.append((table["TableName"].rsplit("-", 1)[-1], units))

    def count_transaction(self, answer: dict[str, Any], items: Sequence[Touched]) -> None:
        """Count a transaction. DynamoDB Local reports equal units of a table's items once: the meter adds up sizes."""
        self.calls += 1
        for consumed in answer.get("ConsumedCapacity") or []:
            table = consumed["TableName"].rsplit("-", 1)[-1]
            own = [one.versions for one in items if one.table == table]
            units = sum(2.0 * ceil(max(map(size_of, versions)) / KILOBYTE) for versions in own)
            for index, reported in consumed.get("GlobalSecondaryIndexes", {}).items():
                key = _key_of_index(table, index)
                units += reported["CapacityUnits"] * sum(any(key <= one.keys() for one in both) for both in own)
            self.writes.append((table, units))


def through(call: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
    """Return what makes clients of AWS whose calls go through `call`. It gets the client, operation and parameters."""
    make = outside.current.client

    class Through:
        def __init__(self, *made: Any) -> None:
            self._client = make(*made)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._client, name)

        def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
            return call(self._client, operation, **parameters)

    return Through


@contextlib.contextmanager
def measure_capacity() -> Iterator[Meter]:
    """Count every DynamoDB call until the block ends, by any thread."""
    meter = Meter()

    def call(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        if client.service != DYNAMODB:
            return client.call(operation, **parameters)
        if operation == "TransactWriteItems":
            places = [_place(write) for one in parameters["TransactItems"] for write in one.values()]
            before = list(reader.map(_item, places))
            answer = client.call(operation, **{**parameters, "ReturnConsumedCapacity": "INDEXES"})
            versions = zip(before, reader.map(_item, places), strict=True)
            meter.count_transaction(
                answer,
                [Touched(place[0].rsplit("-", 1)[-1], both) for place, both in zip(places, versions, strict=True)],
            )
            return answer
        answer = client.call(operation, **{**parameters, "ReturnConsumedCapacity": "TOTAL"})
        meter.count(operation, parameters, answer)
        return answer

    # The reader has threads of its own: tests check the permissions of the function on the stack.
    with ThreadPoolExecutor() as reader, outside.given(client=through(call)):
        yield meter


def _place(write: dict[str, Any]) -> tuple[str, Item]:
    """Return the full name of the table and the key of the item that a write of a transaction changes or checks."""
    table = write["TableName"]
    return table, write.get("Key") or key_of(table.rsplit("-", 1)[-1], write["Item"])


def _item(place: tuple[str, Item]) -> Item:
    table, key = place
    read: Any = boto3.session.Session().client("dynamodb").get_item
    found: Item = read(TableName=table, Key=key, ConsistentRead=True).get("Item", {})
    return found


def timed_ms(operation: Callable[[], object]) -> float:
    """Run an operation; return its processor time in milliseconds."""
    started = time.process_time()
    operation()
    return (time.process_time() - started) * 1000
