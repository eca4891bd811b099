"""A client that calls the app as Lambda does, and a meter of its calls to DynamoDB and their capacity units."""

import contextlib
import io
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

from chalice.app import Chalice
from chalice.local import LambdaContext, LambdaEventConverter, RouteMatcher

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.store.aws_client import DYNAMODB, Client


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

        Of a transaction, DynamoDB Local reports the units of one item a table: the meter counts them for every item. Of
        a query that finds nothing it reports none: the meter counts the least that DynamoDB charges.
        """
        self.calls += 1
        items = Counter(part["TableName"] for item in parameters.get("TransactItems", []) for part in item.values())
        consumed = answer.get("ConsumedCapacity") or []
        for table in consumed if isinstance(consumed, list) else [consumed]:
            units = table["CapacityUnits"] * (items[table["TableName"]] or 1)
            if operation == "Query":
                units = max(units, 1 if parameters.get("ConsistentRead") else 0.5)
            if operation in READS:
                self.read_units += units
            else:
                self.writes.append((table["TableName"].rsplit("-", 1)[-1], units))


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
        answer = client.call(operation, **{**parameters, "ReturnConsumedCapacity": "TOTAL"})
        meter.count(operation, parameters, answer)
        return answer

    with outside.given(client=through(call)):
        yield meter


def timed_ms(operation: Callable[[], object]) -> float:
    """Run an operation; return its processor time in milliseconds."""
    started = time.process_time()
    operation()
    return (time.process_time() - started) * 1000
