"""Tasks that take turns on a clock that jumps."""

import pytest

from tests.simulation.scheduler import FOREVER, EndlessError, Scheduler


def test_whoever_is_next_in_time_goes_on() -> None:
    scheduler, seen = Scheduler("1"), []

    def task(name: str, *pauses: float) -> None:
        for seconds in pauses:
            scheduler.pause(seconds)
            seen.append((scheduler.now, name))

    scheduler.spawn("slow", lambda: task("slow", 3, 3))
    scheduler.spawn("quick", lambda: task("quick", 1, 1, 2), at=0.5)
    scheduler.run()

    assert seen == [(1.5, "quick"), (2.5, "quick"), (3, "slow"), (4.5, "quick"), (6, "slow")]


def test_a_task_that_is_parked_goes_on_when_it_is_woken_and_not_again() -> None:
    scheduler, seen = Scheduler("1"), []

    def waiting() -> None:
        scheduler.park(100)
        seen.append(scheduler.now)
        scheduler.pause(200)
        seen.append(scheduler.now)

    task = scheduler.spawn("waiting", waiting)
    scheduler.spawn("waking", lambda: scheduler.wake(task), at=7)
    scheduler.run()

    assert seen == [7, 207]


def test_the_end_of_a_task_wakes_nobody_not_even_who_began_it() -> None:
    scheduler, seen = Scheduler("1"), []

    def beginning() -> None:
        scheduler.spawn("begun", lambda: scheduler.pause(1))
        scheduler.pause(5)
        assert scheduler.current
        seen.append((scheduler.now, scheduler.current.name))

    scheduler.spawn("beginning", beginning)
    scheduler.run()

    assert seen == [(5, "beginning")]


def test_what_a_task_draws_is_changed_by_no_other() -> None:
    def drawn(others: int) -> float:
        scheduler, found = Scheduler("seed"), []
        for number in range(others):
            other = scheduler.spawn(f"other {number}", lambda: None)
            other.chance.random()
        task = scheduler.spawn("one", lambda: None)
        found.append(task.chance.random())
        scheduler.run()
        return found[0]

    assert drawn(0) == drawn(5)


def test_what_a_task_raises_is_raised_and_the_others_end() -> None:
    scheduler = Scheduler("1")
    scheduler.spawn("other", lambda: scheduler.pause(100))
    scheduler.spawn("failing", lambda: dict[str, None]()["missing"], at=1)

    with pytest.raises(KeyError, match="missing"):
        scheduler.run()
    scheduler.abandon()


@pytest.mark.parametrize("others", [0, 1])
def test_a_scenario_that_does_not_end_is_ended(others: int) -> None:
    scheduler = Scheduler("1")
    scheduler.most_steps = 50

    def forever() -> None:
        while True:
            scheduler.pause(1)

    for number in range(others):
        scheduler.spawn(f"other {number}", forever)
    scheduler.spawn("one", forever)

    with pytest.raises(EndlessError, match="still wait: one"):
        scheduler.run()
    scheduler.abandon()


def test_a_scenario_whose_tasks_wait_for_nobody_names_them() -> None:
    scheduler = Scheduler("1")
    for name in ("one", "other"):
        scheduler.spawn(name, lambda: scheduler.park(FOREVER))
    scheduler.spawn("over", lambda: scheduler.pause(1))

    with pytest.raises(EndlessError, match=r"still wait: one, other$"):
        scheduler.run()
    scheduler.abandon()
