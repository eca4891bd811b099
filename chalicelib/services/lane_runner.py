"""The runner of due work: a thread for each lane, so that a silent receiver delays no other.

A lane is the work for one receiver (an acquirer, a webhook, the senders of e-mail), or work without a receiver. The
sweeps of payments, messages and deliveries use it. Each has its own way to make an attempt.
`begin_each` begins the work of the records of a stream.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from chalicelib import outside
from chalicelib.errors import ServiceError
from chalicelib.log import log, log_defect
from chalicelib.store import due_records
from chalicelib.store.due_records import Due
from chalicelib.store.table import Item, UnreadableError

R = TypeVar("R")

THREAD_NAME = "sweep"
LANES_AT_ONCE = 150  # five webhooks of thirty merchants; Lambda allows 1,024 threads
OPENS_AFTER = 5  # requests in a row without an answer: the receiver is silent
LOOK_EACH = 1.0  # seconds between two readings of a lane, in a run that waits


@dataclass(frozen=True)
class Done:
    """The result of one attempt: whether the entry was due, for each request whether an answer came, and a defect."""

    was_due: bool = False
    answers: tuple[bool, ...] = ()
    defect: Exception | None = None


Attempt = Callable[[Due, datetime], Done]  # of an entry, at a time


@dataclass(frozen=True)
class Swept:
    """The results of a run: the attempts, the age of the oldest work left, and the reasons why it is left."""

    done: int = 0
    behind_seconds: int = 0
    is_unfinished: bool = False  # the time ran out
    silent: tuple[str, ...] = ()  # lanes of receivers that do not answer
    oldest: tuple[str, Due] | None = field(default=None, compare=False)  # work that is left, with its table


def oldest_of(swept: Swept) -> dict[str, Any]:
    """Return the name and the owner of the oldest work that a run left, for the log; nothing if it left none."""
    return {"oldest": swept.oldest[1].name, **due_records.owner_of(*swept.oldest)} if swept.oldest else {}


@outside.made_once
def memory() -> dict[str, int]:
    """Return the number of requests in a row without an answer, by lane: the circuit breakers.

    The process remembers them from run to run. A new process learns them again at the cost of a few time-outs.
    """
    return {}


@dataclass
class Lane:
    """The work for one receiver, in the lane `name` of a table's due index. So many attempts run at once.

    Any answer of the receiver counts, also a refusal. A run tries a silent receiver once, and leaves the other work of
    the lane, if the lane `spares` it.
    """

    name: str
    table: str
    attempt: Attempt
    threads: int = 1
    spares: Callable[[str], bool] = lambda _: True  # by its name
    done: int = 0
    left: dict[str, Due] = field(default_factory=dict)  # due, but not done, by name
    is_tried: bool = False  # a request was sent in this run
    is_unfinished: bool = False  # the time ran out
    _lock: Lock = field(default_factory=Lock)

    @property
    def is_silent(self) -> bool:
        """Return whether the receiver gave no answer to the latest requests."""
        return memory().get(self.name, 0) >= OPENS_AFTER

    @property
    def is_spared(self) -> bool:
        """Return whether the run leaves the rest of the lane."""
        return self.is_silent and self.is_tried and self.spares(self.name)

    def note(self, done: Done) -> None:
        """Count the result of an attempt."""
        with self._lock:
            for answered in done.answers:
                memory()[self.name] = 0 if answered else memory().get(self.name, 0) + 1
            self.is_tried = self.is_tried or bool(done.answers)
            self.done += done.was_due


class Run:
    """One run over lanes of one kind of work, which begins no attempt after `seconds`.

    It takes the work that is due when it begins. A run that `waits` also takes work that becomes due in its time.
    """

    def __init__(self, kind: str, now: datetime, seconds: float, *, waits: bool = False) -> None:
        self._kind, self._seconds, self._waits = kind, seconds, waits
        self._began_at, self._began = now, outside.current.elapsed()
        self._lanes: list[Lane] = []

    def drain(self, lanes: Sequence[Lane], seconds: float | None = None) -> None:
        """Make the attempts of these lanes side by side. Raise every error that an attempt does not handle itself."""
        self._lanes += lanes
        until = self._seconds if seconds is None else min(seconds, self._seconds)
        with ThreadPoolExecutor(min(len(lanes), LANES_AT_ONCE) or 1, THREAD_NAME) as pool:
            list(pool.map(partial(self._drain, until), lanes))

    def swept(self, *, counts_silent: bool = True) -> Swept:
        """Return the results. `counts_silent`: count the lanes of silent receivers as behind."""
        counted = [lane for lane in self._lanes if counts_silent or not lane.is_silent]
        left = ((lane.table, entry) for lane in counted for entry in lane.left.values())
        oldest = min(left, key=lambda one: one[1].since, default=None)
        return Swept(
            sum(lane.done for lane in self._lanes),
            max(0, int((self._now() - oldest[1].since).total_seconds())) if oldest else 0,
            any(lane.is_unfinished for lane in self._lanes),
            tuple(lane.name for lane in self._lanes if lane.is_silent),
            oldest,
        )

    def _now(self) -> datetime:
        return self._began_at + timedelta(seconds=self._elapsed())

    def _elapsed(self) -> float:
        return outside.current.elapsed() - self._began

    def _drain(self, until: float, lane: Lane) -> None:
        """Make the attempts of a lane. In a run that waits, read it again while it lists new work."""
        horizon = self._began_at + timedelta(seconds=until if self._waits else 0)
        seen: set[tuple[str, datetime]] = set()
        while True:
            now, listed = self._now(), due_records.of_lane(lane.table, lane.name, horizon)
            new = [entry for entry in listed if (entry.name, entry.since) not in seen]
            due = [entry for entry in new if entry.since <= now]
            seen |= {(entry.name, entry.since) for entry in due}
            with ThreadPoolExecutor(1 if lane.is_silent else lane.threads, THREAD_NAME) as pool:
                results = list(pool.map(partial(self._attempt, until, lane), due))
            for entry, done in zip(due, results, strict=True):
                lane.left.pop(entry.name, None)
                if done is None or done.defect:
                    lane.left[entry.name] = entry
            lane.is_unfinished |= None in results and not lane.is_spared
            if not (self._waits and new) or lane.is_spared or self._elapsed() + LOOK_EACH > until:
                return
            outside.current.pause(LOOK_EACH)

    def _attempt(self, until: float, lane: Lane, entry: Due) -> Done | None:
        """Make one attempt. Return None without one: the time is over, or the receiver is spared.

        Log a defect: it stops no other attempt, and the entry is due again later.
        """
        if self._elapsed() >= until or lane.is_spared:
            return None
        try:
            done = lane.attempt(entry, self._now())
        except UnreadableError as wrong:  # it is due until an operator repairs it
            log("unreadable", lane=lane.name, record=entry.name, reason=wrong.reason)
            done = Done(was_due=True)
        except Exception as defect:  # noqa: BLE001  see the docstring
            done = Done(was_due=True, defect=defect)
        if done.defect:
            log_defect(done.defect, lane=lane.name, **{self._kind: entry.name})
        lane.note(done)
        return done


def begin_each(records: Sequence[tuple[str, Item]], begin: Callable[[Item], R]) -> tuple[list[R], list[str]]:
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
