"""Lanes of work side by side, without tables."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.circuit_breaker import OPENS_AFTER, Breaker
from chalicelib.services.lanes import Done, Lane, drain, workers
from chalicelib.store.due_index import Due
from tests.acquirers import LONG_AGO
from tests.wire import StoppedError

SECONDS = 10  # more than any of this takes
ANSWERED, SILENT = Done(was_due=True, answers=(True,)), Done(was_due=True, answers=(False,))
SILENT_BREAKER = Breaker(OPENS_AFTER)


def a_lane(name: str, number: int, **facts: Any) -> Lane:
    entries = [Due(f"{name}{index}", LONG_AGO + timedelta(seconds=index), name) for index in range(number)]
    return Lane(name, iter(entries), **facts)


def drained(work: Callable[[Due], Done], *lanes: Lane, threads: int = 4) -> None:
    with workers(threads) as pool:
        drain(lanes, work, pool, threads, lambda: True)


@given(
    sizes=st.lists(st.integers(0, 12), max_size=5),
    threads=st.integers(1, 6),
    silent=st.sets(st.integers(0, 4)),
)
def test_what_answers_is_done_once_in_its_order_and_no_more_at_once_than_there_are_threads(
    sizes: list[int], threads: int, silent: set[int]
) -> None:
    lanes = [a_lane(str(number), size) for number, size in enumerate(sizes)]
    begun: list[str] = []
    at_once: Counter[str] = Counter()
    lock = threading.Lock()

    def work(entry: Due) -> Done:
        with lock:
            begun.append(entry.id)
            at_once["now"] += 1
            at_once["most"] = max(at_once["most"], at_once["now"])
        with lock:
            at_once["now"] -= 1
        return SILENT if int(entry.shard) in silent else ANSWERED

    drained(work, *lanes, threads=threads)

    assert at_once["most"] <= threads
    assert len(set(begun)) == len(begun)
    for number, size in enumerate(sizes):
        own = [one for one in begun if one.startswith(str(number))]
        assert len(own) == size if number not in silent else len(own) <= OPENS_AFTER + threads
        if threads == 1:
            assert own == [f"{number}{index}" for index in range(len(own))]
        assert lanes[number].done == len(own)


def test_a_dead_acquirer_takes_no_thread_of_a_living_one() -> None:
    dead, living = a_lane("dead", 100), a_lane("living", 100)
    all_done = threading.Event()
    done = Counter[str]()

    def work(entry: Due) -> Done:
        if entry.shard == "dead":
            assert all_done.wait(SECONDS), "the living one waits for the dead one"
            return SILENT
        done["living"] += 1
        if done["living"] == 100:
            all_done.set()
        return ANSWERED

    drained(work, dead, living)

    assert living.done == 100
    assert dead.begun <= OPENS_AFTER + 4
    assert dead.breaker.is_open
    assert dead.head is not None


def test_one_that_is_known_to_be_silent_is_tried_once_and_another_goes_on_meanwhile() -> None:
    dead, living = a_lane("dead", 9, breaker=SILENT_BREAKER), a_lane("living", 9)
    at_work = threading.Semaphore(0)

    def work(entry: Due) -> Done:
        if entry.shard == "dead":
            assert all(at_work.acquire(timeout=SECONDS) for _ in range(9))
            return SILENT
        at_work.release()
        return ANSWERED

    drained(work, dead, living)

    assert (dead.begun, living.done) == (1, 9)


def test_one_that_answers_again_gets_everything_at_once() -> None:
    lane = a_lane("back", 50, breaker=SILENT_BREAKER)

    drained(lambda _: ANSWERED, lane)

    assert (lane.done, lane.breaker) == (50, Breaker())


def test_an_entry_that_another_process_has_is_no_try() -> None:
    lane = a_lane("dead", 9, breaker=SILENT_BREAKER)

    drained(lambda entry: Done() if entry.id < "dead3" else SILENT, lane)

    assert lane.begun == 4


def test_alone_one_has_every_thread() -> None:
    together = threading.Barrier(4)

    def work(_: Due) -> Done:
        together.wait(SECONDS)
        return ANSWERED

    drained(work, a_lane("empty", 0), a_lane("only", 8), a_lane("silent", 0, breaker=SILENT_BREAKER))


def test_when_the_time_is_over_nothing_begins_and_what_began_is_waited_for() -> None:
    lane = a_lane("slow", 9)
    begun = threading.Semaphore(0)

    def work(_: Due) -> Done:
        begun.release()
        time.sleep(0.01)
        return ANSWERED

    with workers(4) as pool:
        drain([lane], work, pool, 4, lambda: lane.begun < 6)

    assert (lane.begun, lane.done) == (6, 6)
    assert lane.is_waiting


@pytest.mark.parametrize("threads", [1, 4])
def test_what_ends_a_worker_reaches_the_caller(threads: int) -> None:
    def work(entry: Due) -> Done:
        if entry.id == "lane2":
            raise StoppedError
        return ANSWERED

    lane = a_lane("lane", 100)
    with pytest.raises(StoppedError):
        drained(work, lane, threads=threads)

    assert lane.begun < 100
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sweep")]


def test_with_one_thread_the_work_is_done_in_the_callers() -> None:
    seen: list[int] = []

    def work(_: Due) -> Done:
        seen.append(threading.get_ident())
        return ANSWERED

    drained(work, a_lane("one", 2), a_lane("two", 2), threads=1)

    assert seen == [threading.get_ident()] * 4
