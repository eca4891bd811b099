"""Threads of a process of a scenario: each is a task, and ends when its process dies."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from types import TracebackType
from typing import Any

from tests.simulation.scheduler import FOREVER, Scheduler, Task


class Work(Future[Any]):
    """A call that a thread makes, and what came of it."""

    def __init__(self, threads: "Threads") -> None:
        super().__init__()
        self.threads = threads

    def result(self, timeout: float | None = None) -> Any:
        """Return what the call returned, once it did; raise what it raised."""
        self.threads.wait(self.done)
        return super().result(timeout)


class Threads(Executor):
    """As many threads as `most`, of the process that runs now. A single one is the task that has the work done."""

    def __init__(self, scheduler: Scheduler, most: int) -> None:
        self._scheduler, self._most = scheduler, most
        self._running: set[Task] = set()
        self._waiting: deque[tuple[Work, Callable[[], Any]]] = deque()
        self._joining: Task | None = None
        self._death: BaseException | None = None  # of the process, in one of its threads

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Work:
        """Let a thread call a function, as soon as one is free."""
        work = Work(self)
        if self._most == 1:
            work.set_result(fn(*args, **kwargs))
            return work
        self._waiting.append((work, lambda: fn(*args, **kwargs)))
        self._begin()
        return work

    def _begin(self) -> None:
        while self._waiting and len(self._running) < self._most:
            work, function = self._waiting.popleft()
            if not work.set_running_or_notify_cancel():  # as in a real pool, begun work cannot be cancelled
                continue
            caller = self._scheduler.current
            assert caller is not None
            name = f"{caller.name}.{caller.chance.getrandbits(24):06x}"
            task = self._scheduler.spawn(name, lambda work=work, function=function: self._run(work, function))  # type: ignore[misc]
            task.instance = caller.instance
            self._running.add(task)

    def _run(self, work: Work, function: Callable[[], Any]) -> None:
        """Make a call, in a task of its own."""
        task = self._scheduler.current
        assert task is not None
        try:
            work.set_result(function())
        except BaseException as failure:
            if task.is_over:  # its process died, and it with it
                raise
            if not isinstance(failure, Exception):
                self._death = failure
            work.set_exception(failure)
        self._running.remove(task)
        if self._death is None:
            self._begin()
        if self._joining is not None:
            self._scheduler.wake(self._joining)

    def wait(self, is_over: Callable[[], bool]) -> None:
        """Wait until this is so, which a thread's end may bring about. Die with the process."""
        while self._death is None and not is_over():
            self._joining = self._scheduler.current
            self._scheduler.park(FOREVER)
            self._joining = None
        if self._death is not None:
            raise self._death

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Wait for what was begun; when the process dies, or the scenario is over, nothing of it goes on."""
        del failure, traceback
        try:
            if kind is None or issubclass(kind, Exception):
                self.wait(lambda: not self._running)
        finally:
            for task in list(self._running):
                self._scheduler.end(task)
