"""Threads of a simulated process: side by side in its time, and gone with it."""

from collections.abc import Callable

import pytest

from tests.simulation.scheduler import DiedError, Scheduler
from tests.simulation.threads import Threads


def in_a_scenario(function: Callable[[Scheduler], None]) -> float:
    """Run a function as a task, and return when the scenario ended."""
    scheduler = Scheduler("1")
    scheduler.spawn("process", lambda: function(scheduler))
    scheduler.run()
    return scheduler.now


def test_as_many_calls_are_made_at_once_as_there_are_threads() -> None:
    def process(scheduler: Scheduler) -> None:
        def call(seconds: float) -> float:
            scheduler.pause(seconds)
            return seconds

        with Threads(scheduler, 2) as pool:
            assert list(pool.map(call, (3, 4, 5))) == [3, 4, 5]

    assert in_a_scenario(process) == 8  # the third begins when the first is done


def test_what_dies_in_a_thread_ends_the_process_and_all_its_threads() -> None:
    reached: list[str] = []

    def die() -> None:
        raise DiedError

    def process(scheduler: Scheduler) -> None:
        def last() -> None:
            scheduler.pause(5)
            reached.append("the other thread")

        with Threads(scheduler, 2) as pool:
            pool.submit(last)
            pool.submit(die).result()

    with pytest.raises(DiedError):
        in_a_scenario(process)
    assert reached == []


def test_a_call_that_has_begun_is_waited_for_after_another_failed() -> None:
    def process(scheduler: Scheduler) -> None:
        def call(seconds: float) -> float:
            scheduler.pause(seconds)
            return 1 / (seconds - 1)

        with pytest.raises(ZeroDivisionError), Threads(scheduler, 2) as pool:
            list(pool.map(call, (1, 3, 5, 7)))  # the last has not begun when the first fails

    assert in_a_scenario(process) == 6
