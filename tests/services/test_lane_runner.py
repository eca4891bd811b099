"""Lanes of work that is due, side by side, without tables."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import deliveries, lane_runner, outbox
from chalicelib.services.lane_runner import LANES_AT_ONCE, OPENS_AFTER, Done, Lane, Run, Swept, begin_each
from chalicelib.settings import MAX_SWEEP_CONCURRENCY
from chalicelib.store import due_records
from chalicelib.store.due_records import Due
from chalicelib.store.table import Item, UnreadableError
from tests.support.acquirers import LONG_AGO
from tests.support.giving import Give
from tests.support.intercepted_calls import StoppedError

SECONDS = 10  # more than any of this takes
THREADS = 4
MINUTE = timedelta(minutes=1)
NOW = LONG_AGO + MINUTE
ANSWERED, SILENT, NOT_DUE = True, False, None
Work = Callable[[Due], bool | None]  # whether the receiver answered, or that nothing was due
ENTRIES: dict[str, list[Due]] = {}  # what is due, by lane


@pytest.fixture(autouse=True)
def in_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is due in lists instead of tables."""

    def of_lane(_: str, lane: str, until: datetime) -> Iterator[Due]:
        return (entry for entry in list(ENTRIES[lane]) if entry.since <= until)

    monkeypatch.setattr(due_records, "of_lane", of_lane)


def a_lane(work: Work, name: str, number: int, *, threads: int = THREADS, unanswered: int = 0) -> Lane:
    """Return a lane with so many entries. Its receiver gave no answer to so many requests before."""
    ENTRIES[name] = [Due({"id": f"{name}{index}"}, LONG_AGO + timedelta(seconds=index)) for index in range(number)]
    lane_runner.memory()[name] = unanswered

    def attempt(entry: Due, _: datetime) -> Done:
        result = work(entry)
        return Done() if result is None else Done(was_due=True, answers=(result,))

    return Lane(name, "table", attempt, threads)


def drained(*lanes: Lane, waits: bool = False) -> Swept:
    run = Run("test", NOW, SECONDS, waits=waits)
    run.drain(lanes)
    return run.swept()


@given(sizes=st.lists(st.integers(0, 12), max_size=5), threads=st.integers(1, 6), silent=st.sets(st.integers(0, 4)))
def test_what_answers_is_done_once_in_its_order_and_no_more_at_once_than_there_are_threads(
    sizes: list[int], threads: int, silent: set[int]
) -> None:
    begun: list[str] = []
    now, most = Counter[str](), Counter[str]()
    lock = threading.Lock()

    def work(entry: Due) -> bool | None:
        lane = entry.id[0]
        with lock:
            begun.append(entry.id)
            now[lane] += 1
            most[lane] = max(most[lane], now[lane])
        with lock:
            now[lane] -= 1
        return SILENT if int(lane) in silent else ANSWERED

    lanes = [a_lane(work, str(number), size, threads=threads) for number, size in enumerate(sizes)]
    drained(*lanes)

    assert max(most.values(), default=0) <= threads
    assert len(set(begun)) == len(begun)
    for number, size in enumerate(sizes):
        own = [one for one in begun if one.startswith(str(number))]
        assert len(own) == size if number not in silent else len(own) <= OPENS_AFTER + threads
        if threads == 1:
            assert own == [f"{number}{index}" for index in range(len(own))]
        assert lanes[number].done == len(own)


def test_a_silent_receiver_takes_no_thread_of_another() -> None:
    all_done = threading.Event()

    def wait(_: Due) -> bool | None:
        assert all_done.wait(SECONDS), "one waits for the other"
        return SILENT

    def work(entry: Due) -> bool | None:
        if entry.id == "living49":
            all_done.set()
        return ANSWERED

    dead, living = a_lane(wait, "dead", 50), a_lane(work, "living", 50, threads=1)
    drained(dead, living)

    assert living.done == 50
    assert OPENS_AFTER <= dead.done <= OPENS_AFTER + THREADS
    assert dead.is_silent
    assert len(dead.left) == 50 - dead.done


def test_one_that_is_known_to_be_silent_is_tried_once_and_is_not_unfinished() -> None:
    dead, living = a_lane(lambda _: SILENT, "dead", 9, unanswered=OPENS_AFTER), a_lane(lambda _: ANSWERED, "living", 9)
    swept = drained(dead, living)

    assert (dead.done, living.done) == (1, 9)
    assert (swept.silent, swept.is_unfinished) == (("dead",), False)


def test_one_that_is_not_spared_gets_everything_and_counts_as_silent() -> None:
    lane = a_lane(lambda _: SILENT, "host", 50, unanswered=OPENS_AFTER)
    lane.spares = lambda name: name != "host"

    assert (drained(lane).silent, lane.done) == (("host",), 50)


def test_one_that_answers_again_gets_everything_at_once() -> None:
    lane = a_lane(lambda _: ANSWERED, "back", 50, unanswered=OPENS_AFTER)
    drained(lane)

    assert (lane.done, lane.is_silent, lane_runner.memory()["back"]) == (50, False, 0)


@given(st.lists(st.booleans(), max_size=40))
def test_a_receiver_is_silent_when_it_did_not_answer_the_latest_requests_and_not_otherwise(answers: list[bool]) -> None:
    lane = a_lane(lambda _: ANSWERED, "any", 0)
    for answered in answers:
        lane.note(Done(answers=(answered,)))
    latest = answers[-OPENS_AFTER:]

    assert lane.is_silent == (len(latest) == OPENS_AFTER and not any(latest))


