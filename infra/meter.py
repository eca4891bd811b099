"""What the store is asked, and what it costs: calls and capacity units, as the store itself reports them."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def metered() -> Iterator[Counter[str]]:
    """Until it ends, every DynamoDB call is counted, with the units it took: calls, RCU, WCU."""
    from chalicelib.store.table import client  # noqa: PLC0415  its settings are there once the engine is

    meter: Counter[str] = Counter()
    events = client().meta.events

    def ask(params: dict[str, Any], **_: Any) -> None:
        params["ReturnConsumedCapacity"] = "TOTAL"

    def read(parsed: dict[str, Any], model: Any, **_: Any) -> None:
        consumed = parsed.get("ConsumedCapacity") or []
        unit = "RCU" if model.name in {"GetItem", "BatchGetItem", "Query"} else "WCU"
        units = sum(one["CapacityUnits"] for one in (consumed if isinstance(consumed, list) else [consumed]))
        meter.update({"calls": 1, unit: units, model.name: 1})

    events.register("provide-client-params.dynamodb.*", ask, unique_id="bench-ask")
    events.register("after-call.dynamodb.*", read, unique_id="bench-read")
    try:
        yield meter
    finally:
        events.unregister("provide-client-params.dynamodb.*", unique_id="bench-ask")
        events.unregister("after-call.dynamodb.*", unique_id="bench-read")
