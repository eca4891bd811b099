"""Wrong cards: five are answered, then no card of this payment is compared for a day."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from chalicelib.domain.agent import BranchActions
from chalicelib.domain.permissions import Right
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ServiceError
from chalicelib.store.table import commit, put_new
from tests.support.builders import an_agent
from tests.support.cards import PAN, STEADY, a_card_body
from tests.support.cost import store_calls
from tests.support.tills import Till, a_till, kept
from tests.support.transactions import NOW, a_body, a_guid

LATER = NOW + timedelta(hours=25)
on_both_engines = pytest.mark.usefixtures("engine")


def reverse(till: Till, payment: Transaction, pan: str | None, now: datetime = NOW, amount: str = "999") -> int:
    """Request a return of more than was paid, with this card; return its ErrorCode: 304 for the right card."""
    try:
        card = a_card_body(pan=pan)["Card"] if pan else None
        till.give_back(payment, now, card=card, Amount=amount, ID=a_guid())
    except ServiceError as refused:
        return int(refused.error.code)
    return 0


def repeat(till: Till, payment: Transaction, pan: str, now: datetime = NOW) -> int:
    """Send the payment again with this card; return the ErrorCode: 0 for the right card."""
    try:
        till.submit(a_card_body(pan=pan, basic={"ID": payment.id}), now)
    except ServiceError as refused:
        return int(refused.error.code)
    return 0


@on_both_engines
def test_five_wrong_cards_are_answered_and_then_no_card_for_a_day(capsys: pytest.CaptureFixture[str]) -> None:
    till = a_till()
    payment = till.pay(a_card_body())
    wrong = [guess(till, payment, STEADY) for guess in (reverse, repeat, reverse, repeat, reverse)]
    logged = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "card_guesses" in line]
    after = [reverse(till, payment, STEADY), reverse(till, payment, PAN), repeat(till, payment, STEADY)]

    assert wrong == [202, 302, 202, 302, 202]
    assert [(line["event"], line["transaction"]) for line in logged] == [("card_guesses", payment.id)]
    assert [*after, repeat(till, payment, PAN)] == [313, 313, 313, 313]
    assert kept(payment.id) == payment, "nothing else of the payment changes"
    assert reverse(till, payment, None, amount="1") == 0, "without a card everything goes on"
    assert [reverse(till, payment, PAN, LATER), repeat(till, payment, PAN, LATER)] == [304, 0]
    assert [reverse(till, payment, STEADY, LATER) for _ in range(6)] == [202] * 5 + [313]


@on_both_engines
def test_the_right_card_never_counts() -> None:
    till = a_till()
    payment = till.pay(a_card_body())

    assert {repeat(till, payment, PAN) for _ in range(20)} == {0}
    assert {reverse(till, payment, PAN) for _ in range(20)} == {304}


@on_both_engines
def test_fifty_guesses_at_once_get_at_most_thirteen_answers() -> None:
    till = a_till()
    payment = till.pay(a_card_body())
    cards = [STEADY] * 49 + [PAN]
    with ThreadPoolExecutor(50) as guesses:
        answers = Counter(guesses.map(lambda pan: reverse(till, payment, pan), cards))

    assert sum(answers[code] for code in (202, 304)) <= 13
    assert answers[202] <= 5
    assert set(answers) <= {202, 304, 313}
    assert reverse(till, payment, PAN) == 313


@on_both_engines
def test_the_requests_of_those_who_may_not_see_the_payment_count_for_nothing() -> None:
    till, stranger = a_till(), a_till()
    payment = till.pay(a_card_body())
    colleague = replace(till, agent=an_agent(client_id=till.merchant.id, terminal_id=till.terminal.id))
    commit(put_new("agents", colleague.agent, "id"))
    for other in (stranger, colleague):
        assert {repeat(other, payment, STEADY) for _ in range(6)} <= {302, 311}
    assert {reverse(stranger, payment, STEADY) for _ in range(6)} == {568}
    assert {reverse(colleague, payment, STEADY) for _ in range(6)} == {151}

    assert reverse(till, payment, PAN) == 304


def test_a_colleague_who_may_see_the_payment_counts(moto: str) -> None:
    del moto
    till = a_till()
    payment = till.pay(a_card_body())
    rights = (BranchActions(till.merchant.id, (Right.VIEW_DIVISIONS,)),)
    facts = {"client_id": till.merchant.id, "terminal_id": till.terminal.id, "branches_actions": rights}
    colleague = replace(till, agent=an_agent(**facts, mobile_settings=till.agent.mobile_settings))
    commit(put_new("agents", colleague.agent, "id"))

    assert {repeat(colleague, payment, STEADY) for _ in range(5)} == {302}
    assert reverse(till, payment, PAN) == 313


def test_an_unreadable_card_is_no_guess_and_is_refused_alike_afterwards(moto: str) -> None:
    del moto
    till = a_till()
    payment = till.pay(a_card_body())

    assert {reverse(till, payment, "4111111111111112") for _ in range(8)} == {202}
    assert [reverse(till, payment, STEADY) for _ in range(6)] == [202] * 5 + [313]
    assert reverse(till, payment, "4111111111111112") == 313


def test_payments_without_a_card_number_and_requests_without_a_card_cost_nothing_more(moto: str) -> None:
    del moto
    till = a_till()
    cash, card = till.pay(a_body()), till.pay(a_card_body())
    with store_calls() as calls:
        reverse(till, cash, PAN)
        reverse(till, card, None)

    assert "UpdateItem" not in calls
