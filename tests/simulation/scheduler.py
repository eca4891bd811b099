"""Tasks of a scenario: one runs at a time, on a clock that jumps to whoever is next.

A task runs in a greenlet until it waits; then the one whose time is the earliest goes on. Everything it draws, it
draws from chance of its own, made of the seed and its name: what one task draws, no other task changes.
"""

import random
from collections.abc import Callable
from contextvars import Context
from functools import cached_property
from heapq import heappop, heappush

import greenlet

FOREVER = 1e9  # seconds: longer than any scenario


class DiedError(BaseException):
    """The process ends here. Nothing in the service catches it, as nothing catches a power cut."""


class EndlessError(Exception):
    """A scenario that does not end."""


class Task:
    """A function that runs by itself, and its chance."""

    def __init__(self, name: str, seed: str, function: Callable[[], None]) -> None:
        self.name, self._seed, self.function = name, seed, function
        self.instance: object | None = None  # the process it runs in, if it is one of the service's
        self.faults = 0
        self.ticket = 0
        self.is_over = False
        self.greenlet: greenlet.greenlet | None = None  # once it runs

    @cached_property
    def chance(self) -> random.Random:
        """What it draws from; most tasks draw nothing."""
        return chance_of(self._seed, self.name)


def chance_of(seed: str, name: str) -> random.Random:
    """Return the chance that belongs to a name in the scenario of a seed."""
    return random.Random(f"{seed}/{name}")  # noqa: S311  the order of a test, not a secret


class Scheduler:
    """The tasks of one scenario, in the order of their times. `now` are seconds since the scenario began."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.now = 0.0
        self.most_steps = 400_000
        self.current: Task | None = None
        self.failure: BaseException | None = None
        self.failed_task: str | None = None  # the one that raised it
        self._queue: list[tuple[float, int, int, Task]] = []
        self._order = 0
        self._steps = 0
        self._idle: list[greenlet.greenlet] = []
        self._hub = greenlet.getcurrent()

    def spawn(self, name: str, function: Callable[[], None], at: float | None = None) -> Task:
        """Begin a task, now or at that time."""
        task = Task(name, self.seed, function)
        self._enqueue(self.now if at is None else max(at, self.now), task)
        return task

    def chance_of(self, name: str) -> random.Random:
        """Return the chance that belongs to a name in this scenario."""
        return chance_of(self.seed, name)

    def run(self) -> None:
        """Run until no task waits for a time; raise what one of them raised."""
        while self._queue and self.failure is None:
            at, _, ticket, task = heappop(self._queue)
            if ticket != task.ticket or task.is_over:
                continue
            self._steps += 1
            if at >= FOREVER or self._steps > self.most_steps:
                self._enqueue(at, task)
                waiting = {one.name for _, _, number, one in self._queue if number == one.ticket and not one.is_over}
                message = f"{self._steps:,} steps, and these tasks still wait: {', '.join(sorted(waiting))}"
                raise EndlessError(message)
            self.now, self.current = at, task
            if task.greenlet is None:  # its parent is the hub, which goes on when it ends
                task.greenlet = self._idle.pop() if self._idle else greenlet.greenlet(self._work)
                task.greenlet.gr_context = Context()
            task.greenlet.switch()
            self.current = None
        if self.failure is not None:
            raise self.failure

    def pause(self, seconds: float) -> None:
        """Let the present task go on in so many seconds."""
        self._sleep(self.now + seconds)

    def park(self, until: float) -> None:
        """Let the present task go on at that time, or when it is woken."""
        self._sleep(until)

    def wake(self, task: Task) -> None:
        """Let a parked task go on now."""
        if not task.is_over:
            task.ticket += 1
            self._enqueue(self.now, task)

    def end(self, task: Task) -> None:
        """End a task, wherever it waits."""
        if not task.is_over:
            task.is_over = True
            if task.greenlet:
                task.greenlet.parent = greenlet.getcurrent()
                task.greenlet.throw(greenlet.GreenletExit)

    def _sleep(self, until: float) -> None:
        task = self.current
        if task is None:
            self.now = max(self.now, until)  # before the scenario begins nobody else is there
            return
        is_next = not self._queue or self._queue[0][0] > until
        if is_next and until < FOREVER and self._steps < self.most_steps:
            self._steps += 1
            self.now = until
        else:
            task.ticket += 1
            self._enqueue(until, task)
            self._hub.switch()

    def _enqueue(self, at: float, task: Task) -> None:
        self._order += 1
        heappush(self._queue, (at, self._order, task.ticket, task))

    def _work(self) -> None:
        """Run the present task, and then any other that begins: a new greenlet costs more than most tasks."""
        while task := self.current:
            self._run(task)
            self._idle.append(greenlet.getcurrent())
            self._hub.switch()

    def _run(self, task: Task) -> None:
        try:
            task.function()
        except greenlet.GreenletExit:
            raise
        except BaseException as failure:  # noqa: BLE001  raised again by `run`
            self.failure, self.failed_task = self.failure or failure, self.failed_task or task.name
        finally:
            task.is_over = True

    def abandon(self) -> None:
        """End the tasks that still wait, and what they ran in."""
        for _, _, _, task in self._queue:
            self.end(task)
        for idle in self._idle:
            idle.throw(greenlet.GreenletExit)
