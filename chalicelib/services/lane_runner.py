"""The runner of work that is due: lanes side by side, in which a receiver that gives no answer holds up no other.

The sweeps of payments, messages and deliveries use it. They differ in what a lane reads, what one attempt does, and
whether a run takes what was due when it began, or waits for what becomes due while it lasts. Each lane has an equal
share of the threads and a circuit breaker (`domain.circuit_breaker`), which the process remembers from run to run.
Threads make the attempts. The caller's thread does everything else, also the reading of what is due.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from chalicelib.domain.circuit_breaker import Breaker, Use, may_begin, may_continue, share
from chalicelib.errors import ServiceError
from chalicelib.log import log_defect
from chalicelib.record import Record
from chalicelib.store.due_index import Due

THREAD_NAME = "sweep"
LOOK_EACH = 1.0  # seconds: between two readings of the same lane, in a run that waits
LOOKS_A_SECOND = 100  # at all lanes together

# What an attempt is given: the entry, the time, and a list to which it adds, for each request, whether it was answered.
# It returns whether the entry was still due.
Attempt = Callable[[Due, datetime, list[bool]], bool]


class Limits(Record):
    """The limits of a run: it begins no attempt after so many seconds, and `most` in all.

    A run that `waits` goes on as long as something becomes due before its time is over.
    """

    seconds: float
    threads: int
    most: int | None = None
    waits: bool = False


class Done(Record):
    """The result of one attempt: whether the entry was due, whether it failed, which requests were answered."""

    was_due: bool = False
    failed: bool = False
    answers: tuple[bool, ...] = ()


class Swept(Record):
    """The results of a run, and what it left: for how long the oldest of it has been due, and why."""

    done: int = 0
    behind_seconds: int = 0
    is_unfinished: bool = False  # its time was over
    silent: tuple[str, ...] = ()  # lanes whose receiver does not answer


@dataclass
class Memory:
    """The breakers of each kind of work, by lane. A new process learns them again, at the price of a few time-outs."""

    breakers: dict[str, dict[str, Breaker]] = field(default_factory=dict)


@cache
def memory() -> Memory:
    """Return the memory of this process from run to run."""
    return Memory()


@dataclass
class Lane:
    """The work for one receiver, or for none, the longest due first; `head` is the next entry.

    `due` reads what is due at a time. `next_due` reads when the next entry is due, for a run that waits.
    """

    name: str
    due: Callable[[datetime], Iterator[Due]]
    attempt: Attempt
    next_due: Callable[[], datetime | None] = field(default=lambda: None)
    breaker: Breaker = field(default_factory=Breaker)
    use: Use = field(default_factory=Use)
    entries: Iterator[Due] = field(default_factory=lambda: iter(()))
    head: Due | None = None
    next_at: datetime | None = None  # when something is due that is not yet
    begun: int = 0
    done: int = 0
    failed: list[Due] = field(default_factory=list)

    def look(self, now: datetime) -> None:
        """Read what is due: all of it, so that what has failed is read again if it still is."""
        self.entries = self.due(now)
        self.head = next(self.entries, None)
        self.next_at = None if self.head else self.next_due()
        self.failed = []

    def only_count(self) -> None:
        """Hold nothing back while the receiver gives no answer."""
        self.breaker = replace(self.breaker, holds=False)

    @property
    def is_waiting(self) -> bool:
        """Return whether it has an entry that this run may still begin."""
        return self.head is not None and may_continue(self.breaker, self.use)

    def take(self) -> Due | None:
        """Return the next entry, which begins now."""
        entry, self.head = self.head, next(self.entries, None)
        self.begun += 1
        self.use = Use(self.use.running + 1, self.use.tried)
        return entry

    def note(self, entry: Due, done: Done) -> None:
        """Note what came of an entry."""
        for answered in done.answers:
            self.breaker = self.breaker.after(answered=answered)
        self.use = Use(self.use.running - 1, self.use.tried or bool(done.answers))
        self.done += done.was_due
        if done.failed:
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
        """Add a lane, with the breaker that was remembered, and read what was due in it when the run began."""
        lane.breaker = memory().breakers.get(self._kind, {}).get(lane.name, lane.breaker)
        lane.look(self._began_at)
        self.lanes.append(lane)
        return lane

    def drain(self, seconds: float | None = None) -> None:
        """Make the attempts of the lanes until none is waiting or the time is over; wait for those that were begun.

        Whatever ends a thread, other than an attempt that failed, is raised here.
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
        """Remember the breakers, and return the results. `counts_silent`: lanes without answers may be behind, too."""
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
        """Read the lanes that have nothing left, in a run that waits for what becomes due."""
        if self._limits.waits and self._elapsed() < until and time.monotonic() >= self._looked + self._pause:
            for lane in self.lanes:
                if lane.head is None:
                    lane.look(self._now())
            self._looked = time.monotonic()

    def _is_something_coming(self) -> bool:
        """Return whether something will be due before the run ends."""
        ends_at = self._began_at + timedelta(seconds=self._limits.seconds)
        return any(lane.next_at and lane.next_at <= ends_at for lane in self.lanes)

    def _next(self, until: float) -> Lane | None:
        """Return the lane that begins its next entry: of those below their share, the one with least in progress."""
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
        """Wait for the first attempts that end, and note what came of them."""
        ended = wait(
            self._running, timeout=self._pause if self._limits.waits else None, return_when=FIRST_COMPLETED
        ).done
        for future in ended:
            lane, entry = self._running.pop(future)
            lane.note(entry, future.result())

    def _attempt(self, lane: Lane, entry: Due) -> Done:
        """Make one attempt. A failure stops none of the others; the entry is due again later."""
        answers: list[bool] = []
        try:
            was_due = lane.attempt(entry, self._now(), answers)
        except Exception as defect:  # noqa: BLE001  see the docstring
            log_defect(defect, lane=lane.name, **{self._kind: entry.name})
            return Done(was_due=True, failed=True, answers=tuple(answers))
        return Done(was_due=was_due, answers=tuple(answers))


@contextmanager
def running(kind: str, now: datetime, limits: Limits) -> Iterator[Run]:
    """Give the block a run of one kind of work, and wait at its end for what the run's threads have begun."""
    with workers(limits.threads) as pool:
        yield Run(kind, now, limits, pool)


class CallersThread(Executor):
    """An executor without threads: the caller carries out the work itself, and sees every exception."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Carry it out."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def workers(threads: int) -> AbstractContextManager[Executor]:
    """Return the executor of so many threads; its end waits for what they have begun."""
    return CallersThread() if threads == 1 else ThreadPoolExecutor(threads, thread_name_prefix=THREAD_NAME)


Image = Mapping[str, Any]  # an item as it was stored


def begin_each(records: Sequence[tuple[str, Image]], begin: Callable[[Image], None]) -> list[str]:
    """Begin the work of each record of a stream: its number in the stream, and the item that was stored.

    Return the numbers of the records for which the store was out of reach, which must come again.
    """
    failed: list[str] = []
    for number, image in records:
        try:
            begin(image)
        except ServiceError as outage:  # of the store
            log_defect(outage, number=number)
            failed.append(number)
    return failed
