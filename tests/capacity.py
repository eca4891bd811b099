"""Capacity: write units as DynamoDB Local reports them (moto reports constants)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chalicelib.store.table import client

WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")


@contextmanager
def write_units() -> Iterator[list[tuple[str, float]]]:
    """Table and units of each write until it ends, indexes included, by whatever thread."""
    charged: list[tuple[str, float]] = []

    def ask(params: dict[str, Any], **_: object) -> None:
        params["ReturnConsumedCapacity"] = "TOTAL"

    def note(parsed: dict[str, Any], **_: object) -> None:
        consumed = parsed.get("ConsumedCapacity", [])
        tables = consumed if isinstance(consumed, list) else [consumed]
        charged.extend((table["TableName"].rsplit("-", 1)[-1], table["CapacityUnits"]) for table in tables)

    events = client().meta.events
    for operation in WRITES:
        events.register(f"provide-client-params.dynamodb.{operation}", ask)
        events.register(f"after-call.dynamodb.{operation}", note)
    try:
        yield charged
    finally:
        for operation in WRITES:
            events.unregister(f"provide-client-params.dynamodb.{operation}", ask)
            events.unregister(f"after-call.dynamodb.{operation}", note)
