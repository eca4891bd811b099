"""The alarms of events and of the streams, with the action to take on each."""

from infra.cloud.alarm import Alarm, MetricFilter, lambda_metric

SENDING = ("DeliverEvents", "SweepEvents")

EVENT_FILTERS = (
    *(MetricFilter("EventDefects", function, '{ $.event = "defect" }') for function in SENDING),
    MetricFilter("EventsBehindSeconds", "SweepEvents", '{ $.event = "sweep" }', "$.behind_seconds"),
)
EVENT_ALARMS = (
    Alarm(
        "EventSweepFails",
        "The sweep of events ends in an error.",
        "Look at the log of `sweep-events`. Events that failed once are late; what was just stored is still sent by "
        "`deliver-events`, and payments are not affected.",
        **lambda_metric("Errors", "SweepEvents"),
        minutes=(3, 5),
    ),
    Alarm(
        "EventSweepSilent",
        "The sweep of events has not run for five minutes.",
        "See whether its schedule is enabled, and whether the account has concurrency left.",
        **lambda_metric("Invocations", "SweepEvents"),
        minutes=(5, 5),
        below=True,
    ),
    Alarm(
        "EventsBehind",
        "Events have been due for an hour.",
        "Group the lines `delivery` of `sweep-events` by `webhook`. One with many failures waits for its own receiver, "
        "of which its merchant is told by e-mail; if all wait, see whether the function runs into its time limit.",
        "EventsBehindSeconds",
        statistic="Maximum",
        threshold=3600,
        minutes=(5, 5),
    ),
    Alarm(
        "EventDefects",
        "Sending an event raised an unexpected error.",
        "The line `defect` of `deliver-events` or `sweep-events` has the type and the frames. The event is sent later.",
        "EventDefects",
    ),
    Alarm(
        "EventStreamBehind",
        "Events wait in the stream of their table for a minute: webhooks get them late.",
        "Look at the log of `deliver-events`: receivers that are slow (`milliseconds`), or a store that is out of "
        "reach. The sweep of events sends what is older than ten seconds.",
        **lambda_metric("IteratorAge", "DeliverEvents"),
        statistic="Maximum",
        threshold=60_000,
        minutes=(3, 5),
    ),
    Alarm(
        "OutboxStreamBehind",
        "Messages wait in the stream of their table for a minute: receipts are late.",
        "Look at the log of `deliver-outbox`: the line `outbox` has the reason. The sweep of the outbox sends what is "
        "older than a minute.",
        **lambda_metric("IteratorAge", "DeliverOutbox"),
        statistic="Maximum",
        threshold=60_000,
        minutes=(3, 5),
    ),
    Alarm(
        "StreamRecordsLost",
        "Lambda gave records of a stream up: they are reported in the queue LostRecords.",
        "The sweeps do what they ask for; see that `EventsBehind` and `OutboxBehind` are quiet. Look for the `defect` "
        "of that time, correct it, and delete the messages.",
        "ApproximateNumberOfMessagesVisible",
        "AWS/SQS",
        {"QueueName": {"Fn::GetAtt": ["LostRecords", "QueueName"]}},
        statistic="Maximum",
    ),
)
