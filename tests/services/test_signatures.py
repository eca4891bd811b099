"""A signature that is delivered later, with others at the same moment, and with a process that stops anywhere."""

import base64
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from typing import Any

import pytest

from chalicelib.domain import steps
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ServiceError
from chalicelib.services import outcomes, payment_sweep
from chalicelib.store import outbox, transactions
from chalicelib.store.table import read
from tests.support.builders import PNG, an_email
from tests.support.cards import a_card_body
from tests.support.cost import write_units
from tests.support.intercepted_calls import counting, hooked, stopping, told
from tests.support.stored import stored_transaction
from tests.support.tills import MINUTE, Till, a_till, is_due, kept
from tests.support.transactions import NOW

on_both_engines = pytest.mark.usefixtures("engine")
on_dynamodb_local = pytest.mark.usefixtures("dynamodb_local")  # threads, or costs


def owing(till: Till, **parts: Any) -> tuple[dict[str, Any], Transaction]:
    """Return the body of a payment that owes a signature, and the payment."""
    body = a_card_body("10.08", Receipt={"Email": an_email()}, **parts)
    payment = till.pay(body)
    assert (payment.phase, payment.owes_signature) == (Phase.AWAITING_COMPLETION, True)
    return body, payment


def signed(body: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """Return the request with a signature of its own."""
    code = base64.b64encode(PNG + bytes([number])).decode()
    return {**body, "Files": [{"FileType": "SIGNATURE", "FileCode": code}]}


def is_receipted(payment: Transaction) -> bool:
    return read(outbox.key(f"{payment.id}.signed.email")) is not None


def first_of(hook_at: str, meanwhile: Callable[[], Any]) -> Callable[[str, str], None]:
    """Return a hook that lets somebody else go first, once, before this call."""
    left = [meanwhile]

    def hook(when: str, name: str) -> None:
        if (when, name) == ("before", hook_at) and left:
            left.pop()()

    return hook


@on_dynamodb_local
def test_sixteen_deliveries_at_once_are_one_and_every_answer_is_true() -> None:
    till = a_till()
    body, payment = owing(till)

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda number: till.submit(signed(body, number), NOW + MINUTE), range(16)))

    stored = stored_transaction(payment.id)
    assert [replayed for _, replayed in answers].count(False) == 1
    assert {(answer.phase, answer.pictures.signature_key) for answer, _ in answers} == {
        (Phase.APPROVED, stored.pictures.signature_key)
    }
    assert stored.pictures.signature_key
    assert is_receipted(payment)


@on_both_engines
def test_of_two_deliveries_the_first_that_is_stored_counts() -> None:
    till = a_till()
    body, payment = owing(till)
    other: list[Transaction] = []

    with hooked(first_of("TransactWriteItems", lambda: other.append(till.submit(signed(body, 1))[0]))):
        answer, replayed = till.submit(signed(body, 2))

    assert replayed
    assert answer == other[0] == kept(payment.id)


@on_both_engines
@pytest.mark.parametrize("single_step", [True, False])
def test_the_sweep_at_the_deadline_takes_no_signature_away(*, single_step: bool) -> None:
    till = a_till()
    body, payment = owing(till, AcqTran={"SingleStepAuthMode": single_step})
    at = payment.deadline

    call = "TransactWriteItems" if single_step else "UpdateItem"
    with hooked(first_of(call, lambda: payment_sweep.run(at))):
        answer, replayed = till.submit(signed(body), at)

    stored = kept(payment.id)
    assert stored == answer
    assert not replayed
    assert not is_receipted(payment)
    assert (stored.phase, stored.owes_signature) == (Phase.APPROVED, False)
    assert not is_due(payment.id, at + MINUTE)


@on_both_engines
def test_a_sweep_that_read_the_payment_before_its_delivery_changes_nothing() -> None:
    till = a_till()
    body, read_before = owing(till)
    at = read_before.deadline
    delivered, _ = till.submit(signed(body), at)

    after = outcomes.advance(read_before, steps.completed, at)

    assert after == delivered == kept(read_before.id)
    assert after.pictures.signature_key


@on_both_engines
def test_a_delivery_and_a_reversal_at_once_both_count() -> None:
    till = a_till()
    body, payment = owing(till)

    with hooked(first_of("TransactWriteItems", lambda: till.give_back(payment, Amount="1.00"))):
        answer, _ = till.submit(signed(body))

    stored = stored_transaction(payment.id)
    assert (answer.phase, stored.phase) == (Phase.APPROVED, Phase.APPROVED)
    assert (stored.reversals.amount_minor, stored.reversals.count, stored.owes_signature) == (100, 1, False)


@pytest.mark.slow
@on_both_engines
@pytest.mark.parametrize("at", [NOW + MINUTE, None], ids=["in time", "after the Deadline"])
def test_a_delivery_that_stops_at_any_call_is_made_good_by_the_next(at: datetime | None) -> None:
    till = a_till()
    body, payment = owing(till)
    with counting() as calls:
        till.submit(signed(body), NOW + MINUTE)

    for number in range(1, len(calls) + 1):
        for when in ("before", "after"):
            body, payment = owing(till)
            moment = at or payment.deadline
            if at is None:
                payment_sweep.run(moment)
            with stopping(number, when), suppress(ServiceError):
                till.submit(signed(body), moment)
            answer, _ = till.submit(signed(body), moment)

            with told("stopped", when, "call", number):
                assert (answer.phase, answer.owes_signature) == (Phase.APPROVED, False)
                assert answer == kept(payment.id)
                assert is_receipted(payment) is (at is not None)
                assert till.submit(signed(body), moment)[1]


@on_both_engines
def test_an_unknown_payment_takes_its_signature_once_it_is_resolved() -> None:
    till = a_till()
    body = a_card_body("10.68", AcqTran={"ForceSignatureRequirement": True})
    unknown = till.pay(body)
    answer, replayed = till.submit(signed(body), NOW + MINUTE)

    assert unknown.phase is Phase.UNKNOWN
    assert (answer.phase, answer.owes_signature, replayed) == (Phase.APPROVED, False, False)


@on_dynamodb_local
def test_a_delivery_is_one_transaction_with_its_entries_and_a_replay_none() -> None:
    till = a_till()
    body = a_card_body("10.08")
    payment = till.pay(body)

    with counting() as calls:
        till.submit(signed(body), NOW + MINUTE)
    with write_units() as charged:
        till.submit(signed(body, 1), NOW + MINUTE)

    assert calls == ["BatchGetItem", "TransactWriteItems"]
    assert charged == []
    assert transactions.get(payment.id) is not None
