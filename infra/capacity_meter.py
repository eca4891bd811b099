"""What the store is asked, and what it costs: calls and capacity units, as DynamoDB Local reports them.

Of a transaction it reports one item of each table; what it reports is counted once for each of the table's items.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

READS = frozenset({"GetItem", "BatchGetItem", "Query"})


@contextlib.contextmanager
def metered() -> Iterator[Counter[str]]:
    """Until it ends, every DynamoDB call is counted, with the units it took: calls, RCU, WCU."""
    from chalicelib.store.table import client  # noqa: PLC0415  its settings are there once the engine is

    meter: Counter[str] = Counter()
    items: Counter[str] = Counter()  # of the transaction that was asked for last, by table
    events = client().meta.events

    def ask(params: dict[str, Any], **_: Any) -> None:
        params["ReturnConsumedCapacity"] = "TOTAL"
        items.clear()
        items.update(part["TableName"] for item in params.get("TransactItems", []) for part in item.values())

    def read(parsed: dict[str, Any], model: Any, **_: Any) -> None:
        consumed = parsed.get("ConsumedCapacity") or []
        tables = consumed if isinstance(consumed, list) else [consumed]
        units = sum(table["CapacityUnits"] * (items[table["TableName"]] or 1) for table in tables)
        meter.update({"calls": 1, "RCU" if model.name in READS else "WCU": units, model.name: 1})

    events.register("provide-client-params.dynamodb.*", ask, unique_id="bench-ask")
    events.register("after-call.dynamodb.*", read, unique_id="bench-read")
    try:
        yield meter
    finally:
        events.unregister("provide-client-params.dynamodb.*", unique_id="bench-ask")
        events.unregister("after-call.dynamodb.*", unique_id="bench-read")
