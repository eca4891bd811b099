"""The time the sweep takes to catch up: many payments of unknown outcome, a dead acquirer, an outage.

`python -m infra.bench.sweep`, and a part of `make bench ARGS=sweep`: it takes about ten minutes. The schedule is
simulated: run n begins n minutes after the first. A run takes the time it takes; acquirers answer in a second.
"""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

from chalicelib.domain.acquirer import AcquirerAnswer, AnswerLostError, ReversalRequest
from chalicelib.domain.merchant import MerchantSnapshot
from chalicelib.domain.money import Currency
from chalicelib.domain.transaction import AgentSnapshot, InputType, Phase, Transaction
from chalicelib.gateways import acquirers
from chalicelib.services import due_work, payment_sweep
from chalicelib.settings import settings
from infra.bench.shop import write_in_bulk
from infra.local import engines

LATENCY_SECONDS = 1
PAYMENTS, OTHERS = 3_000, 100
OUTAGE_MINUTES, PAYMENTS_A_SECOND = 10, 5
AGENTS = 50
MAX_RUNS = 120
MINUTE = timedelta(minutes=1)


@dataclass
class BenchAcquirer:
    """An acquirer that has approved every payment, and answers after a second or not at all."""

    answers: bool = True
    quiet: timedelta = MINUTE
    asked: list[float] = field(default_factory=list)  # when

    def inquire(self, _: str, within_s: float) -> AcquirerAnswer:
        """Return the approval, or raise AnswerLostError when the time is over."""
        time.sleep(LATENCY_SECONDS if self.answers else within_s)
        self.asked.append(time.monotonic())
        if not self.answers:
            raise AnswerLostError
        return AcquirerAnswer(0, "Approved", "123456", uuid.uuid4().hex[:12])

    def reverse(self, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
        """Do the same."""
        return self.inquire(request.reference, within_s)


def print_sweep() -> None:
    """Print the three cases, on the DynamoDB Local that was selected before."""
    print(
        f"\nThe sweep, {settings().sweep_concurrency} at once, an answer takes {LATENCY_SECONDS} s, a run each minute:"
    )
    start = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    _print_many_unknown(start + timedelta(hours=1))
    _print_one_dead(start + timedelta(hours=4))
    _print_outage(start + timedelta(hours=8))


def _print_many_unknown(start: datetime) -> None:
    with _acquirers(MANY=BenchAcquirer()):
        write_in_bulk(_unknown("MANY", PAYMENTS, start - 2 * MINUTE, MINUTE))
        runs, taken = _run_until_resolved(start, PAYMENTS)
    print(f"  {PAYMENTS:,} payments of unknown outcome are resolved in {runs} runs, {_text(taken)}.")


def _print_one_dead(start: datetime) -> None:
    dead, living = BenchAcquirer(answers=False), BenchAcquirer()
    with _acquirers(DEAD=dead, LIVING=living):
        write_in_bulk(_unknown("DEAD", PAYMENTS, start - 3 * MINUTE, MINUTE))
        for run in range(2):
            now = start + run * MINUTE
            write_in_bulk(_unknown("LIVING", OTHERS, now - 2 * MINUTE, MINUTE))
            began, before = time.monotonic(), len(dead.asked)
            swept = payment_sweep.run(now)
            seconds = max(living.asked) - began
            print(
                f"  Run {run + 1} with one acquirer dead, {PAYMENTS:,} of its payments due: {len(dead.asked) - before} "
                f"tried, {len(living.asked) - run * OTHERS} of {OTHERS} of another resolved after {seconds:.0f} s; "
                f"the run took {time.monotonic() - began:.0f} s, behind by {swept.behind_seconds} s."
            )


def _print_outage(start: datetime) -> None:
    acquirer = BenchAcquirer(answers=False)
    number = 60 * PAYMENTS_A_SECOND
    with _acquirers(OUT=acquirer):
        for minute in range(OUTAGE_MINUTES):
            now = start + minute * MINUTE
            write_in_bulk(_unknown("OUT", number, now - MINUTE, MINUTE))
            payment_sweep.run(now)
        tried, acquirer.answers = len(acquirer.asked), True
        runs, taken = _run_until_resolved(start + OUTAGE_MINUTES * MINUTE, OUTAGE_MINUTES * number)
    print(
        f"  {OUTAGE_MINUTES} minutes of outage at {PAYMENTS_A_SECOND} payments a second, {tried} tried in that time: "
        f"caught up in {runs} runs, {_text(taken)} after its end."
    )


def _run_until_resolved(start: datetime, number: int) -> tuple[int, float]:
    """Run the sweep once a minute until so many are resolved; return the runs, and the seconds to the end of the last.

    Whatever is resolved was asked about once, because each of these payments is found.
    """
    resolved = 0
    for run in range(MAX_RUNS):
        began = time.monotonic()
        swept = payment_sweep.run(start + run * MINUTE)
        seconds = time.monotonic() - began
        resolved += swept.done
        print(f"    run {run + 1}: {swept.done:,} in {seconds:.0f} s, behind by {swept.behind_seconds} s")
        if resolved >= number:
            return run + 1, run * 60 + seconds
    message = f"{resolved} of {number} are resolved after {MAX_RUNS} runs"
    raise RuntimeError(message)


def _unknown(acquirer: str, number: int, first: datetime, during: timedelta) -> Iterator[Transaction]:
    """Yield card payments whose answers were lost, spread evenly over a time."""
    for index in range(number):
        at = first + during * index / number
        agent = index % AGENTS + 1
        yield Transaction(
            id=str(uuid.uuid4()).upper(),
            client_id=900_000_000,
            agent=AgentSnapshot(agent, f"agent-{agent}@bench.example", f"Agent {agent}", "+27829876543"),
            terminal_id=agent,
            terminal_name=f"BENCH{agent:03d}",
            phase=Phase.UNKNOWN,
            input_type=InputType.CHIP,
            acquirer=acquirer,
            currency=Currency("ZAR", "710", 2),
            amount_minor=1230,
            created_at=at,
            deadline=first + timedelta(days=1),
            gmt=2,
            fingerprint="0" * 32,
            invoice=f"{index:012d}",
            merchant=MerchantSnapshot("Bench", "1 Long Street", "+27829876543"),
            raw_request="d" * 1200,
        )


@contextmanager
def _acquirers(**bench: BenchAcquirer) -> Iterator[None]:
    """Make these the acquirers there are, until the block ends, of a process that remembers none of them."""
    acquirers.named.cache_clear()
    due_work.memory.cache_clear()
    with patch.object(acquirers, "KNOWN", {code: lambda one=one: one for code, one in bench.items()}):
        yield
    acquirers.named.cache_clear()


def _text(seconds: float) -> str:
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def main() -> None:
    """Print it, measured on a DynamoDB Local of its own."""
    with engines.moto_engine(), engines.dynamodb_local() as url:
        engines.select(url)
        print_sweep()


if __name__ == "__main__":
    main()
