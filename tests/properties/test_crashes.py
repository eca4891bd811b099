"""A payment by card survives a crash at any point: it is paid once or not charged, and nothing stays pending."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from chalicelib.domain.acquirer import AnswerLostError, UnreachableError
from chalicelib.domain.message_limits import day_of, of_agent
from chalicelib.domain.phases import Phase
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import payment_sweep
from chalicelib.store import linked_cards, message_limits, outbox
from chalicelib.store.table import read
from tests.support.builders import an_email
from tests.support.cards import a_card_body
from tests.support.intercepted_calls import broken, counting, failing, stopping, told
from tests.support.stored import stored_record, stored_transaction
from tests.support.tills import MINUTE, SECOND, Till, a_till, booked, is_charged, is_due, kept
from tests.support.transactions import NOW

pytestmark = pytest.mark.usefixtures("exact_engine")


@dataclass(frozen=True)
class Case:
    """A payment, what is wrong with its acquirer, and how it may end."""

    name: str
    amount: str
    ends: frozenset[Phase]
    parts: dict[str, Any] = field(default_factory=dict)
    linked: bool = False
    faults: dict[str, Callable[..., Any]] = field(default_factory=dict)


APPROVED, DECLINED = frozenset({Phase.APPROVED}), frozenset({Phase.DECLINED})
UNSENT = frozenset({Phase.REJECTED})  # the process may have ended before the acquirer was asked
CANCELLED = frozenset({Phase.AUTO_CANCELLED})
CASES = [
    Case("approved", "12.30", APPROVED | UNSENT),
    Case("linked", "12.30", APPROVED | UNSENT, linked=True),
    Case("declined", "12.05", DECLINED | UNSENT),
    Case("answer lost", "12.68", APPROVED | UNSENT),
    Case("never arrived", "12.69", UNSENT),
    Case("signature owed", "12.08", APPROVED | UNSENT),
    Case("second step owed", "12.30", APPROVED | UNSENT, parts={"AcqTran": {"SingleStepAuthMode": False}}),
    Case("no connection", "12.30", UNSENT, faults={"authorize": failing(UnreachableError())}),
    Case("nobody to ask", "12.68", CANCELLED, faults={"inquire": failing(AnswerLostError())}),
    Case("a defect", "12.68", CANCELLED, faults={"inquire": failing(RuntimeError("4111111111111111"))}),
]
POINTS = range(1, 40)  # more calls than a sweep makes


def body_of(case: Case, till: Till) -> dict[str, Any]:
    body = a_card_body(case.amount) | {"Receipt": {"Email": an_email()}} | case.parts
    if case.linked:
        body["BasicTran"]["InputType"] = 5
        body["Card"] = {"CardInputMode": 2, "LinkedCardId": till.link().id}
    return body


def retry(till: Till, body: dict[str, Any], now: datetime) -> None:
    """The client comes back: it gets an answer, or is told that there is none yet."""
    refused = refusal_of(till, body, now)

    assert refused in {None, ErrorCode.IN_PROGRESS, ErrorCode.DEPENDENCY_UNAVAILABLE}


def refusal_of(till: Till, body: dict[str, Any], now: datetime) -> ErrorCode | None:
    try:
        till.submit(body, now)
    except ServiceError as refusal:
        return refusal.error
    return None


def deadline_of(transaction_id: str) -> datetime:
    payment = kept(transaction_id)
    return payment.deadline if payment else NOW


def check(case: Case, till: Till, transaction_id: str, *, came_back: bool) -> None:
    payment = kept(transaction_id)
    if payment is None:
        assert not came_back
        assert booked(transaction_id) is None
        assert till.counted() == (0, 0)
        return
    paid = payment.phase is Phase.APPROVED
    month = NOW.replace(month=4)

    assert payment.phase in case.ends
    assert paid == is_charged(transaction_id)
    assert not is_due(transaction_id, month)
    assert till.counted() == (1, payment.amount_minor if paid else 0)
    assert (read(outbox.key(f"{transaction_id}.email")) is not None) == paid
    messages = of_agent(till.agent.id)  # counted before they are stored: too high after a crash, never too low
    assert message_limits.counted([messages], day_of(NOW)).get(messages, 0) >= paid
    if payment.card_entry.linked_id:
        card = stored_record(linked_cards.key(payment.card_entry.linked_id))
        assert card.transaction_count == paid


@pytest.mark.parametrize("came_back", [True, False], ids=["the client returns", "the client is gone"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_submit_that_stops_at_any_call_ends_paid_once_or_not_charged(case: Case, *, came_back: bool) -> None:
    till = a_till()
    with broken(**case.faults):
        calls = _calls_of(till, body_of(case, till))
        for number in range(1, calls + 1):
            for when in ("before", "after"):
                till = a_till()
                body = body_of(case, till)
                with stopping(number, when), suppress(ServiceError):
                    till.submit(body, NOW)
                if came_back:
                    retry(till, body, NOW + SECOND)
                    retry(till, body, NOW + MINUTE)
                    payment_sweep.run(NOW + 2 * MINUTE)
                payment_sweep.run(deadline_of(body["BasicTran"]["ID"]))

                with told("stopped", when, "call", number):
                    check(case, till, body["BasicTran"]["ID"], came_back=came_back)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_sweep_that_stops_is_made_good_by_the_next(case: Case, when: str) -> None:
    with broken(**case.faults):
        for number in POINTS:
            till = a_till()
            body = body_of(case, till)
            with stopping(4, "after"), suppress(ServiceError):  # the acquirer was asked, its answer was not kept
                till.submit(body, NOW)
            crashes = 0
            for at in (NOW + 2 * MINUTE, deadline_of(body["BasicTran"]["ID"])):
                with stopping(number, when) as stopped_at:
                    payment_sweep.run(at)
                crashes += len(stopped_at)
            payment_sweep.run(deadline_of(body["BasicTran"]["ID"]) + MINUTE)

            with told("stopped at call", number):
                check(case, till, body["BasicTran"]["ID"], came_back=False)
            if not crashes:
                break
        else:
            pytest.fail("the sweep makes more calls than were tried")


def test_a_reversal_that_is_not_acknowledged_is_asked_for_again() -> None:
    till = a_till()
    with broken(inquire=failing(AnswerLostError()), reverse=failing(AnswerLostError())):
        payment = till.pay(a_card_body("12.68"))
        payment_sweep.run(payment.deadline)
        stuck = kept(payment.id)
    assert stuck is not None
    assert stuck.phase is Phase.AUTO_CANCELLING

    payment_sweep.run(payment.deadline + 20 * MINUTE)

    done = stored_transaction(payment.id)
    assert done.phase is Phase.AUTO_CANCELLED
    assert not is_charged(payment.id)


def _calls_of(till: Till, body: dict[str, Any]) -> int:
    with counting() as calls, suppress(ServiceError):
        till.submit(body, NOW)
    assert len(calls) >= 4
    return len(calls)
