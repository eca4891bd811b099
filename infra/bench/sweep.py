"""The time in which the sweep resolves many payments of unknown outcome: `make bench ARGS=sweep`, four minutes.

The schedule is simulated: run n begins n minutes after the first. A run takes the time it takes; the acquirer answers
in a second.
"""

import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

from chalicelib.domain.acquirer import AcquirerAnswer
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import InputType, Result, Transaction
from chalicelib.gateways import acquirers
from chalicelib.services import lane_runner, payment_sweep
from chalicelib.settings import settings
from infra.bench.shop import create_shop, write_in_bulk

LATENCY_SECONDS = 1
ACQUIRER, PAYMENTS = "BENCH", 3_000
AGENTS = 50
MAX_RUNS = 120
MINUTE = timedelta(minutes=1)


class BenchAcquirer:
    """An acquirer that has approved every payment, and answers after a second."""

    can_inquire = True
    links_cards = False
    quiet = MINUTE

    def inquire(self, _: str, within_s: float) -> AcquirerAnswer:
        """Return the approval."""
        del within_s
        time.sleep(LATENCY_SECONDS)
        return AcquirerAnswer(0, "Approved", "123456", uuid.uuid4().hex[:12])


def print_sweep() -> None:
    """Print how long the sweep takes to catch up, on the DynamoDB Local that was selected before."""
    start = datetime.now(UTC).replace(hour=1, minute=0, second=0, microsecond=0)
    print(f"\nThe sweep, {settings().sweep_concurrency} at once, a run each minute:")
    acquirers.named.cache_clear()
    lane_runner.memory.cache_clear()
    with patch.object(acquirers, "KNOWN", {ACQUIRER: BenchAcquirer}):
        write_in_bulk(_unknown_payments(start - 2 * MINUTE))
        runs, seconds = _run_until_resolved(start)
    acquirers.named.cache_clear()
    taken = f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    print(f"  {PAYMENTS:,} payments of unknown outcome are resolved in {runs} runs, {taken}.")


def _run_until_resolved(start: datetime) -> tuple[int, float]:
    """Run the sweep once a minute until all are resolved; return the runs, and the seconds to the end of the last."""
    resolved = 0
    for run in range(MAX_RUNS):
        began = time.monotonic()
        swept = payment_sweep.run(start + run * MINUTE)
        seconds = time.monotonic() - began
        resolved += swept.done
        print(f"    run {run + 1}: {swept.done:,} in {seconds:.0f} s, behind by {swept.behind_seconds} s")
        if resolved >= PAYMENTS:
            return run + 1, run * 60 + seconds
    message = f"{resolved} of {PAYMENTS} are resolved after {MAX_RUNS} runs"
    raise RuntimeError(message)


def _unknown_payments(first: datetime) -> Iterator[Transaction]:
    """Yield card payments whose answers were lost, spread evenly over a minute."""
    for index, payment in enumerate(create_shop(AGENTS).payments(PAYMENTS)):
        yield replace(
            payment,
            phase=Phase.UNKNOWN,
            input_type=InputType.CHIP,
            acquirer=ACQUIRER,
            created_at=first + MINUTE * index / PAYMENTS,
            deadline=first + timedelta(days=1),
            result=Result(),
        )
