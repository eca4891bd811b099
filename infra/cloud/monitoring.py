"""The CloudFormation resources that monitor a stage: metric filters, alarms, their topic, and the dashboard."""

import json
from typing import Any

from infra.cloud.alarm import NAMESPACE, Alarm, MetricFilter
from infra.cloud.alarms import ALARMS, METRIC_FILTERS

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
