"""The alarms, metrics and dashboard of a stage, from `alarms.json`.

The file lists the metrics that are read from log lines, and the alarms with the action to take on each.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMESPACE = {"Fn::Sub": "Payments/${AWS::StackName}"}


@dataclass(frozen=True)
class MetricFilter:
    """A metric that counts the log lines of a function that match a pattern. Several filters may share a metric."""

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
    function: str = ""  # whose metric in AWS/Lambda it is
    namespace: str = ""  # of AWS; without it the metric is one of the filters
    dimensions: Mapping[str, Any] = field(default_factory=dict)
    statistic: str = "Sum"
    threshold: float = 1
    minutes: Sequence[int] = (1, 1)  # (3, 5): in 3 of the last 5 minutes
    below: bool = False  # alarm for values below the threshold, and when there are none


DEFINITIONS = json.loads(Path(__file__).with_name("alarms.json").read_text(encoding="utf-8"))
METRIC_FILTERS = tuple(
    MetricFilter(function=function, **{key: value for key, value in one.items() if key != "functions"})
    for one in DEFINITIONS["filters"]
    for function in one["functions"]
)
ALARMS = tuple(Alarm(**one) for one in DEFINITIONS["alarms"])
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
    dimensions = {"FunctionName": {"Ref": alarm.function}} if alarm.function else alarm.dimensions
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmName": {"Fn::Sub": f"${{AWS::StackName}}-{alarm.name}"},
            "AlarmDescription": f"{alarm.meaning} {alarm.action}",
            "Namespace": "AWS/Lambda" if alarm.function else alarm.namespace or NAMESPACE,
            "MetricName": alarm.metric,
            "Dimensions": [{"Name": name, "Value": value} for name, value in dimensions.items()],
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
