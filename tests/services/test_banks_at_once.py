"""Many tills at one bank under real threads: each message has its own numbers, and both books agree."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import lane_runner, payment_sweep
from infra.bank import faults
from tests.support.cards import PAN, a_card_body
from tests.support.iso8583_stage import RunningBank, a_till_of_the_bank, check_books, of, paying_at_a_bank
from tests.support.tills import MINUTE
from tests.support.transactions import NOW, a_guid

pytestmark = pytest.mark.usefixtures("dynamodb_local")
REFUSED = {ErrorCode.EXCEEDS_REMAINDER, ErrorCode.IN_PROGRESS, ErrorCode.STORE_UNAVAILABLE}


@pytest.fixture
def running() -> Iterator[RunningBank]:
    with paying_at_a_bank() as running:
        yield running


def test_16_payments_at_once_at_one_terminal_have_16_numbers(running: RunningBank) -> None:
    till = a_till_of_the_bank()

    with ThreadPoolExecutor(16) as pool:
        payments = list(pool.map(lambda _: till.pay(a_card_body()), range(16)))

    assert {payment.phase for payment in payments} == {Phase.APPROVED}
    assert len({payment.result.rrn for payment in payments}) == 16
    assert len({payment.host.trace.stan for payment in payments if payment.host}) == 16
    check_books(running.bank, payments)
    assert running.bank.held(PAN) == 16 * 1230


def test_sixteen_clients_at_once_with_one_id_are_charged_once(running: RunningBank) -> None:
    till, body = a_till_of_the_bank(), a_card_body()
    answers = till.submit_at_once(body)

    assert answers == {of(body["BasicTran"]["ID"])}
    assert till.counted() == (1, 1230)
    check_books(running.bank, answers)


def test_sweeps_and_looks_at_once_cancel_each_lost_payment_once(running: RunningBank) -> None:
    till, start = a_till_of_the_bank(), NOW - timedelta(days=700)
    running.now = start
    payments = [till.pay(a_card_body("12.67"), start) for _ in range(12)]
    running.bank.hooks.append(faults.times(6, faults.lost(), "042"))
    lane_runner.memory().clear()

    with ThreadPoolExecutor(12) as pool:
        for minutes in (1, 2, 3, 4):
            at = start + minutes * MINUTE
            sweeps = [pool.submit(payment_sweep.run, at) for _ in range(4)]
            looks = [pool.submit(till.look, payment.id, at) for payment in payments for _ in range(2)]
            assert not any(work.exception() for work in sweeps)
            assert not any(work.exception() for work in looks)
    payment_sweep.run(start + 5 * MINUTE)
    after = [of(payment.id) for payment in payments]

    assert {payment.phase for payment in after} == {Phase.AUTO_CANCELLED}
    assert till.counted(start) == (12, 0)
    check_books(running.bank, after)


@pytest.mark.parametrize("part", ["0.70", "0.67"])  # carried out; carried out, and the answer is lost
def test_many_returns_of_a_payment_at_once_never_give_back_more_than_was_paid(part: str, running: RunningBank) -> None:
    till = a_till_of_the_bank()
    payment = till.pay(a_card_body("3.00"))
    running.bank.hooks.append(faults.times(3, faults.lost(), "0200"))

    def give_back(_: int) -> Transaction | None:
        try:
            return till.give_back(payment, Amount=part, ID=a_guid())
        except ServiceError as refusal:
            if refusal.error in REFUSED:
                return None
            raise

    with ThreadPoolExecutor(16) as pool:
        returned = [one for one in pool.map(give_back, range(16)) if one]
    for minutes in (1, 2, 3):
        payment_sweep.run(NOW + minutes * MINUTE)
    after = [of(one.id) for one in (payment, *returned)]

    assert returned
    check_books(running.bank, after)
    assert running.bank.held(PAN) == after[0].remaining_minor
    assert after[0].reversals.reserved_minor == 0
