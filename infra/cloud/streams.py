"""The streams of tables: how Lambda reads them, and where it reports what a function did not take in the end."""

from typing import Any

from chalice.app import DynamoDBEventConfig

Template = dict[str, Any]

LOST = "LostRecords"
# Of each shard so many batches at once, by the partition of the table: those of other merchants do not wait.
BATCHES_AT_ONCE = 10
ATTEMPTS, MAXIMUM_AGE_SECONDS = 10, 3600  # of a batch: after that the sweeps do what is left
# The records that a function needs, by the table: what else is written there is not worth a call.
WANTED: dict[str, list[str]] = {
    "Events": [
        '{"eventName": ["INSERT"], "dynamodb": {"NewImage": {"kind": {"S": [{"exists": true}]}}}}',
        '{"dynamodb": {"NewImage": {"is_urgent": {"BOOL": [true]}}}}',
    ],
    "Outbox": ['{"eventName": ["INSERT"]}'],
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
        "DestinationConfig": {"OnFailure": {"Type": "SQS", "Destination": {"Fn::GetAtt": [LOST, "Arn"]}}},
        "FilterCriteria": {"Filters": [{"Pattern": pattern} for pattern in WANTED[event.stream_arn]]},
    }
    words = "".join(word.capitalize() for word in event.name.split("_"))
    return {"Events": {f"{words}DynamodbEventSource": {"Properties": source}}}


def lost_records() -> Template:
    """Return the queue that Lambda reports to. A report names the place in the stream, and holds no record."""
    return {
        LOST: {
            "Type": "AWS::SQS::Queue",
            "Properties": {"SqsManagedSseEnabled": True, "MessageRetentionPeriod": 14 * 86400},
        }
    }
