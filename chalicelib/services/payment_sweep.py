"""The sweep of payments: what is due is resolved. Two sweeps at once share the work, they do not repeat it.

A run takes what was due when it began: first what needs no acquirer, then the lanes of the acquirers side by side. What
it does not come to is for the next run, which begins with what has been due for longest.
"""

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache

from chalicelib.domain.circuit_breaker import Breaker
from chalicelib.domain.transaction import Phase
from chalicelib.gateways import acquirers
from chalicelib.log import log, log_defect
from chalicelib.record import Record
from chalicelib.services import acquirer_answers, outcomes
from chalicelib.services.lanes import Done, Lane, drain, workers
from chalicelib.settings import settings
from chalicelib.store import due_index, transactions
from chalicelib.store.due_index import NO_ACQUIRER, Due

SECONDS = 42  # after which a run begins no other: the last may wait for three answers of 5 s, and a run has 58
FIRST_SECONDS = 20  # of them at most before the acquirers' turn
EMPTY_LOOKS = 10  # after so many runs without one, a process looks no more for transactions that have no lane


class Swept(Record):
    """The results of a run, and what it left: for how long the oldest of it has been due, and why."""

    payments: int
    behind_seconds: int = 0
    is_unfinished: bool = False  # its time was over
    silent: tuple[str, ...] = ()  # acquirers that do not answer: one transaction a run is tried


@dataclass
class Memory:
    """The memory of this process from run to run. A new one learns it again, at the price of a few time-outs."""

    breakers: dict[str, Breaker] = field(default_factory=dict)
    empty_looks: int = 0


@cache
def memory() -> Memory:
    """Return the memory of this process."""
    return Memory()


def run(now: datetime, limit: int | None = None, seconds: float = SECONDS) -> Swept:
    """Resolve what is due, longest due first: at most `limit`, and none begun after so many seconds."""
    threads = settings().sweep_concurrency
    with workers(threads) as pool:
        return _Run(now, limit, seconds, pool, threads).swept()


class _Run:
    """One run: its clock, its limits and its threads."""

    def __init__(self, now: datetime, limit: int | None, seconds: float, pool: Executor, threads: int) -> None:
        self._due_until = now
        self._began = time.monotonic()
        self._seconds = seconds
        self._limit = limit
        self._pool, self._threads = pool, threads
        self._lanes: list[Lane] = []

    def swept(self) -> Swept:
        """Carry it out."""
        self._move_to_lanes()
        first = self._lane(NO_ACQUIRER)
        self._drain([first], FIRST_SECONDS)
        lanes = [self._lane(code) for code in acquirers.KNOWN]
        self._drain([first, *lanes], self._seconds)

        memory().breakers = {lane.name: lane.breaker for lane in lanes}
        left = [entry.since for lane in self._lanes for entry in (*lane.failed, lane.head) if entry]
        silent = tuple(lane.name for lane in lanes if lane.breaker.is_open)
        for code in silent:
            log("acquirer_silent", acquirer=code)
        return Swept(
            sum(lane.done for lane in self._lanes),
            max(0, int((self._now() - min(left)).total_seconds())) if left else 0,
            any(lane.is_waiting for lane in self._lanes),
            silent,
        )

    def _now(self) -> datetime:
        return self._due_until + timedelta(seconds=self._elapsed())

    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def _lane(self, name: str) -> Lane:
        due = due_index.of_lane(transactions.TABLE, name, self._due_until)
        lane = Lane(name, due, memory().breakers.get(name, Breaker()))
        if lane.head and name != NO_ACQUIRER:  # without one the acquirer is not loaded
            # An advice has to leave within 90 s and each minute: a host that is silent gets all that are due.
            lane.breaker = replace(lane.breaker, holds=acquirers.named(name).can_inquire)
        self._lanes.append(lane)
        return lane

    def _drain(self, lanes: Sequence[Lane], seconds: float) -> None:
        def may_go_on() -> bool:
            begun = sum(lane.begun for lane in lanes)
            return self._elapsed() < min(seconds, self._seconds) and (self._limit is None or begun < self._limit)

        drain(lanes, self._resolve, self._pool, self._threads, may_go_on)

    def _resolve(self, entry: Due) -> Done:
        """Resolve one transaction, if it is still due. A failure stops none of the others; it is due again later."""
        with acquirer_answers.collected() as answers:
            try:
                was_due = self._resolve_if_due(entry.id)
            except Exception as defect:  # noqa: BLE001  see the docstring
                log_defect(defect, transaction=entry.id)
                return Done(was_due=True, failed=True, answers=tuple(answers))
        return Done(was_due=was_due, answers=tuple(answers))

    def _resolve_if_due(self, transaction_id: str) -> bool:
        now = self._now()
        transaction = transactions.get_due(transaction_id, now)
        if transaction is None:
            return False
        after = outcomes.resolve(transaction, now)
        if after.phase is Phase.AUTO_CANCELLING:
            log("reversal_outstanding", transaction=after.id, acquirer=after.acquirer)
        if after.is_pending and now >= after.deadline:
            log("overdue", transaction=after.id, phase=after.phase)
        return True

    def _move_to_lanes(self) -> None:
        """Move the transactions that version 1.0 stored to their lanes, as long as there are any."""
        if memory().empty_looks >= EMPTY_LOOKS:
            return
        lane = Lane("", due_index.without_lane(transactions.TABLE))
        self._lanes.append(lane)
        memory().empty_looks = 0 if lane.head else memory().empty_looks + 1
        until = min(FIRST_SECONDS, self._seconds)
        drain([lane], self._move_to_lane, self._pool, self._threads, lambda: self._elapsed() < until)

    def _move_to_lane(self, entry: Due) -> Done:
        try:
            transactions.move_to_lane(entry.id, entry.shard)
        except Exception as defect:  # noqa: BLE001  it is moved by the next run
            log_defect(defect, transaction=entry.id)
            return Done(failed=True)
        return Done()
