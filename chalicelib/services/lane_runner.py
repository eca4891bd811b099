"""The runner of due work: one lane per receiver, side by side, so that a silent receiver delays no other.

The sweeps of payments, messages and deliveries use it. Each has its own way to read a lane and to make an attempt. Some
runs take only the work that is due when they begin; others also wait for work that becomes due later. Each lane has an
equal share of the threads and a circuit breaker (`domain.circuit_breaker`). The process remembers the breakers from run
to run. Threads make the attempts. The caller's thread does everything else, also the reading of due work.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeVar

from chalicelib.domain.circuit_breaker import Breaker, Use, may_begin, may_continue, share
from chalicelib.errors import ServiceError
from chalicelib.log import log, log_defect
from chalicelib.record import Record
from chalicelib.store.due_index import Due
from chalicelib.store.table import UnreadableError

THREAD_NAME = "sweep"
LOOK_EACH = 1.0  # seconds between two readings of a lane, in a run that waits
LOOKS_A_SECOND = 100  # over all lanes

R = TypeVar("R")


class Limits(Record):
    """The limits of a run: it begins no attempt after `seconds`, and at most `most` attempts.

    A run that `waits` continues while work becomes due within its time.
    """

    seconds: float
    threads: int
    most: int | None = None
    waits: bool = False


class Done(Record):
    """The result of one attempt: whether the entry was due, for each request whether an answer came, and a defect."""

    was_due: bool = False
    answers: tuple[bool, ...] = ()
    defect: Exception | None = None


Attempt = Callable[[Due, datetime], Done]  # of an entry, at a time


class Swept(Record):
    """The results of a run: the attempts, the age of the oldest work left, and the reasons why it is left."""

    done: int = 0
    behind_seconds: int = 0
    is_unfinished: bool = False  # the time ran out
    silent: tuple[str, ...] = ()  # lanes of receivers that do not answer


@dataclass
class Memory:
    """The breakers of each kind of work, by lane. A new process learns them again at the cost of a few time-outs."""

    breakers: dict[str, dict[str, Breaker]] = field(default_factory=dict)


@cache
def memory() -> Memory:
    """Return the memory that this process keeps between runs."""
    return Memory()


@dataclass
class Lane:
    """The work for one receiver, or the work without a receiver, the longest due first. `head` is the next entry.

    `due` reads the entries that are due at a time. `next_due` reads when the next entry becomes due.
    """

    name: str
    due: Callable[[datetime], Iterator[Due]]
    attempt: Attempt
    next_due: Callable[[], datetime | None] = field(default=lambda: None)
    breaker: Breaker = field(default_factory=Breaker)
    use: Use = field(default_factory=Use)
    entries: Iterator[Due] = field(default_factory=lambda: iter(()))
    head: Due | None = None
    next_at: datetime | None = None  # when the next entry becomes due
    begun: int = 0
    done: int = 0
    failed: list[Due] = field(default_factory=list)

    def look(self, now: datetime) -> None:
        """Read all due entries. Failed entries that are still due come again."""
        self.entries = self.due(now)
        self.head = next(self.entries, None)
        self.next_at = None if self.head else self.next_due()
        self.failed = []

    def only_count(self) -> None:
        """Count failures, but keep sending to a silent receiver."""
        self.breaker = replace(self.breaker, holds=False)

    @property
    def is_waiting(self) -> bool:
        """Return whether the lane has an entry that this run may still begin."""
        return self.head is not None and may_continue(self.breaker, self.use)

    def take(self) -> Due | None:
        """Return the next entry and count it as running."""
        entry, self.head = self.head, next(self.entries, None)
        self.begun += 1
        self.use = Use(self.use.running + 1, self.use.tried)
        return entry

    def note(self, entry: Due, done: Done) -> None:
        """Count the result of an attempt, also in the lane's breaker."""
        for answered in done.answers:
            self.breaker = self.breaker.after(answered=answered)
        self.use = Use(self.use.running - 1, self.use.tried or bool(done.answers))
        self.done += done.was_due
        if done.defect:
            self.failed.append(entry)


