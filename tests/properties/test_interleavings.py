"""Two clients with one ID, and a sweep that takes the slower of them for dead, in any order: paid once or not charged.

The order is drawn from a seed, so an order that fails is found again: the seed is in the name of the test.
"""

import random
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest

from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import payment_sweep
from chalicelib.store import linked_cards
from tests.support.cards import a_card_body
from tests.support.intercepted_calls import hooked
from tests.support.interleaving import Turns
from tests.support.stored import stored_record, stored_transaction
from tests.support.tills import MINUTE, Till, a_till, is_charged, is_due
from tests.support.transactions import NOW

pytestmark = pytest.mark.usefixtures("exact_engine")
AMOUNTS = ("12.30", "12.05", "12.68", "12.69", "12.08")
SLOW = timedelta(seconds=45)  # a request that is still running then is taken for dead, wrongly


@pytest.mark.parametrize("seed", range(200))
def test_two_clients_with_one_id_pay_once_or_not_at_all(seed: int) -> None:
    choice = random.Random(-seed)  # noqa: S311  see above
    till = a_till()
    body = a_card_body(choice.choice(AMOUNTS))
    if linked := choice.random() < 0.3:
        body["BasicTran"]["InputType"] = 5
        body["Card"] = {"CardInputMode": 2, "LinkedCardId": till.link().id}
    at = NOW + choice.choice((SLOW, 3 * SLOW))  # before or after the acquirer's quiet time
    answers: list[Transaction] = []
    turns = Turns(seed)

    with hooked(turns.hook):
        turns.run(*(lambda: _client(till, body, answers) for _ in range(2)), lambda: _sweep(at))
    seen = stored_transaction(body["BasicTran"]["ID"])
    payment_sweep.run(NOW + 2 * MINUTE)
    payment_sweep.run(seen.deadline)

    payment = stored_transaction(body["BasicTran"]["ID"])
    paid = payment.phase is Phase.APPROVED
    assert payment.phase in {Phase.APPROVED, Phase.DECLINED, Phase.REJECTED}
    assert paid == is_charged(payment.id)
    assert till.counted() == (1, payment.amount_minor if paid else 0)
    assert not is_due(payment.id, payment.deadline + MINUTE)
    assert all(_agrees(answer, payment) for answer in answers)
    if linked:
        card = stored_record(linked_cards.key(body["Card"]["LinkedCardId"]))
        assert card.transaction_count == paid


def _client(till: Till, body: dict[str, Any], answers: list[Transaction]) -> None:
    for tries in range(3):
        try:
            answers.append(till.submit(body, NOW + tries * SLOW)[0])
        except ServiceError as refusal:
            if refusal.error is not ErrorCode.IN_PROGRESS:
                raise


def _sweep(at: datetime) -> None:
    with suppress(ServiceError):
        payment_sweep.run(at)


def _agrees(answer: Transaction, payment: Transaction) -> bool:
    """Return whether a client was answered with the outcome that is stored: nobody gets two different ones."""
    if answer.is_pending:
        return True
    ended = payment.phase if answer.phase is not Phase.AWAITING_COMPLETION else Phase.AWAITING_COMPLETION
    return answer.phase is ended and answer.result.approval_code == payment.result.approval_code
