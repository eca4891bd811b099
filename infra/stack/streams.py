"""The streams of tables: how Lambda reads them, and the queue for records that it gave up."""

import json
from collections.abc import Mapping
from typing import Any

from chalice.app import DynamoDBEventConfig

Template = dict[str, Any]

# Parallel batches of a shard, by the partition of the table, so that merchants do not wait for each other.
BATCHES_AT_ONCE = 10
ATTEMPTS, MAXIMUM_AGE_SECONDS = 10, 3600  # of a batch: then the sweeps do the rest
# Lambda's filters by table: it calls a function only for records that the function needs.
WANTED: dict[str, list[dict[str, Any]]] = {
    "Events": [
        {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"kind": {"S": [{"exists": True}]}}}},
        {"dynamodb": {"NewImage": {"attempts": {"N": ["0"]}}}},  # a delivery
    ],
    "Outbox": [{"eventName": ["INSERT"]}],
}


def source_of(event: DynamoDBEventConfig) -> Template:
    """Return the properties of a function at a stream that Chalice does not set. `stream_arn` names the table."""
    source = {
        "Stream": {"Fn::GetAtt": [event.stream_arn, "StreamArn"]},
        "ParallelizationFactor": BATCHES_AT_ONCE,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "BisectBatchOnFunctionError": True,
        "MaximumRetryAttempts": ATTEMPTS,
        "MaximumRecordAgeInSeconds": MAXIMUM_AGE_SECONDS,
        "DestinationConfig": {"OnFailure": {"Type": "SQS", "Destination": {"Fn::GetAtt": ["LostRecords", "Arn"]}}},
        "FilterCriteria": {"Filters": [{"Pattern": json.dumps(pattern)} for pattern in WANTED[event.stream_arn]]},
    }
    words = "".join(word.capitalize() for word in event.name.split("_"))
    return {"Events": {f"{words}DynamodbEventSource": {"Properties": source}}}


def is_wanted(table: str, record: Mapping[str, Any]) -> bool:
    """Return whether one of the table's filters matches a record, so that Lambda passes it on."""
    return any(_matches(pattern, record) for pattern in WANTED[table])


def _matches(pattern: Mapping[str, Any], found: Any) -> bool:
    """Return whether a record has each name of a pattern, with one of its listed values."""
    return isinstance(found, Mapping) and all(
        _matches(rule, found.get(name))
        if isinstance(rule, Mapping)
        else name in found and (found[name] in rule or {"exists": True} in rule)
        for name, rule in pattern.items()
    )