class Run:
    """One run over lanes: its clock, its limits and its threads."""

    def __init__(self, kind: str, now: datetime, limits: Limits, pool: Executor) -> None:
        self._kind, self._limits, self._pool = kind, limits, pool
        self._began_at, self._began = now, time.monotonic()
        self._running: dict[Future[Done], tuple[Lane, Due]] = {}
        self._looked = self._began
        self.lanes: list[Lane] = []

    def add(self, lane: Lane) -> Lane:
        """Add a lane with its remembered breaker, and read the entries that were due when the run began."""
        lane.breaker = memory().breakers.get(self._kind, {}).get(lane.name, lane.breaker)
        lane.look(self._began_at)
        self.lanes.append(lane)
        return lane

    def drain(self, seconds: float | None = None) -> None:
        """Make the attempts until no entry waits or the time is over; wait for the running attempts.

        Raise every error that an attempt does not handle itself.
        """
        until = self._limits.seconds if seconds is None else min(seconds, self._limits.seconds)
        while True:
            self._look_again(until)
            while lane := self._next(until):
                self._begin(lane)
            if self._running:
                self._finish()
            elif self._limits.waits and self._elapsed() < until and self._is_something_coming():
                time.sleep(self._pause)
            else:
                return

    def swept(self, *, counts_silent: bool = True) -> Swept:
        """Remember the breakers and return the results. `counts_silent`: count silent lanes as behind."""
        memory().breakers[self._kind] = {lane.name: lane.breaker for lane in self.lanes}
        counted = [lane for lane in self.lanes if counts_silent or not lane.breaker.is_open]
        left = [entry.since for lane in counted for entry in (*lane.failed, lane.head) if entry]
        return Swept(
            sum(lane.done for lane in self.lanes),
            max(0, int((self._now() - min(left)).total_seconds())) if left else 0,
            any(lane.is_waiting for lane in self.lanes),
            tuple(lane.name for lane in self.lanes if lane.breaker.is_open),
        )

    def _now(self) -> datetime:
        return self._began_at + timedelta(seconds=self._elapsed())

    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    @property
    def _pause(self) -> float:
        return max(LOOK_EACH, len(self.lanes) / LOOKS_A_SECOND)

    def _look_again(self, until: float) -> None:
        """Read the empty lanes again, in a run that waits."""
        if self._limits.waits and self._elapsed() < until and time.monotonic() >= self._looked + self._pause:
            for lane in self.lanes:
                if lane.head is None:
                    lane.look(self._now())
            self._looked = time.monotonic()

    def _is_something_coming(self) -> bool:
        """Return whether an entry becomes due before the run ends."""
        ends_at = self._began_at + timedelta(seconds=self._limits.seconds)
        return any(lane.next_at and lane.next_at <= ends_at for lane in self.lanes)

    def _next(self, until: float) -> Lane | None:
        """Return the lane that begins its next entry: the least busy lane below its share."""
        if len(self._running) >= self._limits.threads or self._elapsed() >= until:
            return None
        if self._limits.most is not None and sum(lane.begun for lane in self.lanes) >= self._limits.most:
            return None
        waiting = [lane for lane in self.lanes if lane.is_waiting]
        most = share(self._limits.threads, len(waiting))
        ready = [lane for lane in waiting if may_begin(lane.breaker, lane.use, most)]
        return min(ready, key=lambda lane: (lane.use.running, lane.begun), default=None)

    def _begin(self, lane: Lane) -> None:
        if entry := lane.take():
            self._running[self._pool.submit(self._attempt, lane, entry)] = (lane, entry)

    def _finish(self) -> None:
        """Wait until at least one attempt ends, and count the results."""
        ended = wait(
            self._running, timeout=self._pause if self._limits.waits else None, return_when=FIRST_COMPLETED
        ).done
        for future in ended:
            lane, entry = self._running.pop(future)
            lane.note(entry, future.result())

    def _attempt(self, lane: Lane, entry: Due) -> Done:
        """Make one attempt. Log a defect: it stops no other attempt, and the entry is due again later."""
        try:
            done = lane.attempt(entry, self._now())
        except UnreadableError as wrong:  # it is due until an operator repairs it
            log("unreadable", lane=lane.name, record=entry.name, reason=wrong.reason)
            return Done(was_due=True)
        except Exception as defect:  # noqa: BLE001  see the docstring
            done = Done(was_due=True, defect=defect)
        if done.defect:
            log_defect(done.defect, lane=lane.name, **{self._kind: entry.name})
        return done


@contextmanager
def running(kind: str, now: datetime, limits: Limits) -> Iterator[Run]:
    """Run the block with a run of one kind of work; at its end, wait for the run's threads."""
    with workers(limits.threads) as pool:
        yield Run(kind, now, limits, pool)


class CallersThread(Executor):
    """An executor without threads: work runs in the caller's thread, and exceptions reach the caller."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run the function now."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def workers(threads: int) -> AbstractContextManager[Executor]:
    """Return an executor with this number of threads. Leaving its context waits for their work."""
    return CallersThread() if threads == 1 else ThreadPoolExecutor(threads, thread_name_prefix=THREAD_NAME)


Image = Mapping[str, Any]  # a stored item


def begin_each(records: Sequence[tuple[str, Image]], begin: Callable[[Image], R]) -> tuple[list[R], list[str]]:
    """Begin the work of each stream record: a pair of its sequence number and the stored item.

    Return the results, and the numbers of the records that must come again, because the store was unavailable.
    """
    begun, failed = [], []
    for number, image in records:
        try:
            begun.append(begin(image))
        except UnreadableError as wrong:
            log("unreadable", number=number, reason=wrong.reason)
        except ServiceError as outage:  # the store is unavailable
            log_defect(outage, number=number)
            failed.append(number)
    return begun, failed
