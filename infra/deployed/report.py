"""The costs of the functions of a stage while it served."""

import statistics
from collections.abc import Iterable

from infra.deployed.functions import Function
from infra.deployed.instance import Cost
from infra.deployed.stage import Stage

COLUMNS = ("instances", "init", "first answer", "answers", "warm p50", "peak MB")


def print_report(stage: Stage) -> None:
    """Print a line for each function: medians of milliseconds on the clock, and of processor time in brackets."""
    print(f"\n{'ms (of processor time)':16}" + "".join(f"{column:>18}" for column in COLUMNS))
    for function in stage.functions.values():
        print(f"{function.name:16}" + "".join(f"{text:>18}" for text in _columns(function)))


def _columns(function: Function) -> tuple[str, ...]:
    instances = [instance for instance in function.started if instance.init]
    firsts = [instance.first for instance in instances if instance.first]
    warm = [outcome.cost for outcome in function.outcomes if outcome.cost not in firsts]
    return (
        str(len(function.started)),
        _medians(instance.init for instance in instances if instance.init),
        _medians(firsts),
        str(len(function.outcomes)),
        _medians(warm),
        f"{max((instance.peak_mb for instance in instances), default=0):.0f} of {function.memory_mb}",
    )


def _medians(costs: Iterable[Cost]) -> str:
    found = list(costs)
    if not found:
        return "-"
    wall = statistics.median(cost.wall_ms for cost in found)
    return f"{wall:.1f} ({statistics.median(cost.cpu_ms for cost in found):.1f})"
