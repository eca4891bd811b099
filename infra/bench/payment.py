"""The processor time of a payment."""

import statistics
from collections.abc import Callable
from typing import Any

from infra.bench.client import LambdaClient, timed_ms
from infra.bench.table import Table

ROUNDS = 300
WARM_UP_ROUNDS = 20
SUBMIT = "/api/v1/payment/submit"


def processor_table(
    agent: LambdaClient, payment: Callable[[], dict[str, Any]], taxed: Callable[[], dict[str, Any]]
) -> Table:
    """Return the processor time of a cash payment without and with taxes."""
    operations = {
        "a cash payment": lambda: agent.call("POST", SUBMIT, payment()),
        "a cash payment with taxes on its six lines": lambda: agent.call("POST", SUBMIT, taxed()),
    }
    medians = _medians_ms(*operations.values())
    rows = [(name, f"{median:.2f}") for name, median in zip(operations, medians, strict=True)]
    return Table("payment", ("", "processor ms"), rows)


def _medians_ms(*operations: Callable[[], Any]) -> list[float]:
    """Return the median processor time of each operation. They take turns, so a busy machine slows all of them."""
    times: list[list[float]] = [[] for _ in operations]
    for _ in range(WARM_UP_ROUNDS + ROUNDS):
        for operation, spent in zip(operations, times, strict=True):
            spent.append(timed_ms(operation))
    return [statistics.median(spent[WARM_UP_ROUNDS:]) for spent in times]
