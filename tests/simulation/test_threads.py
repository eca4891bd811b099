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


@pytest.mark.parametrize("others", [[], [2], [0, 2]], ids=["it alone", "a longer one first", "after a failure"])
def test_what_dies_in_a_thread_ends_the_process_and_all_its_threads(others: list[float]) -> None:
    reached: list[str] = []

    def process(scheduler: Scheduler) -> None:
        def last(seconds: float) -> float:
            scheduler.pause(seconds)
            if seconds:
                reached.append("the other thread")
            return 1 / seconds

        def die() -> None:
            scheduler.pause(1)
            raise DiedError

        with Threads(scheduler, 3) as pool:
            works = [pool.submit(last, seconds) for seconds in others]
            works += [pool.submit(die), pool.submit(last, 5)]
            for work in works:
                work.result()

    with pytest.raises(DiedError):
        in_a_scenario(process)
    assert reached == []


def test_a_process_that_ends_while_it_leaves_a_pool_ends_its_threads() -> None:
    reached: list[str] = []

    def process(scheduler: Scheduler) -> None:
        def last() -> None:
            scheduler.pause(5)
            reached.append("a thread of a thread")

        def inner() -> None:
            with Threads(scheduler, 2) as pool:
                pool.submit(last)

        def die() -> None:
            scheduler.pause(1)
            raise DiedError

        with Threads(scheduler, 2) as pool:
            pool.submit(inner)
            pool.submit(die)

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
