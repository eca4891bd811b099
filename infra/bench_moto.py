"""A cash payment on moto, after few payments and after many: the default local stage must not slow down.

A part of `make bench ARGS=moto`.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

from infra.lambda_client import LambdaClient

SUBMIT = "/api/v1/payment/submit"
SIZES = (100, 1_000, 5_000)  # payments that were taken before
WINDOW = 100


def print_moto(agent: LambdaClient, payment: Callable[[], dict[str, Any]]) -> None:
    """Print the median time of the latest payments at each size, on the moto of this process with its demo data."""
    wall_ms: list[float] = []
    medians = {}
    print(f"\nA cash payment on moto, p50 of the last {WINDOW}:")
    for number in range(1, max(SIZES) + 1):
        body = payment()
        started = time.perf_counter()
        agent.call("POST", SUBMIT, body)
        wall_ms.append((time.perf_counter() - started) * 1000)
        if number in SIZES:
            medians[number] = statistics.median(wall_ms[-WINDOW:])
            print(f"  after {number:>5,} payments {medians[number]:>6.1f} ms")
    print(f"  ratio of the last and the first: {medians[SIZES[-1]] / medians[SIZES[0]]:.2f}")
