"""A meter of the calls to DynamoDB and the capacity units they cost, as DynamoDB Local reports them.

For a transaction DynamoDB Local reports the units of one item of each table; the meter counts them for every item.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from chalicelib.store.table import client

READS = frozenset({"GetItem", "BatchGetItem", "Query"})


@contextlib.contextmanager
def measure_capacity() -> Iterator[Counter[str]]:
    """Count every DynamoDB call until the block ends, with the units it took: `calls`, `RCU`, `WCU`."""
    meter: Counter[str] = Counter()
    items: Counter[str] = Counter()  # of the latest transaction, by table
    events = client().meta.events

    def request_units(params: dict[str, Any], **_: Any) -> None:
        params["ReturnConsumedCapacity"] = "TOTAL"
        items.clear()
        items.update(part["TableName"] for item in params.get("TransactItems", []) for part in item.values())

    def add_units(parsed: dict[str, Any], model: Any, **_: Any) -> None:
        consumed = parsed.get("ConsumedCapacity") or []
        tables = consumed if isinstance(consumed, list) else [consumed]
        units = sum(table["CapacityUnits"] * (items[table["TableName"]] or 1) for table in tables)
        meter.update({"calls": 1, "RCU" if model.name in READS else "WCU": units, model.name: 1})

    events.register("provide-client-params.dynamodb.*", request_units, unique_id="request-units")
    events.register("after-call.dynamodb.*", add_units, unique_id="add-units")
    try:
        yield meter
    finally:
        events.unregister("provide-client-params.dynamodb.*", unique_id="request-units")
        events.unregister("after-call.dynamodb.*", unique_id="add-units")
