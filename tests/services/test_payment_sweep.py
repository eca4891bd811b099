"""The sweep with acquirers that answer, hang or are silent, at times the test chooses."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain import message_limits, steps
from chalicelib.domain.events import Kind, partition_of
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import ReceiptAddresses, Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import payment_sweep
from chalicelib.services.lane_runner import OPENS_AFTER
from chalicelib.store import deliveries as deliveries_store
from chalicelib.store import due_index, due_records, outbox, transactions
from chalicelib.store import message_limits as counters
from chalicelib.store.aws_client import UnansweredError
from chalicelib.store.table import read_item
from infra.bench.shop import write_in_bulk
from tests.support.acquirers import LONG_AGO, FakeAcquirer, serving, unknown
from tests.support.giving import Give
from tests.support.intercepted_calls import StoppedError, breaking_at, counting, hooked, refusing, threads
from tests.support.stored import delete_due_transactions
from tests.support.tills import MINUTE, SECOND, is_due, kept
from tests.support.transactions import a_payment

DUE = LONG_AGO + MINUTE
THREADS = 16
WAIT = 20  # seconds; far more than anything here takes


@pytest.fixture
def alone(exact_engine: str) -> None:
    """Leave nothing due that another test left behind."""
    del exact_engine
    delete_due_transactions()


def phases(payments: list[Transaction]) -> set[Phase]:
    return {(kept(payment.id) or payment).phase for payment in payments}


def claimed_at(payment: Transaction) -> datetime:
    return datetime.fromisoformat(read_item(transactions.key(payment.id))["claimed_at"]["S"])


def awaiting(deadline: datetime) -> Transaction:
    payment = a_payment(phase=Phase.AWAITING_COMPLETION, acquirer="DEAD", created_at=LONG_AGO, deadline=deadline)
    transactions.record(payment)
    return payment


@pytest.mark.usefixtures("alone")
def test_sixteen_acquirer_requests_run_side_by_side() -> None:
    together = threading.Barrier(THREADS)
    living = FakeAcquirer(meanwhile=lambda: together.wait(WAIT))

    with serving(LIVING=living):
        payments = [unknown("LIVING") for _ in range(2 * THREADS)]
        swept = payment_sweep.run(DUE)

    assert living.most_at_once == THREADS
    assert (swept.done, swept.behind_seconds, swept.is_unfinished) == (2 * THREADS, 0, False)
    assert phases(payments) == {Phase.APPROVED}


@pytest.mark.usefixtures("alone")
def test_the_sweep_stores_all_that_an_outcome_brings() -> None:
    wanted: dict[str, Any] = {"addresses": ReceiptAddresses(("ann@payer.example",)), "makes_events": True}
    with serving(LIVING=FakeAcquirer()):
        payment, given_up = unknown("LIVING", **wanted), unknown("LIVING", phase=Phase.AUTO_CANCELLING, **wanted)
        limit = message_limits.of_agent(payment.agent.id)
        before = counters.counted([limit], DUE.date()).get(limit, 0)
        assert payment_sweep.run(DUE).done == 2

    assert read_item(outbox.key(f"{payment.id}.email"))
    assert not read_item(outbox.key(f"{given_up.id}.email"))
    assert counters.counted([limit], DUE.date()) == {limit: before - 1}  # a receipt that is never sent
    made = [one for one, _ in deliveries_store.between(partition_of(payment.client_id, DUE.date()))]
    assert {(one.transaction_id, one.kind) for one in made} >= {
        (payment.id, Kind.PAYMENT_APPROVED),
        (given_up.id, Kind.PAYMENT_CANCELLED),
    }


@pytest.mark.usefixtures("alone")
def test_a_payment_is_resolved_at_its_own_time_and_not_at_the_beginning_of_the_run() -> None:
    living = FakeAcquirer(meanwhile=lambda: time.sleep(0.05), is_silent=True)
    with serving(LIVING=living), threads(1):
        first, second = unknown("LIVING"), unknown("LIVING", LONG_AGO + SECOND)
        payment_sweep.run(DUE)

    assert DUE <= claimed_at(first) < DUE + SECOND * WAIT
    assert claimed_at(second) - claimed_at(first) >= timedelta(seconds=0.05)


@pytest.mark.usefixtures("alone")
def test_with_one_acquirer_dead_the_payments_of_another_are_finished_in_the_run_they_are_due() -> None:
    finished = threading.Event()
    dead = FakeAcquirer(is_silent=True, meanwhile=lambda: finished.wait(WAIT))  # its time limit: the other's last
    living = FakeAcquirer()

    def end_the_wait() -> None:
        if len(living.inquiries) == 40:
            finished.set()

    living.meanwhile = end_the_wait
    with serving(DEAD=dead, LIVING=living):
        stuck = [unknown("DEAD", LONG_AGO - number * SECOND) for number in range(40)]
        payments = [unknown("LIVING") for _ in range(40)]
        swept = payment_sweep.run(DUE)

    assert finished.is_set()
    assert phases(payments) == {Phase.APPROVED}
    assert phases(stuck) == {Phase.UNKNOWN}
    assert len(dead.inquiries) <= OPENS_AFTER + THREADS
    assert swept.silent == ("DEAD",)


@pytest.mark.usefixtures("alone")
def test_a_dead_acquirer_is_tried_once_a_run_and_caught_up_in_the_run_in_which_it_answers() -> None:
    dead = FakeAcquirer(is_silent=True)

    with serving(DEAD=dead):
        payments = [unknown("DEAD", LONG_AGO + number * SECOND / 100) for number in range(250)]
        payment_sweep.run(DUE)
        tries = []
        for minute in range(1, 4):
            before = len(dead.inquiries)
            payment_sweep.run(DUE + minute * MINUTE)
            tries.append(len(dead.inquiries) - before)
        dead.is_silent = False
        swept = payment_sweep.run(DUE + 20 * MINUTE)

    assert tries == [1, 1, 1]
    assert phases(payments) == {Phase.APPROVED}
    assert (swept.done, swept.silent, swept.behind_seconds) == (250, (), 0)


@pytest.mark.usefixtures("alone")
def test_the_try_is_not_the_same_payment_each_time() -> None:
    dead = FakeAcquirer(is_silent=True)

    with serving(DEAD=dead):
        for number in range(30):
            unknown("DEAD", LONG_AGO + number * SECOND / 100)
        for minute in range(4):
            payment_sweep.run(DUE + minute * MINUTE / 4)

    assert len(set(dead.inquiries)) == len(dead.inquiries) <= THREADS + OPENS_AFTER + 3


@pytest.mark.usefixtures("alone")
def test_the_alarm_is_told_how_long_the_payments_of_a_dead_acquirer_have_been_due() -> None:
    with serving(DEAD=FakeAcquirer(is_silent=True)), threads(1):
        for number in range(12):
            unknown("DEAD", LONG_AGO + number * SECOND)
        payment_sweep.run(DUE)
        swept = payment_sweep.run(DUE + 10 * MINUTE)

    # five were tried by the first run and are due again; the sixth was due 35 s after LONG_AGO
    assert (swept.done, swept.silent) == (1, ("DEAD",))
    assert swept.behind_seconds in {10 * 60 + 60 - 36, 10 * 60 + 60 - 35}


@pytest.mark.usefixtures("alone")
def test_what_needs_no_acquirer_is_done_whatever_the_acquirers_do() -> None:
    owed = [awaiting(DUE) for _ in range(5)]

    def wait() -> None:  # its time limit: the last of the others
        until = time.monotonic() + WAIT
        while phases(owed) != {Phase.APPROVED} and time.monotonic() < until:
            time.sleep(0.01)

    with serving(DEAD=FakeAcquirer(is_silent=True, meanwhile=wait)):
        stuck = [unknown("DEAD") for _ in range(5)]
        began = time.monotonic()
        swept = payment_sweep.run(DUE)

    assert phases(owed) == {Phase.APPROVED}
    assert phases(stuck) == {Phase.UNKNOWN}
    assert (swept.done, time.monotonic() - began < WAIT) == (10, True)
    assert not any(is_due(payment.id, DUE) for payment in owed)


@pytest.mark.usefixtures("alone")
def test_a_payment_moves_from_the_lane_of_its_acquirer_to_the_other_when_it_awaits_its_completion() -> None:
    with serving(LIVING=FakeAcquirer()):
        payment = unknown("LIVING", single_step=False)
        payment_sweep.run(DUE)
        [listed] = due_records.of_lane(transactions.TABLE, due_index.NO_ACQUIRER, payment.deadline)
        again = list(due_records.of_lane(transactions.TABLE, "LIVING", payment.deadline))

    assert (listed.id, listed.since, again) == (payment.id, payment.deadline, [])


@pytest.mark.slow
@pytest.mark.usefixtures("engine")
def test_pages_of_payments_due_at_the_same_instant_are_all_resolved() -> None:
    delete_due_transactions()
    number = 2 * due_records.PAGE + 50
    payments = [
        a_payment(phase=Phase.AWAITING_COMPLETION, created_at=LONG_AGO, deadline=DUE, client_id=2001)
        for _ in range(number)
    ]
    write_in_bulk(payments)

    swept = payment_sweep.run(DUE)

    assert (swept.done, swept.is_unfinished) == (number, False)
    assert phases(payments[::50]) == {Phase.APPROVED}


@pytest.mark.usefixtures("alone")
def test_when_its_time_is_over_a_run_begins_nothing_and_says_how_far_behind_it_is() -> None:
    with serving(LIVING=FakeAcquirer()):
        payments = [unknown("LIVING") for _ in range(3)]
        swept = payment_sweep.run(LONG_AGO + 61 * MINUTE, seconds=0)

    assert phases(payments) == {Phase.UNKNOWN}
    assert (swept.done, swept.is_unfinished) == (0, True)
    assert 3600 + 30 <= swept.behind_seconds <= 3600 + 30 + WAIT


@pytest.mark.usefixtures("alone")
def test_one_that_fails_each_time_counts_as_behind_and_stops_no_other(give: Give) -> None:
    with serving(LIVING=FakeAcquirer()):
        broken, *others = [unknown("LIVING") for _ in range(9)]
        give(client=breaking_at(broken.id))
        swept = payment_sweep.run(LONG_AGO + 20 * MINUTE)

    assert phases(others) == {Phase.APPROVED}
    assert swept.done == 9
    assert 19.5 * 60 <= swept.behind_seconds <= 19.5 * 60 + WAIT


@pytest.mark.usefixtures("alone")
def test_an_idle_run_reads_each_lane_once() -> None:
    with counting() as calls:
        payment_sweep.run(DUE)

    lanes = 1 + len(outside.current.acquirers)  # of what needs no acquirer, and of each acquirer
    assert calls == ["Query"] * lanes


@pytest.mark.usefixtures("alone")
def test_sweeps_at_once_share_the_work_and_ask_about_each_payment_once() -> None:
    living = FakeAcquirer()

    with serving(LIVING=living):
        payments = [unknown("LIVING") for _ in range(60)]
        with hooked(lambda *_: time.sleep(0.01)), ThreadPoolExecutor(3) as pool:
            sweeps = list(pool.map(lambda _: payment_sweep.run(DUE), range(3)))

    assert Counter(living.inquiries) == dict.fromkeys((payment.id for payment in payments), 1)
    assert sum(swept.done for swept in sweeps) >= 60


@pytest.mark.usefixtures("alone")
def test_what_another_sweep_asked_about_meanwhile_is_not_asked_about_again(give: Give) -> None:
    runs, clock = list[int](), [0.0]
    give(elapsed=lambda: clock[0])
    silent = FakeAcquirer(is_silent=True)

    def let_another_run() -> None:
        if len(silent.inquiries) == 1:
            runs.append(payment_sweep.run(DUE).done)
            clock[0] += steps.CLAIM_PAUSE.total_seconds() + 1

    silent.meanwhile = let_another_run
    with serving(SILENT=silent), threads(1):
        payments = [unknown("SILENT") for _ in range(OPENS_AFTER - 1)]
        runs.append(payment_sweep.run(DUE).done)

    assert Counter(silent.inquiries) == dict.fromkeys((payment.id for payment in payments), 1)
    assert runs == [OPENS_AFTER - 2, 1]


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", ["GetItem", "UpdateItem", "inquire", "TransactWriteItems"])
def test_a_worker_that_dies_ends_the_run_and_the_next_run_does_what_it_left(call: str, when: str) -> None:
    lock = threading.Lock()
    calls = Counter[tuple[str, str]]()

    def stop(*at: str) -> None:
        with lock:
            calls[at[0], at[1]] += 1
            number = calls[at[0], at[1]]
        if at == (when, call) and number == 5:
            raise StoppedError

    with serving(LIVING=FakeAcquirer()):
        payments = [unknown("LIVING") for _ in range(60)]
        with hooked(stop), pytest.raises(StoppedError):
            payment_sweep.run(DUE)
        left = sum((kept(payment.id) or payment).phase is Phase.UNKNOWN for payment in payments)
        payment_sweep.run(DUE + MINUTE)

    assert 0 < left < 60
    assert phases(payments) == {Phase.APPROVED}


@pytest.mark.usefixtures("alone")
def test_a_store_out_of_reach_ends_the_run_with_its_error(give: Give) -> None:
    give(client=refusing("Query", UnansweredError()))

    with pytest.raises(ServiceError, match=ErrorCode.STORE_UNAVAILABLE.message):
        payment_sweep.run(DUE)
