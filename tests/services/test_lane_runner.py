"""Lanes of work that is due, side by side, without tables."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.circuit_breaker import OPENS_AFTER, Breaker
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import lane_runner
from chalicelib.services.lane_runner import Done, Lane, Limits, Swept
from chalicelib.store.due_index import Due
from chalicelib.store.table import UnreadableError
from tests.support.acquirers import LONG_AGO
from tests.support.intercepted_calls import StoppedError

SECONDS = 10  # more than any of this takes
MINUTE = timedelta(minutes=1)
NOW = LONG_AGO + MINUTE
ANSWERED, SILENT, NOT_DUE = True, False, None
SILENT_BREAKER = Breaker(OPENS_AFTER)
Work = Callable[[Due], bool | None]


def a_lane(name: str, number: int, *, breaker: Breaker | None = None) -> Lane:
    entries = [
        Due({"id": f"{name}{index}", "lane": name}, LONG_AGO + timedelta(seconds=index)) for index in range(number)
    ]
    return Lane(name, lambda _: iter(entries), lambda *_: Done(), breaker=breaker or Breaker())


def doing(work: Work, lane: Lane) -> Lane:
    """Let the attempts of a lane return what `work` does: whether the receiver answered, or that nothing was due."""

    def attempt(entry: Due, _: datetime) -> Done:
        result = work(entry)
        return Done() if result is None else Done(was_due=True, answers=(result,))

    lane.attempt = attempt
    return lane


def drained(work: Work, *lanes: Lane, threads: int = 4, most: int | None = None) -> Swept:
    with lane_runner.running("test", NOW, Limits(SECONDS, threads, most)) as run:
        for lane in lanes:
            run.add(doing(work, lane))
        run.drain()
    return run.swept()


@given(sizes=st.lists(st.integers(0, 12), max_size=5), threads=st.integers(1, 6), silent=st.sets(st.integers(0, 4)))
def test_what_answers_is_done_once_in_its_order_and_no_more_at_once_than_there_are_threads(
    sizes: list[int], threads: int, silent: set[int]
) -> None:
    lane_runner.memory.cache_clear()
    lanes = [a_lane(str(number), size) for number, size in enumerate(sizes)]
    begun: list[str] = []
    at_once: Counter[str] = Counter()
    lock = threading.Lock()

    def work(entry: Due) -> bool | None:
        with lock:
            begun.append(entry.id)
            at_once["now"] += 1
            at_once["most"] = max(at_once["most"], at_once["now"])
        with lock:
            at_once["now"] -= 1
        return SILENT if int(entry.key["lane"]) in silent else ANSWERED

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

    def work(entry: Due) -> bool | None:
        if entry.key["lane"] == "dead":
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

    def work(entry: Due) -> bool | None:
        if entry.key["lane"] == "dead":
            assert all(at_work.acquire(timeout=SECONDS) for _ in range(9))
            return SILENT
        at_work.release()
        return ANSWERED

    swept = drained(work, dead, living)

    assert (dead.begun, living.done) == (1, 9)
    assert (swept.silent, swept.is_unfinished) == (("dead",), False)


def test_one_that_answers_again_gets_everything_at_once() -> None:
    lane = a_lane("back", 50, breaker=SILENT_BREAKER)
    drained(lambda _: ANSWERED, lane)

    assert (lane.done, lane.breaker) == (50, Breaker())


def test_an_entry_that_another_process_has_is_no_try() -> None:
    lane = a_lane("dead", 9, breaker=SILENT_BREAKER)
    drained(lambda entry: NOT_DUE if entry.id < "dead3" else SILENT, lane)

    assert lane.begun == 4


def test_alone_one_has_every_thread() -> None:
    together = threading.Barrier(4)

    def work(_: Due) -> bool | None:
        together.wait(SECONDS)
        return ANSWERED

    drained(work, a_lane("empty", 0), a_lane("only", 8), a_lane("silent", 0, breaker=SILENT_BREAKER))


def test_when_the_time_is_over_nothing_begins_and_what_began_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    lane = a_lane("slow", 9)
    clock = SimpleNamespace(monotonic=lambda: SECONDS if lane.begun >= 6 else 0, sleep=time.sleep)
    monkeypatch.setattr(lane_runner, "time", clock)

    def work(_: Due) -> bool | None:
        time.sleep(0.01)
        return ANSWERED

    swept = drained(work, lane)

    assert (lane.begun, lane.done) == (6, 6)
    assert swept == Swept(6, behind_seconds=60 - 6 + SECONDS, is_unfinished=True)


def test_a_run_makes_no_more_attempts_than_it_may() -> None:
    swept = drained(lambda _: ANSWERED, a_lane("one", 9), a_lane("two", 9), most=5)

    assert (swept.done, swept.is_unfinished) == (5, True)


def test_an_attempt_that_fails_stops_no_other_and_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    def work(entry: Due) -> bool | None:
        if entry.id == "lane2":
            raise ZeroDivisionError
        return ANSWERED

    swept = drained(work, a_lane("lane", 9))

    assert (swept.done, swept.is_unfinished, swept.behind_seconds) == (9, False, 60 - 2)
    assert '"lane": "lane", "test": "lane2 lane"' in capsys.readouterr().out


def test_a_process_remembers_who_is_silent_from_run_to_run() -> None:
    first = drained(lambda _: SILENT, a_lane("dead", 40), threads=1)
    second = drained(lambda _: SILENT, a_lane("dead", 40), threads=1)

    assert ((first.done, first.silent), (second.done, second.silent)) == ((OPENS_AFTER, ("dead",)), (1, ("dead",)))


def test_who_is_told_of_its_silence_in_another_way_does_not_count_as_behind() -> None:
    with lane_runner.running("test", NOW, Limits(SECONDS, 1)) as run:
        run.add(doing(lambda _: SILENT, a_lane("dead", 9)))
        run.drain()

    assert run.swept(counts_silent=False).behind_seconds == 0
    assert run.swept().behind_seconds == 60 - OPENS_AFTER


@pytest.mark.parametrize(("due_in", "done"), [(0.05, 2), (SECONDS + 1, 1)])
def test_a_run_that_waits_does_what_becomes_due_before_its_end(
    monkeypatch: pytest.MonkeyPatch, due_in: float, done: int
) -> None:
    monkeypatch.setattr(lane_runner, "LOOK_EACH", 0.01)
    monkeypatch.setattr(lane_runner, "LOOKS_A_SECOND", 1000)
    times = {"first": NOW, "later": NOW + timedelta(seconds=due_in)}
    left = dict(times)
    seen: list[datetime] = []

    def attempt(entry: Due, now: datetime) -> Done:
        seen.append(now)
        del left[entry.id]
        time.sleep(0.02)  # so that the lane is read again
        return Done(was_due=True)

    lane = Lane(
        "lane",
        lambda now: iter([Due({"id": name}, at) for name, at in left.items() if at <= now]),
        attempt,
        lambda: min(left.values(), default=None),
    )
    with lane_runner.running("test", NOW, Limits(SECONDS, 2, waits=True)) as run:
        run.add(lane)
        run.drain()

    assert (run.swept().done, len(seen)) == (done, done)
    assert all(at >= due for at, due in zip(seen, times.values(), strict=False))


def test_a_run_that_waits_reads_a_lane_again_only_when_it_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_runner, "LOOK_EACH", 0)
    monkeypatch.setattr(lane_runner, "LOOKS_A_SECOND", 10**9)
    lane = doing(lambda _: ANSWERED, a_lane("lane", 9))
    readings = [lane.due(NOW), iter(())]
    lane.due = lambda _: readings.pop(0)
    with lane_runner.running("test", NOW, Limits(SECONDS, 1, waits=True)) as run:
        run.add(lane)
        run.drain()

    assert (run.swept().done, readings) == (9, [])


@pytest.mark.parametrize("threads", [1, 4])
def test_what_ends_a_worker_reaches_the_caller(threads: int) -> None:
    def work(entry: Due) -> bool | None:
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

    def work(_: Due) -> bool | None:
        seen.append(threading.get_ident())
        return ANSWERED

    drained(work, a_lane("one", 2), a_lane("two", 2), threads=1)

    assert seen == [threading.get_ident()] * 4


def test_of_records_only_those_that_meet_an_outage_come_again(capsys: pytest.CaptureFixture[str]) -> None:
    errors = {"unreadable": UnreadableError("KeyError"), "outage": ServiceError(ErrorCode.STORE_UNAVAILABLE)}

    def begin(image: lane_runner.Image) -> str:
        if image["is"] in errors:
            raise errors[image["is"]]
        return str(image["is"])

    records = list(enumerate(("first", "unreadable", "outage", "last")))
    begun = lane_runner.begin_each([(str(number), {"is": name}) for number, name in records], begin)

    assert begun == (["first", "last"], ["2"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["event"], line["number"]) for line in lines] == [("unreadable", "1"), ("outage", "2")]
    assert lines[0]["reason"] == "KeyError"
