"""A meter of the calls to DynamoDB and the capacity units they cost, as DynamoDB Local reports them.

For a transaction DynamoDB Local reports the units of one item of each table; the meter counts them for every item. For
a query that finds nothing it reports none; DynamoDB charges the least, which the meter counts.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from chalicelib.aws.client import DYNAMODB, Client

READS = frozenset({"GetItem", "BatchGetItem", "Query"})


@contextlib.contextmanager
def measure_capacity() -> Iterator[Counter[str]]:
    """Count every DynamoDB call until the block ends, with the units it took: `calls`, `RCU`, `WCU`."""
    meter: Counter[str] = Counter()
    really = Client.call

    def call(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
        if client.service is not DYNAMODB:
            return really(client, operation, **parameters)
        items = Counter(part["TableName"] for item in parameters.get("TransactItems", []) for part in item.values())
        answer = really(client, operation, **{**parameters, "ReturnConsumedCapacity": "TOTAL"})
        consumed = answer.get("ConsumedCapacity") or []
        tables = consumed if isinstance(consumed, list) else [consumed]
        units = sum(table["CapacityUnits"] * (items[table["TableName"]] or 1) for table in tables)
        if operation == "Query":
            units = max(units, 1 if parameters.get("ConsistentRead") else 0.5)
        meter.update({"calls": 1, "RCU" if operation in READS else "WCU": units, operation: 1})
        return answer

    with patch.object(Client, "call", call):
        yield meter
