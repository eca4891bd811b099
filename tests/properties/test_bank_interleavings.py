"""At a bank: clients, looks and sweeps in any order, each taking the others for dead; the books agree in the end.

The order is drawn from a seed, and so is what goes wrong with advices. SEEDS in the environment is their number.
"""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest

from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways.ids import derived_guid
from chalicelib.services import payment_sweep
from infra.bank import faults
from infra.bank.faults import Hook
from tests.support.cards import a_card_body
from tests.support.intercepted_calls import hooked
from tests.support.interleaving import Turns
from tests.support.iso8583_stage import (
    OVERTAKEN,
    RunningBank,
    a_till_of_the_bank,
    check_books,
    ending,
    of,
    paying_at_a_bank,
)
from tests.support.tills import MINUTE, SECOND, is_due
from tests.support.transactions import NOW

pytestmark = pytest.mark.usefixtures("exact_engine")
CENTS = (0, 0, 5, 8, 67, 69, 70, 72, 77, 79)
FAULTS = (
    faults.lost(),
    faults.lost(carries_out=False),
    ending(faults.garbage()),
    ending(faults.another_stan()),
    faults.half(),
    faults.refused("96"),
)
SLOW = timedelta(seconds=45)  # a request that is still running then is taken for dead, wrongly
SEEDS = int(os.environ.get("SEEDS", "75"))
KEY = "the-only-one"
NOT_NOW = {ErrorCode.IN_PROGRESS, ErrorCode.TRANSACTION_NOT_FOUND}


@pytest.fixture(scope="module")
def running(aws: None) -> Iterator[RunningBank]:
    del aws  # its settings come first
    with paying_at_a_bank() as running:
        yield running


def some_go_wrong(choice: random.Random) -> list[Hook]:
    """Return what goes wrong with the first advices, more often than not."""
    return [faults.times(choice.randrange(3), choice.choice(FAULTS), "042")] if choice.random() < 0.6 else []


def settle(running: RunningBank, *ids: str) -> list[Transaction]:
    """Let the sweep run until nothing is pending; return our transactions as they are then."""
    for minutes in range(5, 10):
        payment_sweep.run(NOW + minutes * MINUTE)
    payment_sweep.run(of(ids[0]).deadline)
    after = [of(one) for one in ids]
    check_books(running.bank, after, tolerated=[OVERTAKEN])
    assert not any(is_due(one, NOW.replace(month=5)) for one in ids)
    return after


def agrees(answer: Transaction, after: Transaction) -> bool:
    """Return whether a client was answered with the outcome that is stored: nobody gets two different ones."""
    if answer.is_pending:
        return True
    awaited = answer.phase is Phase.AWAITING_COMPLETION and after.phase is Phase.APPROVED
    return (awaited or answer.phase is after.phase) and answer.result.approval_code == after.result.approval_code


def trying(act: Callable[[datetime], Transaction], answers: list[Transaction], times: list[datetime]) -> None:
    """Do the same again and again; what is not to be had yet is no failure."""
    for at in times:
        try:
            answers.append(act(at))
        except ServiceError as refusal:
            if refusal.error not in NOT_NOW:
                raise


def sweep(at: datetime) -> None:
    with suppress(ServiceError):
        payment_sweep.run(at)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_clients_looks_and_sweeps_at_once_pay_once_or_not_at_all(seed: int, running: RunningBank) -> None:
    choice = random.Random(-seed)  # noqa: S311  an order, not a secret
    running.start_afresh(*some_go_wrong(choice))
    till, at = a_till_of_the_bank(), NOW + choice.choice((SLOW, 3 * SLOW))
    body = a_card_body(f"12.{choice.choice(CENTS):02}")
    payment_id = body["BasicTran"]["ID"]
    answers: list[Transaction] = []
    tries = [NOW, NOW + SLOW, NOW + 2 * SLOW]
    turns = Turns(seed)

    with hooked(turns.hook):
        turns.run(
            *(lambda: trying(lambda now: till.submit(body, now)[0], answers, tries) for _ in range(2)),
            lambda: trying(lambda now: till.look(payment_id, now), answers, [NOW + SECOND, at]),
            *(lambda: sweep(at) for _ in range(2)),
        )
    [payment] = settle(running, payment_id)

    assert payment.phase in {Phase.APPROVED, Phase.DECLINED, Phase.AUTO_CANCELLED}
    assert till.counted() == (1, payment.amount_minor if payment.took_money else 0)
    assert all(agrees(answer, payment) for answer in answers)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_reversals_looks_and_sweeps_at_once_give_back_once_or_not_at_all(seed: int, running: RunningBank) -> None:
    choice = random.Random(-seed)  # noqa: S311  see above
    running.start_afresh()
    till, at = a_till_of_the_bank(), NOW + choice.choice((SLOW, 3 * SLOW))
    original = till.pay(a_card_body("12.00"))
    running.bank.hooks += some_go_wrong(choice)
    basic: dict[str, Any] = {"ReverseMode": 3}
    if choice.random() < 0.6:
        basic = {"ReverseMode": 5, "Amount": f"5.{choice.choice(CENTS):02}"}
    reversal_id = derived_guid("reversal", "key", till.agent.id, KEY)
    answers: list[Transaction] = []
    tries = [NOW, NOW + SLOW, NOW + 2 * SLOW]
    turns = Turns(seed)

    with hooked(turns.hook):
        turns.run(
            *(
                lambda: trying(lambda now: till.give_back(original, now, key=KEY, **basic), answers, tries)
                for _ in range(2)
            ),
            lambda: trying(lambda now: till.look(reversal_id, now), answers, [NOW + SECOND, at]),
            *(lambda: sweep(at) for _ in range(2)),
        )
    payment, reversal = settle(running, original.id, reversal_id)

    done = reversal.phase is Phase.REVERSAL_APPROVED
    assert reversal.phase in {Phase.REVERSAL_APPROVED, Phase.DECLINED, Phase.REJECTED}
    assert (payment.reversals.amount_minor, payment.reversals.reserved_minor) == (
        reversal.amount_minor if done else 0,
        0,
    )
    assert till.counted() == (2, payment.amount_minor)
    assert all(agrees(answer, reversal) for answer in answers)