def test_an_entry_that_another_process_has_is_no_try() -> None:
    tried: list[str] = []

    def work(entry: Due) -> bool | None:
        tried.append(entry.id)
        return NOT_DUE if entry.id < "dead3" else SILENT

    drained(a_lane(work, "dead", 9, unanswered=OPENS_AFTER))

    assert tried == ["dead0", "dead1", "dead2", "dead3"]


def test_when_the_time_is_over_nothing_begins_and_what_began_is_waited_for(give: Give) -> None:
    begun: list[str] = []
    give(elapsed=lambda: SECONDS if len(begun) >= 6 else 0)

    def work(entry: Due) -> bool | None:
        begun.append(entry.id)
        time.sleep(0.01)
        return ANSWERED

    lane = a_lane(work, "slow", 9, threads=1)

    assert drained(lane) == Swept(6, behind_seconds=60 - 6 + SECONDS, is_unfinished=True)
    assert lane.done == 6


def test_an_attempt_that_fails_stops_no_other_and_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    def work(entry: Due) -> bool | None:
        if entry.id == "lane2":
            raise ZeroDivisionError
        return ANSWERED

    swept = drained(a_lane(work, "lane", 9))

    assert (swept.done, swept.is_unfinished, swept.behind_seconds) == (9, False, 60 - 2)
    assert '"lane": "lane", "test": "lane2"' in capsys.readouterr().out


def test_a_process_remembers_who_is_silent_from_run_to_run() -> None:
    first = drained(a_lane(lambda _: SILENT, "dead", 40, threads=1))
    second = drained(a_lane(lambda _: SILENT, "dead", 40, threads=1, unanswered=lane_runner.memory()["dead"]))

    assert ((first.done, first.silent), (second.done, second.silent)) == ((OPENS_AFTER, ("dead",)), (1, ("dead",)))


def test_who_is_told_of_its_silence_in_another_way_does_not_count_as_behind() -> None:
    run = Run("test", NOW, SECONDS)
    run.drain([a_lane(lambda _: SILENT, "dead", 9, threads=1)])

    assert run.swept(counts_silent=False).behind_seconds == 0
    assert run.swept().behind_seconds == 60 - OPENS_AFTER


def a_clock() -> dict[str, Any]:
    """A clock that only pauses move."""
    paused: list[float] = []
    return {"elapsed": lambda: sum(paused), "pause": paused.append}


@pytest.mark.parametrize(("due_in", "done"), [(SECONDS - 1, 2), (SECONDS + 1, 1)])
def test_a_run_that_waits_does_what_becomes_due_before_its_end(give: Give, due_in: float, done: int) -> None:
    give(**a_clock())
    seen: list[datetime] = []

    def attempt(entry: Due, now: datetime) -> Done:
        seen.append(now)
        ENTRIES["lane"].remove(entry)
        return Done(was_due=True)

    lane = a_lane(lambda _: ANSWERED, "lane", 0)
    lane.attempt = attempt
    times = {"first": NOW, "later": NOW + timedelta(seconds=due_in)}
    ENTRIES["lane"] = [Due({"id": name}, at) for name, at in times.items()]
    swept = drained(lane, waits=True)

    assert (swept.done, len(seen)) == (done, done)
    assert all(at >= due for at, due in zip(seen, times.values(), strict=False))


def test_a_run_that_waits_repeats_what_becomes_due_again_and_nothing_that_only_stays_due(give: Give) -> None:
    give(**a_clock())
    begun: list[str] = []

    def work(entry: Due) -> bool | None:
        begun.append(entry.id)
        if entry.id == "lane1":
            raise RuntimeError
        if len(begun) < 3:
            ENTRIES["lane"][0] = Due(entry.key, NOW + timedelta(seconds=2))
        return ANSWERED

    swept = drained(a_lane(work, "lane", 2, threads=1), waits=True)

    assert begun == ["lane0", "lane1", "lane0"]
    assert swept.behind_seconds >= 59  # of the entry that met a defect in the first reading


@pytest.mark.parametrize("threads", [1, 4])
def test_what_ends_a_worker_reaches_the_caller(threads: int) -> None:
    def work(entry: Due) -> bool | None:
        if entry.id == "lane2":
            raise StoppedError
        time.sleep(0.001)
        return ANSWERED

    lane, other = a_lane(work, "lane", 50, threads=threads), a_lane(lambda _: ANSWERED, "other", 1)
    with pytest.raises(StoppedError):
        drained(lane, other)

    assert lane.done < 50
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sweep")]


def test_the_threads_of_all_lanes_are_fewer_than_lambda_allows() -> None:
    of_webhooks = LANES_AT_ONCE * (1 + deliveries.THREADS)
    of_acquirers = 3 * (1 + MAX_SWEEP_CONCURRENCY)  # two, and the lane without one

    assert of_webhooks + of_acquirers + 2 * len(outbox.CHANNELS) < 1000


def test_of_records_only_those_that_meet_an_outage_come_again(capsys: pytest.CaptureFixture[str]) -> None:
    errors = {"unreadable": UnreadableError("KeyError"), "outage": ServiceError(ErrorCode.STORE_UNAVAILABLE)}

    def begin(image: Item) -> str:
        name = str(image["name"]["S"])
        if name in errors:
            raise errors[name]
        return name

    records = list(enumerate(("first", "unreadable", "outage", "last")))
    begun = begin_each([(str(number), {"name": {"S": name}}) for number, name in records], begin)

    assert begun == (["first", "last"], ["2"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["event"], line["number"]) for line in lines] == [("unreadable", "1"), ("outage", "2")]
    assert lines[0]["reason"] == "KeyError"
