"""Alarms and metrics: what each of them is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
