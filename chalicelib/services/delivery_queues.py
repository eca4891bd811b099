"""The queues of the webhooks, worked off side by side.

Each has an equal share of the threads, and nobody waits for another's answer. A receiver that gives no answer gets one
attempt a run until it answers. A run waits for what becomes due while it lasts: a pause of seconds is kept in seconds.
"""

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice

from chalicelib.domain import webhook
from chalicelib.domain.circuit_breaker import Breaker, Use, may_begin, share
from chalicelib.domain.delivery import Attempt, queue_of
from chalicelib.domain.webhook import Webhook
from chalicelib.log import log_defect
from chalicelib.record import Record
from chalicelib.services import deliveries
from chalicelib.store import events
from chalicelib.store.due_index import Due

THREADS = 32  # attempts of a run at once
LOOK_EACH = 1.0  # seconds: between two looks at the same queue
LOOKS_A_SECOND = 100  # at all queues together
AHEAD = 250  # entries read at once


class Swept(Record):
    """The results of a run: attempts that were made, and for how long the oldest that is left has been due.

    What waits for a receiver that gives no answer is not counted: its merchant is told.
    """

    attempts: int = 0
    behind_seconds: int = 0


@dataclass
class Memory:
    """The memory of this process from run to run: which receivers give no answer."""

    breakers: dict[str, Breaker] = field(default_factory=dict)


@cache
def memory() -> Memory:
    """Return the memory of this process."""
    return Memory()


@dataclass
class _Queue:
    """The queue of one webhook: what was read of it, and what is in progress."""

    hook: Webhook
    breaker: Breaker
    use: Use = field(default_factory=Use)
    due: deque[Due] = field(default_factory=deque)
    next_at: datetime | None = None  # when something is due that is not yet

    @property
    def name(self) -> str:
        return queue_of(self.hook.client_id, self.hook.id)

    def look(self, now: datetime) -> None:
        """Read what is due, and when the next is."""
        self.due = deque(islice(events.due_in(self.name, now), AHEAD))
        self.next_at = None if self.due else events.next_due(self.name)

    def note(self, made: Attempt | None) -> None:
        """Note what came of an entry."""
        if made:
            self.breaker = self.breaker.after(answered=made.status is not None)
            self.hook = webhook.after_attempt(self.hook, made, datetime.now(UTC))
        self.use = Use(self.use.running - 1, self.use.tried or made is not None)


def work_off(hooks: Sequence[Webhook], seconds: float) -> Swept:
    """Make the attempts that are due, and that become due within so many seconds."""
    queues = [_Queue(hook, memory().breakers.get(queue_of(hook.client_id, hook.id), Breaker())) for hook in hooks]
    with ThreadPoolExecutor(THREADS, thread_name_prefix="deliveries") as pool:
        attempts = _Run(queues, pool, seconds).attempts()
    memory().breakers = {queue.name: queue.breaker for queue in queues}
    left = [queue.due[0].since for queue in queues if queue.due and not queue.breaker.is_open]
    behind = max((datetime.now(UTC) - since for since in left), default=timedelta())
    return Swept(attempts, max(0, int(behind.total_seconds())))


class _Run:
    """One run: its clock and its threads."""

    def __init__(self, queues: Sequence[_Queue], pool: ThreadPoolExecutor, seconds: float) -> None:
        self._queues, self._pool = queues, pool
        self._until = time.monotonic() + seconds
        self._ends_at = datetime.now(UTC) + timedelta(seconds=seconds)
        self._pause = max(LOOK_EACH, len(queues) / LOOKS_A_SECOND)
        self._running: dict[Future[Attempt | None], _Queue] = {}
        self._made = 0

    def attempts(self) -> int:
        """Make them, and return how many."""
        next_look = 0.0
        while True:
            if time.monotonic() >= next_look and self._is_going_on():
                for queue in self._queues:
                    if not queue.due:
                        queue.look(datetime.now(UTC))
                next_look = time.monotonic() + self._pause
            self._begin()
            if self._running:
                self._finish(wait(self._running, timeout=self._pause, return_when=FIRST_COMPLETED).done)
            elif self._is_going_on() and self._is_waiting():
                time.sleep(self._pause)
            else:
                return self._made

    def _is_going_on(self) -> bool:
        return time.monotonic() < self._until

    def _is_waiting(self) -> bool:
        """Return whether something will be due before the run ends."""
        return any(queue.next_at and queue.next_at <= self._ends_at for queue in self._queues)

    def _begin(self) -> None:
        """Begin what is due, as far as there are threads: first where least is in progress."""
        while len(self._running) < THREADS and self._is_going_on():
            waiting = [queue for queue in self._queues if queue.due]
            most = share(THREADS, len(waiting))
            ready = [queue for queue in waiting if may_begin(queue.breaker, queue.use, most)]
            if not ready:
                return
            queue = min(ready, key=lambda one: one.use.running)
            entry = queue.due.popleft()
            queue.use = replace(queue.use, running=queue.use.running + 1)
            self._running[self._pool.submit(_attempt, queue.hook, entry)] = queue

    def _finish(self, done: set[Future[Attempt | None]]) -> None:
        for future in done:
            made = future.result()
            self._running.pop(future).note(made)
            self._made += made is not None


def _attempt(hook: Webhook, entry: Due) -> Attempt | None:
    """Claim what is due and make the attempt; None when there was none to make. A failure stops no other."""
    try:
        job = deliveries.claim(entry.shard, entry.id, hook, datetime.now(UTC))
    except Exception as defect:  # noqa: BLE001  see the docstring
        log_defect(defect, webhook=hook.id)
        return None
    return deliveries.attempt(job) if job else None
