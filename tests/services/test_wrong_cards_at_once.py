"""Guesses of a payment's card at the same time, and their cost, on DynamoDB Local: one conditional write decides."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from chalicelib.domain.wrong_cards import REFUSED_FOR, WRONG_CARDS
from chalicelib.errors import ErrorCode
from tests.support.card_guesses import OTHERS, TOO_MANY, WAYS, Guess, Paid, card, paid
from tests.support.cards import PAN, a_card_body
from tests.support.cost import store_calls, write_units
from tests.support.intercepted_calls import hooked
from tests.support.interleaving import Turns
from tests.support.tills import a_till
from tests.support.transactions import NOW

pytestmark = pytest.mark.usefixtures("dynamodb_local")
AT_ONCE = 24
ways = pytest.mark.parametrize(("guess", "wrong"), WAYS.values(), ids=WAYS)


@ways
def test_of_many_guesses_at_once_five_are_answered_and_the_right_one_among_the_last_is_refused(
    guess: Guess, wrong: ErrorCode
) -> None:
    of = paid()
    together, five_are_counted = threading.Barrier(AT_ONCE), threading.Event()
    me, left = threading.local(), threading.Semaphore(0)

    def hook(when: str, name: str) -> None:
        if (when, name) != ("before", "UpdateItem") or getattr(me, "has_read", True):
            return
        me.has_read = True
        together.wait(20)  # all have read the payment before the first is counted
        if me.pan == PAN:
            five_are_counted.wait(60)

    def attempt(pan: str) -> Any:
        me.pan, me.has_read = pan, False
        try:
            return guess(of, card(pan))
        finally:
            left.release()

    with hooked(hook), ThreadPoolExecutor(AT_ONCE) as pool:
        answers = [pool.submit(attempt, pan) for pan in (*OTHERS[: AT_ONCE - 1], PAN)]
        for _ in range(AT_ONCE - 1):
            left.acquire(timeout=60)
        five_are_counted.set()

    *others, right = [answer.result() for answer in answers]
    assert Counter(others) == {wrong: WRONG_CARDS, TOO_MANY: AT_ONCE - 1 - WRONG_CARDS}
    assert right is TOO_MANY
    assert of.wrong == WRONG_CARDS


@pytest.mark.parametrize("seed", range(12))
def test_in_any_order_five_wrong_cards_are_answered_and_the_right_one_only_before_them(seed: int) -> None:
    of = paid()
    order = random.Random(seed)  # noqa: S311  an order, not a secret
    guesses = [*OTHERS[:9], PAN, PAN]
    order.shuffle(guesses)
    turns = Turns(seed)
    seen: list[tuple[bool, bool, int]] = []

    def attempt(pan: str) -> Callable[[], None]:
        guess, _ = order.choice(list(WAYS.values()))

        def run() -> None:
            answered = guess(of, card(pan)) is not TOO_MANY
            seen.append((pan == PAN, answered, of.wrong))

        return run

    with hooked(turns.hook):
        turns.run(*map(attempt, guesses))

    assert sum(answered for right, answered, _ in seen if not right) == of.wrong == WRONG_CARDS
    assert all(counted == WRONG_CARDS for _, answered, counted in seen if not answered)


def test_five_more_are_answered_after_24_hours_however_many_come_at_once() -> None:
    of = paid()
    for pan in OTHERS[:5]:
        of.repeat(card(pan))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        later = NOW + REFUSED_FOR
        answers = Counter(pool.map(lambda pan: of.repeat(card(pan), later), OTHERS[:AT_ONCE]))

    assert answers == {ErrorCode.ID_REUSED: WRONG_CARDS, TOO_MANY: AT_ONCE - WRONG_CARDS}


def test_a_card_costs_one_unit_where_it_is_compared_and_nothing_elsewhere() -> None:
    till = a_till()
    body = a_card_body("12.00", Card=card(PAN))
    with write_units() as elsewhere, store_calls() as plain:
        of = Paid(till, body, till.pay(body))
        del plain[:]
        of.give_back(Amount="1.00")
    with store_calls() as named, write_units() as counted:
        of.give_back(card(PAN), Amount="1.00")
    with store_calls() as refused, write_units() as charged:
        of.give_back(card(OTHERS[0]))

    assert ("sequences", 1) not in elsewhere  # the receipt numbers are counted in transactions, at 2
    assert Counter(named) - Counter(plain) == {"UpdateItem": 1}
    assert counted[0] == ("sequences", 1)
    assert refused[:2] == ["BatchGetItem", "UpdateItem"]
    assert charged == [("sequences", 1)]


def test_right_and_wrong_cards_cost_the_same_calls_before_and_after_five() -> None:
    of = paid()
    calls: list[list[str]] = []
    for pan in (PAN, *OTHERS[:6], PAN):
        with store_calls() as made:
            of.give_back(card(pan), Amount="99.00")
        calls.append(made)

    assert {tuple(made) for made in calls[:6]} == {("BatchGetItem", "UpdateItem", "GetItem")}
    assert calls[6] == calls[7] == ["BatchGetItem", *["UpdateItem"] * 3]
