"""A card reversal survives a crash at any point: the acquirer gave back exactly what we say, and nothing stays open."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from chalicelib.domain.acquirer import AnswerLostError, UnreachableError
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways.ids import derived_guid
from chalicelib.services import payment_sweep
from tests.support.cards import a_card_body
from tests.support.intercepted_calls import broken, counting, failing, stopping, told
from tests.support.stored import stored_transaction
from tests.support.tills import MINUTE, SECOND, TAXED, Till, a_till, booked, is_due, kept
from tests.support.transactions import NOW

pytestmark = pytest.mark.usefixtures("exact_engine")
KEY = "the-only-one"


@dataclass(frozen=True)
class Case:
    """A reversal, what is wrong with the acquirer, and how it may end."""

    name: str
    amount: str
    ends: frozenset[Phase]
    faults: dict[str, Callable[..., Any]] = field(default_factory=dict)


DONE = frozenset({Phase.REVERSAL_APPROVED})
NOT_DONE = frozenset({Phase.REJECTED})
CASES = [
    Case("given back", "5.00", DONE),
    Case("declined", "5.05", frozenset({Phase.DECLINED})),
    Case("answer lost", "5.68", DONE),
    Case("never arrived", "5.69", NOT_DONE),
    Case("no connection", "5.00", NOT_DONE | DONE, {"reverse": failing(UnreachableError())}),
    Case("a defect", "5.00", NOT_DONE | DONE, {"reverse": failing(RuntimeError("4111111111111111"))}),
    Case("nobody to ask", "5.00", NOT_DONE | DONE, {"inquire": failing(AnswerLostError())}),
]


def a_card_payment(till: Till) -> Transaction:
    payment = till.pay(a_card_body("12.00") | TAXED)
    assert payment.phase is Phase.APPROVED
    return payment


def name_of(till: Till) -> str:
    return derived_guid("reversal", "key", till.agent.id, KEY)


def ask(till: Till, payment: Transaction, amount: str, now: datetime) -> ErrorCode | None:
    """The client asks, again or for the first time; the refusal, if it is refused."""
    try:
        till.give_back(payment, now, key=KEY, Amount=amount)
    except ServiceError as refusal:
        return refusal.error
    return None


def check(case: Case, payment: Transaction, name: str, *, came_back: bool) -> None:
    reversal, original, books = kept(name), kept(payment.id), booked(payment.id)
    assert original is not None
    assert books is not None
    given_back = reversal.amount_minor if reversal and reversal.phase is Phase.REVERSAL_APPROVED else 0

    assert reversal is not None or not came_back
    assert reversal is None or reversal.phase in case.ends
    assert books.reversed_minor == given_back
    assert (original.reversals.amount_minor, original.reversals.reserved_minor) == (given_back, 0)
    assert original.reversals.count == (1 if given_back else 0)
    taken = dict(original.reversals.given_back or {}).values()
    assert list(taken) == ([reversal.tax_amounts[0].tax_minor] if given_back and reversal else [0] * len(taken))
    assert (original.reversals.latest_id == name) is bool(given_back)
    assert not is_due(name, NOW.replace(month=5))


def settle(name: str) -> None:
    """Sweeps, until after the Deadline of the reversal; the acquirer can be asked again by then."""
    reversal = kept(name)
    for minutes in (3, 20):
        payment_sweep.run(NOW + minutes * MINUTE)
    if reversal is not None:
        payment_sweep.run(reversal.deadline)


@pytest.mark.parametrize("came_back", [True, False], ids=["the client returns", "the client is gone"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_reversal_that_stops_at_any_call_is_done_once_or_not_at_all(case: Case, *, came_back: bool) -> None:
    for number in range(1, _calls_of(case) + 1):
        for when in ("before", "after"):
            till = a_till()
            payment = a_card_payment(till)
            with broken(**case.faults):
                with stopping(number, when), suppress(ServiceError):
                    till.give_back(payment, NOW, key=KEY, Amount=case.amount)
                if came_back:
                    for at in (NOW + SECOND, NOW + MINUTE):
                        refused = ask(till, payment, case.amount, at)
                        assert refused in {None, ErrorCode.IN_PROGRESS, ErrorCode.DEPENDENCY_UNAVAILABLE}
            settle(name_of(till))

            with told("stopped", when, "call", number):
                check(case, payment, name_of(till), came_back=came_back)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_sweep_of_reversals_that_stops_at_any_call_is_made_good_by_the_next(when: str) -> None:
    case = CASES[0]
    for number in range(1, 40):
        till = a_till()
        payment = a_card_payment(till)
        with stopping(2, "after"):  # it is reserved, and the acquirer was not asked
            till.give_back(payment, NOW, key=KEY, Amount=case.amount)
        with stopping(number, when) as stopped_at:
            payment_sweep.run(NOW + 3 * MINUTE)
        settle(name_of(till))

        with told("stopped", when, "call", number):
            check(case, payment, name_of(till), came_back=True)
        if not stopped_at:
            return
    pytest.fail("the sweep makes more calls than were tried")


def test_what_is_reserved_cannot_be_given_back_twice() -> None:
    till = a_till()
    payment = a_card_payment(till)
    with broken(reverse=failing(AnswerLostError())):
        pending = till.give_back(payment, key=KEY)
    original = stored_transaction(payment.id)

    assert pending.is_pending
    assert (original.remaining_minor, original.refunded_minor, original.phase) == (0, 0, Phase.APPROVED)
    assert not original.is_reversed_in_full
    with pytest.raises(ServiceError) as refused:
        till.give_back(payment, Amount="0.01")
    assert refused.value.error is ErrorCode.EXCEEDS_REMAINDER


def test_what_the_acquirer_refuses_to_give_back_remains() -> None:
    till = a_till()
    payment = a_card_payment(till)
    declined = till.give_back(payment, Amount="5.05")
    with broken(reverse=failing(UnreachableError())), pytest.raises(ServiceError) as refused:
        till.give_back(payment, key=KEY)
    whole = till.give_back(payment)

    assert (declined.phase, declined.result.code) == (Phase.DECLINED, 5)
    assert refused.value.error is ErrorCode.DEPENDENCY_UNAVAILABLE
    assert (whole.phase, whole.amount_minor) == (Phase.REVERSAL_APPROVED, 1200)


def _calls_of(case: Case) -> int:
    till = a_till()
    payment = a_card_payment(till)
    with broken(**case.faults), counting() as calls, suppress(ServiceError):
        till.give_back(payment, key=KEY, Amount=case.amount)
    assert len(calls) >= 3
    return len(calls)
