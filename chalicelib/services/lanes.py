"""Work side by side: each lane has work of its own, and a lane whose acquirer is silent holds up no other.

The rules (shares, circuit breakers) are in `domain.circuit_breaker`. Threads carry out the work; everything else, the
reading of what is due included, is done by the caller's thread.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from chalicelib.domain.circuit_breaker import Breaker, Use, may_begin, may_continue, share
from chalicelib.record import Record
from chalicelib.store.due_index import Due

THREAD_NAME = "sweep"


class Done(Record):
    """The result of one entry: whether it was due, whether it failed, and which requests the acquirer answered."""

    was_due: bool = False
    failed: bool = False
    answers: tuple[bool, ...] = ()


@dataclass
class Lane:
    """The entries of one acquirer, or of none, in their order; `head` is the next."""

    name: str
    due: Iterator[Due]
    breaker: Breaker = field(default_factory=Breaker)
    use: Use = field(default_factory=Use)
    begun: int = 0
    done: int = 0
    failed: list[Due] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read the first entry."""
        self.head = next(self.due, None)

    @property
    def is_waiting(self) -> bool:
        """Return whether it has an entry that this run may still begin."""
        return self.head is not None and may_continue(self.breaker, self.use)

    def take(self) -> Due | None:
        """Return the next entry, which begins now."""
        entry, self.head = self.head, next(self.due, None)
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


def drain(
    lanes: Sequence[Lane], work: Callable[[Due], Done], pool: Executor, threads: int, may_go_on: Callable[[], bool]
) -> None:
    """Carry out the work of the lanes until none is waiting or `may_go_on` says no; wait for what was begun.

    Whatever ends a worker, other than an entry that failed, is raised here.
    """
    running: dict[Future[Done], tuple[Lane, Due]] = {}
    while True:
        lane = _next(lanes, threads) if len(running) < threads and may_go_on() else None
        if lane and (entry := lane.take()):
            running[pool.submit(work, entry)] = (lane, entry)
        elif running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                finished, entry = running.pop(future)
                finished.note(entry, future.result())
        else:
            return


def _next(lanes: Sequence[Lane], threads: int) -> Lane | None:
    """Return the lane that begins its next entry: of those below their share, the one that has least in progress."""
    waiting = [lane for lane in lanes if lane.is_waiting]
    most = share(threads, len(waiting))
    ready = [lane for lane in waiting if may_begin(lane.breaker, lane.use, most)]
    return min(ready, key=lambda lane: (lane.use.running, lane.begun), default=None)
