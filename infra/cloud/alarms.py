"""What is watched: the figures that are read from the logs, the alarms with what to do about each, the dashboard."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chalicelib.errors import ErrorCode

NAMESPACE = {"Fn::Sub": "Payments/${AWS::StackName}"}
API = {"ApiName": {"Ref": "AWS::StackName"}, "Stage": "api"}
MINUTE = 60


@dataclass(frozen=True)
class Figure:
    """A number read from the log lines of a function that match a pattern."""

    name: str
    function: str
    pattern: str
    value: str = "1"


FIGURES = (
    Figure("Defects", "APIHandler", '{ $.event = "defect" }'),
    Figure("StoreUnavailable", "APIHandler", f"{{ $.error_code = {ErrorCode.STORE_UNAVAILABLE.code} }}"),
    Figure("DependencyUnavailable", "APIHandler", f"{{ $.error_code = {ErrorCode.DEPENDENCY_UNAVAILABLE.code} }}"),
    Figure("SweepDefects", "SweepPayments", '{ $.event = "defect" }'),
    Figure("OverduePayments", "SweepPayments", '{ $.event = "overdue" }'),
    Figure("PaymentsBehindSeconds", "SweepPayments", '{ $.event = "sweep" }', "$.behind_seconds"),
    Figure("OutboxDefects", "SweepOutbox", '{ $.event = "defect" }'),
    Figure("OutboxBehindSeconds", "SweepOutbox", '{ $.event = "sweep" }', "$.behind_seconds"),
    Figure("MessagesGivenUp", "SweepOutbox", '{ $.event = "outbox" && $.outcome = "given up" }'),
)


@dataclass(frozen=True)
class Alarm:
    """When somebody is called, and what that person does."""

    name: str
    means: str
    todo: str
    metric: str
    namespace: Any = field(default_factory=lambda: NAMESPACE)
    dimensions: Mapping[str, Any] = field(default_factory=dict)
    statistic: str = "Sum"
    threshold: float = 1
    of: tuple[int, int] = (1, 1)  # so many minutes of so many
    below: bool = False  # an alarm when the figure is below the threshold, or missing


def _function(metric: str, function: str) -> dict[str, Any]:
    return {"metric": metric, "namespace": "AWS/Lambda", "dimensions": {"FunctionName": {"Ref": function}}}


ALARMS = (
    Alarm(
        "ServerErrors",
        "Callers are answered 500 or 503.",
        "Look for `defect` in the log of `api`: it names the place. 903 is the store (see StoreUnavailable). What was "
        "answered 5xx may have happened: callers send the same again, and it is done once.",
        "5XXError",
        "AWS/ApiGateway",
        API,
        threshold=3,
        of=(2, 3),
    ),
    Alarm(
        "Defects",
        "The API met something it does not know.",
        "The log line has the type and the frames, never a value. Find the request by its request_id; mend, deploy.",
        "Defects",
    ),
    Alarm(
        "Slow",
        "A request took over 25 s; the gateway gives up after 29.",
        "See whom the trace in X-Ray waits for. An acquirer that answers late leaves payments unknown: they settle "
        "themselves, and `PaymentsBehind` says if they do not.",
        **_function("Duration", "APIHandler"),
        statistic="Maximum",
        threshold=25_000,
    ),
    Alarm(
        "Throttled",
        "Requests were turned away for want of concurrency.",
        "Raise ApiConcurrency, or the account's quota; look for a caller who floods.",
        **_function("Throttles", "APIHandler"),
    ),
    Alarm(
        "AuthorizerFails",
        "The authorizer failed: nobody gets in.",
        "Look at the log of `authorizer`: usually the secret or its key is out of reach (a changed key policy, a "
        "deleted secret).",
        **_function("Errors", "Authorizer"),
    ),
    Alarm(
        "StoreUnavailable",
        "DynamoDB did not answer in time, repeatedly.",
        "See the AWS health page. Nothing is half done. If one table alone is throttled, one key is hot.",
        "StoreUnavailable",
        threshold=5,
        of=(2, 3),
    ),
    Alarm(
        "DependencyUnavailable",
        "An acquirer or partner is out of reach; payments are refused, none is in doubt.",
        "Call the acquirer. Cash goes on working.",
        "DependencyUnavailable",
        threshold=5,
        of=(2, 3),
    ),
    Alarm(
        "PaymentSweepFails",
        "The sweep of payments ends in an error.",
        "Look at the log of `sweep-payments`. Until it runs, unknown payments stay unknown; none is lost.",
        **_function("Errors", "SweepPayments"),
        of=(3, 5),
    ),
    Alarm(
        "PaymentSweepSilent",
        "The sweep of payments has not run for five minutes.",
        "See whether its schedule is enabled, and whether the account has concurrency left.",
        **_function("Invocations", "SweepPayments"),
        of=(5, 5),
        below=True,
    ),
    Alarm(
        "PaymentsBehind",
        "Payments have been due for ten minutes: the sweep does not keep up, or one of them cannot be settled.",
        "`python -m infra.operator sweep` takes a run by hand; the log names the transactions whose turn failed.",
        "PaymentsBehindSeconds",
        statistic="Maximum",
        threshold=600,
        of=(3, 3),
    ),
    Alarm(
        "OverduePayments",
        "A payment is still undecided past its Deadline.",
        "It is being reversed at the acquirer until that is acknowledged. The log line `overdue` has its ID: ask the "
        "acquirer by that ID what became of it. Never mark it by hand.",
        "OverduePayments",
        of=(10, 15),
    ),
    Alarm(
        "OutboxSweepFails",
        "The sweep of the outbox ends in an error.",
        "Look at the log of `sweep-outbox`. Receipts wait; no payment does.",
        **_function("Errors", "SweepOutbox"),
        of=(3, 5),
    ),
    Alarm(
        "OutboxSweepSilent",
        "The sweep of the outbox has not run for five minutes.",
        "See whether its schedule is enabled, and whether the account has concurrency left.",
        **_function("Invocations", "SweepOutbox"),
        of=(5, 5),
        below=True,
    ),
    Alarm(
        "OutboxBehind",
        "Messages have been due for ten minutes.",
        "See the reason in the log lines `outbox`: SES in its sandbox, an address that is not verified, a quota.",
        "OutboxBehindSeconds",
        statistic="Maximum",
        threshold=600,
        of=(3, 3),
    ),
)


def resources() -> dict[str, Any]:
    """Figures, alarms, the topic they go to, and the dashboard."""
    topic: dict[str, Any] = {"Alerts": {"Type": "AWS::SNS::Topic", "Properties": {}}}
    figures = {f"{figure.name}Figure": _figure(figure) for figure in FIGURES}
    alarms = {f"{alarm.name}Alarm": _alarm(alarm) for alarm in ALARMS}
    return topic | figures | alarms | {"Dashboard": _dashboard()}


def _figure(figure: Figure) -> dict[str, Any]:
    transformation = {"MetricName": figure.name, "MetricNamespace": NAMESPACE, "MetricValue": figure.value}
    return {
        "Type": "AWS::Logs::MetricFilter",
        "Properties": {
            "LogGroupName": {"Ref": f"{figure.function}Logs"},
            "FilterPattern": figure.pattern,
            "MetricTransformations": [transformation],
        },
    }


def _alarm(alarm: Alarm) -> dict[str, Any]:
    minutes, window = alarm.of
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmName": {"Fn::Sub": f"${{AWS::StackName}}-{alarm.name}"},
            "AlarmDescription": f"{alarm.means} {alarm.todo}",
            "Namespace": alarm.namespace,
            "MetricName": alarm.metric,
            "Dimensions": [{"Name": name, "Value": value} for name, value in alarm.dimensions.items()],
            "Statistic": alarm.statistic,
            "Period": MINUTE,
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
    functions = ("APIHandler", "Authorizer", "SweepPayments", "SweepOutbox")
    api = ["ApiName", "${AWS::StackName}", "Stage", "api"]
    own = [[NAMESPACE["Fn::Sub"], figure.name] for figure in FIGURES]
    widgets = [
        _widget(
            "Requests and refusals", [["AWS/ApiGateway", name, *api] for name in ("Count", "4XXError", "5XXError")]
        ),
        _widget("Latency, ms", [["AWS/ApiGateway", "Latency", *api, {"stat": stat}] for stat in ("p50", "p99")]),
        _widget("Functions, ms", [_lambda("Duration", name, "p99") for name in functions]),
        _widget("Concurrency", [_lambda("ConcurrentExecutions", name, "Maximum") for name in functions]),
        _widget("Behind, s", [[*one, {"stat": "Maximum"}] for one in own if one[1].endswith("Seconds")]),
        _widget("From the logs", [one for one in own if not one[1].endswith("Seconds")]),
    ]
    return {
        "Type": "AWS::CloudWatch::Dashboard",
        "Properties": {
            "DashboardName": {"Ref": "AWS::StackName"},
            "DashboardBody": {"Fn::Sub": json.dumps({"widgets": widgets})},
        },
    }


def _lambda(metric: str, function: str, statistic: str) -> list[Any]:
    return ["AWS/Lambda", metric, "FunctionName", f"${{{function}}}", {"stat": statistic}]


def _widget(title: str, metrics: list[Any]) -> dict[str, Any]:
    look = {"title": title, "metrics": metrics, "region": "${AWS::Region}", "stat": "Sum", "period": MINUTE}
    return {"type": "metric", "width": 12, "height": 6, "properties": look}
