"""The alarms, metrics and dashboard of a stage, from `alarms.json`.

The file lists the metrics that are read from log lines, and the alarms with the action to take on each.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

NAMESPACE = {"Fn::Sub": "Payments/${AWS::StackName}"}


@dataclass(frozen=True)
class MetricFilter:
    """A metric that counts the log lines of a function, or of the access log, that match a pattern.

    Several filters may share a metric. `value` is the weight of a line, or one of its fields.
    """

    metric: str
    function: str
    pattern: str
    value: str = "1"
    otherwise: float | None = None  # the value of a minute with other lines only
    condition: str = ""


@dataclass(frozen=True)
class Alarm:
    """A condition on a metric, its meaning, and what the operator does: at once (a page), or in the morning.

    `first` is one act that needs no console, `tell` the words for the shops, `then` the rest, which may use the query.
    """

    name: str
    level: Literal["page", "ticket"]
    meaning: str
    first: str
    tell: str
    then: str
    logs: Sequence[str]
    query: str
    metric: str
    function: str = ""  # whose metric in AWS/Lambda it is
    namespace: str = ""  # of AWS; without it the metric is one of the filters
    dimensions: Mapping[str, Any] = field(default_factory=dict)
    expression: Any = None  # of metric math, over the metric `m`
    condition: str = ""
    statistic: str = "Sum"
    threshold: float = 1
    period: int = 60  # seconds
    periods: Sequence[int] = (1, 1)  # (3, 5): in 3 of the last 5 periods
    below: bool = False  # alarm for values below the threshold
    silence_rings: bool = False  # a period without a value counts as well


DEFINITIONS = json.loads(Path(__file__).with_name("alarms.json").read_text(encoding="utf-8"))
METRIC_FILTERS = tuple(
    MetricFilter(function=function, **{key: value for key, value in one.items() if key != "functions"})
    for one in DEFINITIONS["filters"]
    for function in one["functions"]
)
ALARMS = tuple(Alarm(**one) for one in DEFINITIONS["alarms"])
# Saved queries: of each alarm, and those of the guides. Their name, the functions whose logs they read, and the query.
QUERIES: tuple[tuple[str, Sequence[str], str], ...] = tuple(
    (one["name"], one["logs"], one["query"]) for one in (*DEFINITIONS["alarms"], *DEFINITIONS["queries"])
)
PERIOD_SECONDS = 60  # of the dashboard
TOPICS = {"page": "Alerts", "ticket": "Tickets"}


def monitoring_resources() -> dict[str, Any]:
    """Return the resources, by logical ID."""
    key = {"KmsMasterKeyId": {"Fn::GetAtt": ["Key", "Arn"]}}
    topics = {name: {"Type": "AWS::SNS::Topic", "Properties": key} for name in TOPICS.values()}
    filters = {_name(one): _metric_filter(one) for one in METRIC_FILTERS}
    alarms = {f"{alarm.name}Alarm": _alarm(alarm) for alarm in ALARMS}
    queries = {f"{name}Query": _query(name, logs, query) for name, logs, query in QUERIES}
    return topics | filters | alarms | queries | {"Dashboard": _dashboard()}


def _name(one: MetricFilter) -> str:
    """Return the logical ID of a filter. Those of one metric and one log have a number from the second on."""
    alike = [other for other in METRIC_FILTERS if (other.metric, other.function) == (one.metric, one.function)]
    number = alike.index(one)
    return f"{one.metric}Of{one.function}" + (str(number + 1) if number else "")


def _metric_filter(one: MetricFilter) -> dict[str, Any]:
    transformation: dict[str, Any] = {"MetricName": one.metric, "MetricNamespace": NAMESPACE, "MetricValue": one.value}
    if one.otherwise is not None:
        transformation["DefaultValue"] = one.otherwise
    return {
        "Type": "AWS::Logs::MetricFilter",
        **({"Condition": one.condition} if one.condition else {}),
        "Properties": {
            "LogGroupName": {"Ref": f"{one.function}Logs"},
            "FilterPattern": one.pattern,
            "MetricTransformations": [transformation],
        },
    }


def _query(name: str, logs: Sequence[str], query: str) -> dict[str, Any]:
    """Return a saved query, in a folder with the name of the stack."""
    return {
        "Type": "AWS::Logs::QueryDefinition",
        "Properties": {
            "Name": {"Fn::Sub": f"${{AWS::StackName}}/{name}"},
            "LogGroupNames": [{"Ref": f"{function}Logs"} for function in logs],
            "QueryString": query,
        },
    }


def _alarm(alarm: Alarm) -> dict[str, Any]:
    number, window = alarm.periods
    topic = [{"Ref": TOPICS[alarm.level]}]
    return {
        "Type": "AWS::CloudWatch::Alarm",
        **({"Condition": alarm.condition} if alarm.condition else {}),
        "Properties": {
            "AlarmName": {"Fn::Sub": f"${{AWS::StackName}}-{alarm.name}"},
            "AlarmDescription": (
                f"Meaning: {alarm.meaning}\nFirst: {alarm.first}\nTell the shops: {alarm.tell}\nThen: {alarm.then}"
            ),
            **_observed(alarm),
            "DatapointsToAlarm": number,
            "EvaluationPeriods": window,
            "Threshold": alarm.threshold,
            "ComparisonOperator": "LessThanThreshold" if alarm.below else "GreaterThanOrEqualToThreshold",
            "TreatMissingData": "breaching" if alarm.silence_rings else "notBreaching",
            "AlarmActions": topic,
            "OKActions": topic,
        },
    }


def _observed(alarm: Alarm) -> dict[str, Any]:
    """Return the properties of the metric that an alarm observes, or of its expression."""
    dimensions = {"FunctionName": {"Ref": alarm.function}} if alarm.function else alarm.dimensions
    metric = {
        "Namespace": "AWS/Lambda" if alarm.function else alarm.namespace or NAMESPACE,
        "MetricName": alarm.metric,
        "Dimensions": [{"Name": name, "Value": value} for name, value in dimensions.items()],
    }
    if alarm.expression is None:
        return {**metric, "Statistic": alarm.statistic, "Period": alarm.period}
    stat = {"Metric": metric, "Stat": alarm.statistic, "Period": alarm.period}
    expression = {"Id": "e", "Expression": alarm.expression, "ReturnData": True}
    return {"Metrics": [expression, {"Id": "m", "MetricStat": stat, "ReturnData": False}]}


def _dashboard() -> dict[str, Any]:
    jobs = ("Sweep", "DeliverEvents", "DeliverOutbox", "ProbeHealth")
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
        _widget("From the logs", own),
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
