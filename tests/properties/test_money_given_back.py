"""Whatever tills do, in whatever order: no payment gives back more than it took, and no flag lies."""

from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from chalicelib.domain.agent import Caller
from chalicelib.domain.reversal import CARD_PRESENT_MODES, ReversalOrder, ReverseMode, offers, take_back
from chalicelib.domain.transaction import Phase, Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.payments import SubmitPayment
from chalicelib.schemas.reversals import ReversePayment
from chalicelib.services import payments, reversals
from chalicelib.store import logins, transactions
from chalicelib.store.table import read
from tests.transactions import NOW, a_body, a_guid, a_payment

REFUSALS = {
    ErrorCode.VALIDATION_FAILED,
    ErrorCode.EXCEEDS_REMAINDER,
    ErrorCode.ALREADY_REVERSED,
    ErrorCode.CANCEL_WINDOW_CLOSED,
    ErrorCode.NOT_REVERSIBLE_HERE,
}


@given(amounts=st.lists(st.integers(1, 1500), max_size=20))
def test_no_sequence_of_reversals_gives_back_more_than_was_paid(amounts: list[int]) -> None:
    payment = a_payment(amount_minor=1000)
    given_back = 0

    for amount_minor in amounts:
        order = ReversalOrder(payment.id, ReverseMode.RETURN, "{}", amount=Decimal(amount_minor) / 100)
        with suppress(ServiceError):
            taken = take_back(order, payment, NOW)
            given_back += taken
            payment = a_payment(amount_minor=1000, reversed_minor=given_back, reversals=payment.reversals + 1)

    assert payment.reversed_minor == given_back <= 1000


class Tills(RuleBasedStateMachine):
    """One till that pays, gives back, repeats itself and lets time pass."""

    def __init__(self) -> None:
        super().__init__()
        login = read(logins.key("till@demo.example"))
        assert login is not None
        self.caller = Caller(login.agent_id, login.client_id, login.credential_version, login.terminal_id)
        self.now: datetime = NOW
        self.paid: list[str] = []
        self.given_back: dict[str, int] = {}
        self.requests: list[tuple[ReversePayment, str]] = []

    def payment(self, name: str) -> Transaction:
        kept = transactions.get(name)
        assert kept is not None
        return kept

    @rule(amount_minor=st.integers(1, 2000))
    def pay(self, amount_minor: int) -> None:
        body = SubmitPayment.model_validate(a_body(Amount=Decimal(amount_minor) / 100))
        transaction, replayed = payments.submit(body, self.caller, self.now)
        again, second = payments.submit(body, self.caller, self.now)
        self.paid.append(transaction.id)
        self.given_back[transaction.id] = 0

        assert (replayed, second, again) == (False, True, transaction)

    @precondition(lambda self: self.paid)
    @rule(
        data=st.data(),
        mode=st.sampled_from([1, 2]),
        amount_minor=st.none() | st.integers(1, 2500),
        partial=st.none() | st.booleans(),
    )
    def give_back(self, data: Any, mode: int, amount_minor: int | None, *, partial: bool | None) -> None:
        name = data.draw(st.sampled_from(self.paid))
        before = self.payment(name)
        body = self.body(name, mode, amount_minor, partial=partial)
        try:
            reversal, _ = self.send(body, a_guid())
        except ServiceError as refused:
            self.check_refusal(before, mode, amount_minor, refused)
            return
        self.given_back[name] += reversal.amount_minor

        assert reversal.phase is Phase.GIVEN_BACK
        assert reversal.amount_minor == (amount_minor or before.remaining_minor)

    def body(self, name: str, mode: int, amount_minor: int | None, *, partial: bool | None) -> ReversePayment:
        basic: dict[str, Any] = {"TransactionID": name, "ReverseMode": mode}
        if amount_minor is not None:
            basic["Amount"] = Decimal(amount_minor) / 100
        if partial is not None:
            basic["PartialReverse"] = partial
        return ReversePayment.model_validate({"BasicReverseTran": basic})

    def send(self, body: ReversePayment, key: str) -> tuple[Transaction, bool]:
        self.requests.append((body, key))
        return reversals.reverse(body, self.caller, self.now, modes=CARD_PRESENT_MODES, key=key)

    def check_refusal(self, before: Transaction, mode: int, amount_minor: int | None, refused: ServiceError) -> None:
        """A refusal changed nothing, is one of the named ones, and no flag had promised otherwise."""
        flags = offers(before, self.now)
        offered = flags.can_cancel if mode == ReverseMode.CANCEL else flags.can_return
        whole = amount_minor in (None, before.remaining_minor)

        assert refused.error in REFUSALS
        assert self.payment(before.id) == before
        assert not (offered and whole) or refused.error is ErrorCode.VALIDATION_FAILED

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def repeat_a_request(self, data: Any) -> None:
        body, key = data.draw(st.sampled_from(self.requests))
        name = body.basic_reverse_tran.transaction_id
        before = self.payment(name)
        with suppress(ServiceError):
            reversal, replayed = self.send(body, key)
            if not replayed:  # it was refused then and is open now
                self.given_back[name] += reversal.amount_minor
                return

        assert self.payment(name) == before

    @rule(hours=st.integers(1, 30))
    def let_time_pass(self, hours: int) -> None:
        self.now += timedelta(hours=hours)

    @invariant()
    def nothing_is_given_back_that_was_not_paid(self) -> None:
        for name, given_back in self.given_back.items():
            payment = self.payment(name)
            assert payment.reversed_minor == given_back <= payment.amount_minor
            assert payment.remaining_minor == payment.amount_minor - given_back
            assert (payment.stands is Phase.REVERSED) is (payment.remaining_minor == 0)


@pytest.mark.usefixtures("stage")
def test_tills_never_give_back_more_than_they_took_and_flags_never_lie() -> None:
    run_state_machine_as_test(
        Tills,
        settings=settings(
            max_examples=10, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
