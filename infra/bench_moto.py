"""A cash payment on moto, after few payments and after many: the default local stage must not slow down.

`python -m infra.bench_moto`, and a part of `make bench ARGS=moto`.
"""

import statistics
import time

from app import app
from infra import demo_data, engines
from infra.bench import SUBMIT, authenticate, cash_payment
from infra.lambda_client import LambdaClient

SIZES = (100, 1_000, 5_000)  # payments that were taken before
WINDOW = 100


def print_moto() -> None:
    """Print the median time of the latest payments at each size, on the moto of this process."""
    agent = LambdaClient(app, authenticate())
    wall_ms: list[float] = []
    medians = {}
    print(f"\nA cash payment on moto, p50 of the last {WINDOW}:")
    for number in range(1, max(SIZES) + 1):
        body = cash_payment()
        started = time.perf_counter()
        agent.call("POST", SUBMIT, body)
        wall_ms.append((time.perf_counter() - started) * 1000)
        if number in SIZES:
            medians[number] = statistics.median(wall_ms[-WINDOW:])
            print(f"  after {number:>5,} payments {medians[number]:>6.1f} ms")
    print(f"  ratio of the last and the first: {medians[SIZES[-1]] / medians[SIZES[0]]:.2f}")


def main() -> None:
    """Print it, measured on a moto of its own."""
    with engines.moto_engine():
        demo_data.seed()
        print_moto()


if __name__ == "__main__":
    main()
