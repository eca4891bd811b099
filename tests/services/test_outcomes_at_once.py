"""Card payments under real threads, on the engine that tells the truth about them."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from chalicelib.domain.phases import Phase
from chalicelib.services import payment_sweep
from tests.support.cards import a_card_body
from tests.support.cost import write_units
from tests.support.tills import MINUTE, SECOND, a_till, kept
from tests.support.transactions import NOW

pytestmark = pytest.mark.usefixtures("dynamodb_local")


def test_sixteen_clients_at_once_with_one_id_are_charged_once() -> None:
    till = a_till()
    body = a_card_body()

    assert till.submit_at_once(body) == {kept(body["BasicTran"]["ID"])}
    assert till.counted() == (1, 1230)


def test_sweeps_and_looks_at_once_finish_each_payment_once() -> None:
    till = a_till()
    start = NOW - timedelta(days=700)
    payments = [till.pay(a_card_body(12.68), start) for _ in range(12)]
    linked = till.link(now=start)
    body = a_card_body(12.68, basic={"InputType": 5}, Card={"LinkedCardId": linked.id})
    payments.append(till.pay(body, start))
    at = start + MINUTE

    with ThreadPoolExecutor(12) as pool:
        sweeps = [pool.submit(payment_sweep.run, at) for _ in range(4)]
        looks = [pool.submit(till.look, payment.id, at) for payment in payments for _ in range(3)]
    failures = [work.exception() for work in sweeps] + [work.exception() for work in looks]

    assert not any(failures)
    assert {(kept(payment.id) or payment).phase for payment in payments} == {Phase.APPROVED}
    assert till.counted(start) == (13, 13 * 1268)


def test_a_card_payment_costs_two_store_transactions_of_a_known_price() -> None:
    till = a_till()
    till.pay(a_card_body())

    with write_units() as charged:
        payment = till.pay(a_card_body())

    assert sum(units for table, units in charged if table != "sandbox") <= 26
    with write_units() as charged:
        till.look(payment.id, NOW + MINUTE)
        till.submit(a_card_body(basic={"ID": payment.id}), NOW + SECOND)
    assert charged == []
