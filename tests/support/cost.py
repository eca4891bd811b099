"""Counting the calls to AWS, so that tests can assert what an operation costs.

Capacity: write units as AWS charges them, from the reports of DynamoDB Local (moto reports constants)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chalicelib import outside
from chalicelib.store.aws_client import DYNAMODB, Client
from infra.bench.client import measure_capacity, through


@contextmanager
def store_calls() -> Iterator[list[str]]:
    """Collect the names of all calls to DynamoDB in the block, by any thread, without retries."""
    names: list[str] = []

    def call(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        if client.service == DYNAMODB:
            names.append(operation)
        return client.call(operation, **parameters)

    with outside.given(client=through(call)):
        yield names


@contextmanager
def written_tables() -> Iterator[list[str]]:
    """Collect the tables of all writes in the block that took effect, by any thread."""
    tables: list[str] = []

    def call(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        answer = client.call(operation, **parameters)
        if operation in {"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}:
            writes = [write for one in parameters.get("TransactItems", ()) for write in one.values()] or [parameters]
            tables.extend(write["TableName"].rpartition("-")[2] for write in writes)
        return answer

    with outside.given(client=through(call)):
        yield tables


@contextmanager
def write_units() -> Iterator[list[tuple[str, float]]]:
    """Collect the table and the units of each write in the block, indexes included, by any thread."""
    with measure_capacity() as meter:
        yield meter.writes
