"""Counting the calls to AWS, so that tests can assert what an operation costs.

Capacity: write units as DynamoDB Local reports them (moto reports constants)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chalicelib.aws.client import Client
from chalicelib.aws.endpoints import DYNAMODB


@contextmanager
def store_calls() -> Iterator[list[str]]:
    """Collect the names of all calls to DynamoDB in the block, by any thread, without retries."""
    names: list[str] = []
    really = Client.call

    def call(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        if client.service is DYNAMODB:
            names.append(operation)
        return really(client, operation, **parameters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "call", call)
        yield names


WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")


@contextmanager
def write_units() -> Iterator[list[tuple[str, float]]]:
    """Table and units of each write until it ends, indexes included, by whatever thread."""
    charged: list[tuple[str, float]] = []
    really = Client.call

    def call(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        if operation not in WRITES:
            return really(client, operation, **parameters)
        answer = really(client, operation, **{**parameters, "ReturnConsumedCapacity": "TOTAL"})
        consumed = answer.get("ConsumedCapacity", [])
        tables = consumed if isinstance(consumed, list) else [consumed]
        charged.extend((table["TableName"].rsplit("-", 1)[-1], table["CapacityUnits"]) for table in tables)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "call", call)
        yield charged
