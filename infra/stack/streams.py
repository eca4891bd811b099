"""The streams of tables: how Lambda reads them, and where it reports what a function did not take in the end."""

import json
from collections.abc import Mapping
from typing import Any

from chalice.app import DynamoDBEventConfig

Template = dict[str, Any]

# Of each shard so many batches at once, by the partition of the table: those of other merchants do not wait.
BATCHES_AT_ONCE = 10
ATTEMPTS, MAXIMUM_AGE_SECONDS = 10, 3600  # of a batch: after that the sweeps do what is left
# The records that a function needs, by the table, as Lambda filters them: nothing else is worth a call.
WANTED: dict[str, list[dict[str, Any]]] = {
    "Events": [
        {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"kind": {"S": [{"exists": True}]}}}},
        {"dynamodb": {"NewImage": {"is_urgent": {"BOOL": [True]}}}},
    ],
    "Outbox": [{"eventName": ["INSERT"]}],
}


def source_of(event: DynamoDBEventConfig) -> Template:
    """Return the properties of a function at a stream: what Chalice does not set. Its `stream_arn` names the table."""
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
    """Return whether Lambda would pass a record of a table on: whether one of the table's filters matches it."""
    return any(_matches(pattern, record) for pattern in WANTED[table])


def _matches(pattern: Mapping[str, Any], found: Any) -> bool:
    """Return whether each name of a pattern is there, with one of the values listed for it."""
    return isinstance(found, Mapping) and all(
        _matches(rule, found.get(name))
        if isinstance(rule, Mapping)
        else name in found and (found[name] in rule or {"exists": True} in rule)
        for name, rule in pattern.items()
    )
