"""The alarms and metrics of a stage, with the action to take on each alarm, and its dashboard."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chalicelib.errors import ErrorCode

NAMESPACE = {"Fn::Sub": "Payments/${AWS::StackName}"}


@dataclass(frozen=True)
class MetricFilter:
    """A metric read from those log lines of a function that match a pattern. Several may count in one metric."""

    metric: str
    function: str
    pattern: str
    value: str = "1"


@dataclass(frozen=True)
class Alarm:
    """A condition on a metric, its meaning, and the action the operator takes."""

    name: str
    meaning: str
    action: str
    metric: str
    namespace: Any = field(default_factory=lambda: NAMESPACE)
    dimensions: Mapping[str, Any] = field(default_factory=dict)
    statistic: str = "Sum"
    threshold: float = 1
    minutes: tuple[int, int] = (1, 1)  # (3, 5): in 3 of the last 5 minutes
    below: bool = False  # the alarm is for values below the threshold, and for none at all


def lambda_metric(metric: str, function: str) -> dict[str, Any]:
    """Return the fields of an alarm on a metric that Lambda has of a function."""
    return {"metric": metric, "namespace": "AWS/Lambda", "dimensions": {"FunctionName": {"Ref": function}}}


SENDING = ("DeliverEvents", "SweepEvents")

EVENT_FILTERS = (
    *(MetricFilter("EventDefects", function, '{ $.event = "defect" }') for function in SENDING),
    MetricFilter("EventsBehindSeconds", "SweepEvents", '{ $.event = "sweep" }', "$.behind_seconds"),
)
EVENT_ALARMS = (
    Alarm(
        "EventSweepFails",
        "The sweep of events ends in an error.",
        "Look at the log of `sweep-events`. Events that failed once are late. `deliver-events` still sends new "
        "events, and payments are not affected.",
        **lambda_metric("Errors", "SweepEvents"),
        minutes=(3, 5),
    ),
    Alarm(
        "EventSweepSilent",
        "The sweep of events has not run for five minutes.",
        "Check that its schedule is enabled and that the account has concurrency left.",
        **lambda_metric("Invocations", "SweepEvents"),
        minutes=(5, 5),
        below=True,
    ),
    Alarm(
        "EventsBehind",
        "Events have been due for an hour.",
        "Group the lines `delivery` of `sweep-events` by `webhook`. A webhook with many failures waits for its own "
        "receiver, and its merchant gets an e-mail about it. If all webhooks wait, check whether the function reaches "
        "its time limit.",
        "EventsBehindSeconds",
        statistic="Maximum",
        threshold=3600,
        minutes=(5, 5),
    ),
    Alarm(
        "EventDefects",
        "Sending an event raised an unexpected error.",
        "The line `defect` of `deliver-events` or `sweep-events` has the type and the frames. The sweep sends the "
        "event later.",
        "EventDefects",
    ),
    Alarm(
        "EventStreamBehind",
        "Events wait in the stream of their table for a minute: webhooks get them late.",
        "Look at the log of `deliver-events`: receivers are slow (`milliseconds`), or the store does not answer. The "
        "sweep of events sends events older than ten seconds.",
        **lambda_metric("IteratorAge", "DeliverEvents"),
        statistic="Maximum",
        threshold=60_000,
        minutes=(3, 5),
    ),
    Alarm(
        "OutboxStreamBehind",
        "Messages wait in the stream of their table for a minute: receipts are late.",
        "The line `outbox` in the log of `deliver-outbox` has the reason. The sweep of the outbox sends messages "
        "older than a minute.",
        **lambda_metric("IteratorAge", "DeliverOutbox"),
        statistic="Maximum",
        threshold=60_000,
        minutes=(3, 5),
    ),
    Alarm(
        "StreamRecordsLost",
        "Lambda gave up records of a stream and reported them to the queue LostRecords.",
        "The sweeps send these messages and events: check that `EventsBehind` and `OutboxBehind` are quiet. Find the "
        "`defect` of that time, correct it, and delete the records from the queue.",
        "ApproximateNumberOfMessagesVisible",
        "AWS/SQS",
        {"QueueName": {"Fn::GetAtt": ["LostRecords", "QueueName"]}},
        statistic="Maximum",
    ),
)


SIGNING_IN = ("Authorizer", "APIHandler")  # credentials are checked by the one, session logins by the other
SENDING_MESSAGES = ("DeliverOutbox", "SweepOutbox")
GIVEN_UP = '{ $.event = "outbox" && $.outcome = "given up" }'
MANY_PLACES = '{ $.event = "login_from_many_places" }'
API_DIMENSIONS = {"ApiName": {"Ref": "AWS::StackName"}, "Stage": "api"}


METRIC_FILTERS = (
    *(MetricFilter("Defects", function, '{ $.event = "defect" }') for function in ("APIHandler", "Authorizer")),
    MetricFilter("StoreUnavailable", "APIHandler", f"{{ $.error_code = {ErrorCode.STORE_UNAVAILABLE.code} }}"),
    MetricFilter(
        "DependencyUnavailable", "APIHandler", f"{{ $.error_code = {ErrorCode.DEPENDENCY_UNAVAILABLE.code} }}"
    ),
    MetricFilter("SweepDefects", "SweepPayments", '{ $.event = "defect" }'),
    MetricFilter("OverduePayments", "SweepPayments", '{ $.event = "overdue" }'),
    *(
        MetricFilter("AcquirerAnswersLost", function, '{ $.event = "answer_lost" }')
        for function in ("APIHandler", "SweepPayments")
    ),
    MetricFilter("ReversalsOutstanding", "SweepPayments", '{ $.event = "reversal_outstanding" }'),
    MetricFilter("AcquirersSilent", "SweepPayments", '{ $.event = "acquirer_silent" }'),
    MetricFilter("PaymentsBehindSeconds", "SweepPayments", '{ $.event = "sweep" }', "$.behind_seconds"),
    *(MetricFilter("OutboxDefects", function, '{ $.event = "defect" }') for function in SENDING_MESSAGES),
    MetricFilter("OutboxBehindSeconds", "SweepOutbox", '{ $.event = "sweep" }', "$.behind_seconds"),
    *(MetricFilter("MessagesGivenUp", function, GIVEN_UP) for function in SENDING_MESSAGES),
    *EVENT_FILTERS,
    *(MetricFilter("Denials", function, '{ $.event = "denied" }') for function in SIGNING_IN),
    *(MetricFilter("LoginsFromManyPlaces", function, MANY_PLACES) for function in SIGNING_IN),
)


ALARMS = (
    Alarm(
        "ServerErrors",
        "The service answers 500 or 503.",
        "Look for `defect` in the log of `api`: it names the place in the code. 903 means that the store did not "
        "answer (see StoreUnavailable). A request with a 5xx answer may have been carried out. Callers send it again, "
        "and it takes effect once.",
        "5XXError",
        "AWS/ApiGateway",
        API_DIMENSIONS,
        threshold=3,
        minutes=(2, 3),
    ),
    Alarm(
        "Defects",
        "The API or the authorizer raised an unexpected error.",
        "The log line `defect`, in `api` or `authorizer`, has the type and the frames, never a value. Find the "
        "request by its request_id, correct the defect and deploy.",
        "Defects",
    ),
    Alarm(
        "Slow",
        "A request took over 25 s; the gateway stops waiting after 29.",
        "Find the slow call in the X-Ray trace. A payment has an unknown outcome if its acquirer answers late. The "
        "sweep resolves it; otherwise `PaymentsBehind` rings.",
        **lambda_metric("Duration", "APIHandler"),
        statistic="Maximum",
        threshold=25_000,
    ),
    Alarm(
        "Throttled",
        "Requests were refused because no concurrency was left.",
        "Raise ApiConcurrency, or the account's quota. Look for a caller that sends too many requests.",
        **lambda_metric("Throttles", "APIHandler"),
    ),
    Alarm(
        "AuthorizerFails",
        "The authorizer failed: only callers that API Gateway remembers, for a minute, are admitted.",
        "Look at the log of `authorizer`. Either the store did not answer (see the AWS health page), or the secret or "
        "its key cannot be read: a changed key policy, a deleted secret.",
        **lambda_metric("Errors", "Authorizer"),
    ),
    Alarm(
        "AuthorizerThrottled",
        "Requests were refused because no concurrency was left for the authorizer.",
        "Look in the log `access` for a `source` that sends many credentials, and limit it (AddressRateLimit). If "
        "there is none, raise AuthorizerConcurrency, or the account's quota.",
        **lambda_metric("Throttles", "Authorizer"),
    ),
    Alarm(
        "Denials",
        "Many sign-ins failed within a minute: somebody tries credentials, or many tills have a wrong one.",
        "Group the lines `denied` of `authorizer` and `api` by `source`, `login` and `code`. One source and many "
        "logins: limit it (AddressRateLimit) or block it. One login and many sources: see LoginFromManyPlaces. Many "
        "sources, each with its own login: look for a faulty change of the tills or of the stage.",
        "Denials",
        threshold=50,
    ),
    Alarm(
        "LoginFromManyPlaces",
        "One login was tried from many addresses: somebody guesses its password or knows its credential.",
        "The line `login_from_many_places` has the digest of the login. The lines `denied` with the same `login` have "
        "the addresses. A login locks itself after ten wrong passwords. If some sign-ins succeeded (the `agent` in "
        "the log `access`), ask the merchant. Then give the agent a new password and secret key.",
        "LoginsFromManyPlaces",
    ),
    Alarm(
        "StoreUnavailable",
        "DynamoDB repeatedly did not answer in time.",
        "See the AWS health page. No change is half made. If only one table is throttled, one of its keys gets too "
        "many requests.",
        "StoreUnavailable",
        threshold=5,
        minutes=(2, 3),
    ),
    Alarm(
        "DependencyUnavailable",
        "An acquirer or partner cannot be reached. Payments are refused; none has an unknown outcome.",
        "Call the acquirer. Cash payments still work.",
        "DependencyUnavailable",
        threshold=5,
        minutes=(2, 3),
    ),
    Alarm(
        "PaymentSweepFails",
        "The sweep of payments ends in an error.",
        "Look at the log of `sweep-payments`. A run ends by itself before its 58 s; `Task timed out` means that a "
        "call did not return. Until the sweep runs, unknown outcomes stay unknown. No payment is lost.",
        **lambda_metric("Errors", "SweepPayments"),
        minutes=(3, 5),
    ),
    Alarm(
        "PaymentSweepSilent",
        "The sweep of payments has not run for five minutes.",
        "Check that its schedule is enabled and that the account has concurrency left.",
        **lambda_metric("Invocations", "SweepPayments"),
        minutes=(5, 5),
        below=True,
    ),
    Alarm(
        "PaymentsBehind",
        "Payments have been due for ten minutes: an acquirer does not answer, or an outcome cannot be resolved.",
        "`silent` in the log line `sweep` names silent acquirers. Call them; then the sweep catches up by itself. The "
        "lines `defect` name transactions that failed. `python -m infra.operator sweep` runs the sweep by hand.",
        "PaymentsBehindSeconds",
        statistic="Maximum",
        threshold=600,
        minutes=(3, 3),
    ),
    Alarm(
        "OverduePayments",
        "The outcome of a payment is still unknown after its Deadline.",
        "The sweep sends automatic reversals until the acquirer acknowledges one. The log line `overdue` has the ID of "
        "the payment: ask the acquirer for its outcome. Never change the payment by hand.",
        "OverduePayments",
        minutes=(10, 15),
    ),
    Alarm(
        "AcquirerAnswersLost",
        "Requests to an acquirer got no usable answer: payments have unknown outcomes.",
        "The lines `answer_lost` name the acquirer and the transaction: call the acquirer. Each minute the sweep "
        "inquires about these transactions, or reverses them until the acquirer acknowledges that. Repeat nothing by "
        "hand.",
        "AcquirerAnswersLost",
        threshold=5,
        minutes=(2, 3),
    ),
    Alarm(
        "ReversalsOutstanding",
        "An automatic reversal has not been acknowledged for ten minutes: a customer's money may be held.",
        "The lines `reversal_outstanding` name the transactions. The sweep repeats them each minute until the "
        "acquirer acknowledges them. If it refuses them (the line `refused_advice` has the code), ask the acquirer "
        "for the RRN. Never change the record by hand.",
        "ReversalsOutstanding",
        minutes=(10, 12),
    ),
    Alarm(
        "AcquirersSilent",
        "An acquirer has not answered five requests in a row: its circuit breaker is open.",
        "The line `acquirer_silent` names it. Each run tries one of its payments (of ISO8583 all), and the first "
        "answer closes the breaker. Call the acquirer. Check the route to it: subnets, NAT gateway, certificate.",
        "AcquirersSilent",
        minutes=(3, 5),
    ),
    Alarm(
        "OutboxSweepFails",
        "The sweep of the outbox ends in an error.",
        "Look at the log of `sweep-outbox`. Receipts are late; payments are not affected.",
        **lambda_metric("Errors", "SweepOutbox"),
        minutes=(3, 5),
    ),
    Alarm(
        "OutboxSweepSilent",
        "The sweep of the outbox has not run for five minutes.",
        "Check that its schedule is enabled and that the account has concurrency left.",
        **lambda_metric("Invocations", "SweepOutbox"),
        minutes=(5, 5),
        below=True,
    ),
    Alarm(
        "OutboxBehind",
        "Messages have been due for ten minutes.",
        "The log lines `outbox` have the reason: SES in its sandbox, an unverified address, a quota.",
        "OutboxBehindSeconds",
        statistic="Maximum",
        threshold=600,
        minutes=(3, 3),
    ),
    *EVENT_ALARMS,
)


PERIOD_SECONDS = 60


def monitoring_resources() -> dict[str, Any]:
    """Return the resources, by logical ID."""
    key = {"KmsMasterKeyId": {"Fn::GetAtt": ["Key", "Arn"]}}
    topic: dict[str, Any] = {"Alerts": {"Type": "AWS::SNS::Topic", "Properties": key}}
    filters = {f"{one.metric}Of{one.function}": _metric_filter(one) for one in METRIC_FILTERS}
    alarms = {f"{alarm.name}Alarm": _alarm(alarm) for alarm in ALARMS}
    return topic | filters | alarms | {"Dashboard": _dashboard()}


def _metric_filter(one: MetricFilter) -> dict[str, Any]:
    transformation = {"MetricName": one.metric, "MetricNamespace": NAMESPACE, "MetricValue": one.value}
    return {
        "Type": "AWS::Logs::MetricFilter",
        "Properties": {
            "LogGroupName": {"Ref": f"{one.function}Logs"},
            "FilterPattern": one.pattern,
            "MetricTransformations": [transformation],
        },
    }


def _alarm(alarm: Alarm) -> dict[str, Any]:
    minutes, window = alarm.minutes
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmName": {"Fn::Sub": f"${{AWS::StackName}}-{alarm.name}"},
            "AlarmDescription": f"{alarm.meaning} {alarm.action}",
            "Namespace": alarm.namespace,
            "MetricName": alarm.metric,
            "Dimensions": [{"Name": name, "Value": value} for name, value in alarm.dimensions.items()],
            "Statistic": alarm.statistic,
            "Period": PERIOD_SECONDS,
            "DatapointsToAlarm": minutes,
            "EvaluationPeriods": window,
            "Threshold": alarm.threshold,
            "ComparisonOperator": "LessThanThreshold" if alarm.below else "GreaterThanOrEqualToThreshold",
            "TreatMissingData": "breaching" if alarm.below else "notBreaching",
            "AlarmActions": [{"Ref": "Alerts"}],
            "OKActions": [{"Ref": "Alerts"}],
        },
    }


def _dashboard() -> dict[str, Any]:
    jobs = ("SweepPayments", "SweepOutbox", "SweepEvents", "DeliverEvents", "DeliverOutbox")
    functions = ("APIHandler", "Authorizer", *jobs)
    api = ["ApiName", "${AWS::StackName}", "Stage", "api"]
    own = [[NAMESPACE["Fn::Sub"], metric] for metric in dict.fromkeys(one.metric for one in METRIC_FILTERS)]
    widgets = [
        _widget(
            "Requests and refusals", [["AWS/ApiGateway", name, *api] for name in ("Count", "4XXError", "5XXError")]
        ),
        _widget("Latency, ms", [["AWS/ApiGateway", "Latency", *api, {"stat": stat}] for stat in ("p50", "p99")]),
        _widget("Functions, ms", [_dashboard_metric("Duration", name, "p99") for name in functions]),
        _widget("Concurrency", [_dashboard_metric("ConcurrentExecutions", name, "Maximum") for name in functions]),
        _widget("Behind, s", [[*metric, {"stat": "Maximum"}] for metric in own if metric[1].endswith("Seconds")]),
        _widget("From the logs", [metric for metric in own if not metric[1].endswith("Seconds")]),
    ]
    return {
        "Type": "AWS::CloudWatch::Dashboard",
        "Properties": {
            "DashboardName": {"Ref": "AWS::StackName"},
            "DashboardBody": {"Fn::Sub": json.dumps({"widgets": widgets})},
        },
    }


def _dashboard_metric(metric: str, function: str, statistic: str) -> list[Any]:
    return ["AWS/Lambda", metric, "FunctionName", f"${{{function}}}", {"stat": statistic}]


def _widget(title: str, metrics: list[Any]) -> dict[str, Any]:
    properties = {
        "title": title,
        "metrics": metrics,
        "region": "${AWS::Region}",
        "stat": "Sum",
        "period": PERIOD_SECONDS,
    }
    return {"type": "metric", "width": 12, "height": 6, "properties": properties}
