"""The simulation's store as an engine of the tests: a DynamoDB in this process, for the service and for boto3.

It has the tables of `resources.json` and their streams. Nothing expires, and nothing tells of capacity.
"""

import json
import marshal
import os
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Any
from unittest.mock import patch

from moto.core.botocore_stubber import BotocoreStubber

from chalicelib import outside
from chalicelib.store.aws_client import DYNAMODB, Limits, RefusedError
from infra.local.engines import ENDPOINT_VARIABLE
from infra.stack import resources
from infra.stack.resources import ACCOUNT_ID, REGION, STACK
from tests.simulation.store import Change, Store
from tests.simulation.tables import Table
from tests.simulation.wire import Client, quotas

HOST = "store-in-memory.invalid"
URL = f"http://{HOST}"
ERROR_TYPE = "com.amazonaws.dynamodb.v20120810#"
ARN = f"arn:aws:dynamodb:{REGION}:{ACCOUNT_ID}:table/"
Result = dict[str, Any]


def _decoded(value: dict[str, Any]) -> dict[str, Any]:
    """Return an attribute value of JSON with its bytes."""
    return {"B": b64decode(value["B"])} if value.keys() == {"B"} else value


class StoreInMemory:
    """The tables, which carry out one call at a time. A read that is not strong sees nothing of the last hour."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._records: dict[str, list[Result]] = {}  # by table
        definitions = {one["TableName"]: one for one in resources.create_table_arguments(STACK)}
        self.store = Store(map(Table, definitions.values()), time.monotonic)
        for name, table in self.store.tables.items():
            table.replica_delay = 0.0 if name == f"{STACK}-webhooks" else 3600.0  # the sweep reads all webhooks weakly
        self.store.watched.append(self._note)
        self._module: Path | None = None
        self._first: list[Table] = []  # as they were with the first data alone
        self._others: dict[str, Callable[[Mapping[str, Any]], Result]] = {
            "DescribeTable": lambda asked: {"Table": definitions[asked["TableName"]]},
            "ListTables": lambda _: {"TableNames": sorted(self.store.tables)},
            "ListStreams": lambda asked: {"Streams": [{"StreamArn": f"{ARN}{asked['TableName']}"}]},
            "DescribeStream": lambda asked: {"StreamDescription": {"Shards": [{"ShardId": asked["StreamArn"]}]}},
            "GetShardIterator": lambda asked: {"ShardIterator": f"{asked['StreamArn'].removeprefix(ARN)}:0"},
            "GetRecords": self._records_from,
        }

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Answer the calls at the yielded URL."""
        make, process = outside.current.client, BotocoreStubber.process_request

        def client(service: str, limits: Limits) -> Any:
            is_here = service == DYNAMODB and os.environ.get(ENDPOINT_VARIABLE) == URL
            return Client(service, limits, self._exchange, quotas) if is_here else make(service, limits)

        def processed(stubber: BotocoreStubber, request: Any) -> Any:
            if not request.url.startswith(URL):
                return process(stubber, request)
            target = request.headers["X-Amz-Target"]
            return self._answer(target.decode() if isinstance(target, bytes) else target, request.body)

        with (
            outside.given(client=client),
            patch.object(BotocoreStubber, "process_request", processed),
        ):
            yield URL

    def begin(self, module: Path, seed: Callable[[], None]) -> bool:
        """Let a module of tests begin from the data that `seed` stores once. Return whether it is another module."""
        if module == self._module:
            return False
        self._module = module
        if not self._first:
            seed()
            self._first = [table.copy() for table in self.store.tables.values()]
        with self._lock:
            self.store.tables = {table.name: table.copy() for table in self._first}
        return True

    def _exchange(self, operation: str, parameters: Mapping[str, Any], _: Limits) -> Result:
        answer: Result = marshal.loads(marshal.dumps(self._called(operation, parameters), 2))  # noqa: S302  a copy
        return answer

    def _called(self, operation: str, parameters: Mapping[str, Any]) -> Result:
        with self._lock:
            other = self._others.get(operation)
            return other(parameters) if other else self.store.call(operation, parameters)

    def _answer(self, target: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        try:
            result = self._called(target.rpartition(".")[2], json.loads(body, object_hook=_decoded))
        except RefusedError as error:
            reasons = [{"Code": reason} for reason in error.reasons]
            refusal = {"__type": ERROR_TYPE + error.code, "message": error.code, "CancellationReasons": reasons}
            return HTTPStatus.BAD_REQUEST, {}, json.dumps(refusal).encode()
        return (
            HTTPStatus.OK,
            {},
            json.dumps(result, separators=(",", ":"), default=lambda one: b64encode(one).decode()).encode(),
        )

    def _note(self, change: Change) -> None:
        """Add a record to the stream of the table."""
        records = self._records.setdefault(change.table.name, [])
        image = {"NewImage": change.after} if change.after is not None else {}
        facts = {"SequenceNumber": f"{len(records):021}", "ApproximateCreationDateTime": time.time(), **image}
        kind = "REMOVE" if change.after is None else "INSERT" if change.before is None else "MODIFY"
        records.append({"eventName": kind, "dynamodb": facts})

    def _records_from(self, asked: Mapping[str, Any]) -> Result:
        table, _, first = asked["ShardIterator"].partition(":")
        found = self._records.get(table, [])[int(first) :]
        return {"Records": found, "NextShardIterator": f"{table}:{int(first) + len(found)}"}
