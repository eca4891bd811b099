"""Whatever tills do, in whatever order: no payment gives back more than it took, no flag lies, the books agree."""

from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import Phase as Phases
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from chalicelib.domain.kinds import KINDS
from chalicelib.domain.phases import FAILED, Phase
from chalicelib.domain.reversal import ReversalOrder, decide
from chalicelib.domain.reversibility import CANCELS, ReverseMode, offers
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import payment_sweep
from tests.support.cards import a_card_body
from tests.support.stored import stored_transaction
from tests.support.tills import MINUTE, TAXED, a_till, booked
from tests.support.transactions import NOW, a_body, a_guid, a_payment

REFUSALS = {
    ErrorCode.VALIDATION_FAILED,
    ErrorCode.EXCEEDS_REMAINDER,
    ErrorCode.ALREADY_REVERSED,
    ErrorCode.CANCEL_WINDOW_CLOSED,
    ErrorCode.NOT_REVERSIBLE_HERE,
    ErrorCode.ORIGINAL_UNFINISHED,
}
MODES = {True: (ReverseMode.CANCEL, ReverseMode.RETURN), False: (ReverseMode.CANCEL_CNP, ReverseMode.RETURN_CNP)}
TOOK_MONEY = {Phase.APPROVED, Phase.AWAITING_COMPLETION}
CENTS = st.sampled_from([0, 5, 8, 30, 68, 69])  # approved, declined, signature owed, answer lost, never arrived


@given(amounts=st.lists(st.integers(1, 1500), max_size=20))
def test_no_sequence_of_reversals_gives_back_more_than_was_paid(amounts: list[int]) -> None:
    payment = a_payment(amount_minor=1000)
    given_back = 0

    for amount_minor in amounts:
        order = ReversalOrder(payment.id, ReverseMode.RETURN, amount=Decimal(amount_minor) / 100)
        with suppress(ServiceError):
            given_back += decide(order, payment, NOW)
            payment = a_payment(
                amount_minor=1000, reversals_amount_minor=given_back, reversals_count=payment.reversals.count + 1
            )

    assert payment.reversals.amount_minor == given_back <= 1000


def of(transaction_id: str) -> Transaction:
    return stored_transaction(transaction_id)


class Tills(RuleBasedStateMachine):
    """One till that pays, gives back, repeats itself, while time passes and sweeps run."""

    def __init__(self) -> None:
        super().__init__()
        self.till = a_till()
        self.now: datetime = NOW
        self.reversals: dict[str, set[str]] = {}  # of each payment
        self.requests: list[tuple[str, str, dict[str, Any]]] = []

    @rule(amount_minor=st.integers(1, 2000))
    def pay_in_cash(self, amount_minor: int) -> None:
        self.pay(a_body(Amount=f"{Decimal(amount_minor) / 100:.2f}"))

    @rule(rands=st.integers(1, 20), cents=CENTS)
    def pay_by_card(self, rands: int, cents: int) -> None:
        self.pay(a_card_body(f"{rands}.{cents:02}"))

    def pay(self, body: dict[str, Any]) -> None:
        body |= TAXED
        payment = self.till.pay(body, self.now)
        self.reversals[payment.id] = set()
        with suppress(ServiceError):  # it may be unknown still, or become known by this
            again, replayed = self.till.submit(body, self.now)
            assert (again.id, replayed) == (payment.id, True)

    @precondition(lambda self: self.reversals)
    @rule(
        data=st.data(),
        cancel=st.booleans(),
        amount=st.none() | st.tuples(st.integers(0, 20), CENTS),
        partial=st.none() | st.booleans(),
    )
    def give_back(self, data: Any, *, cancel: bool, amount: tuple[int, int] | None, partial: bool | None) -> None:
        name = data.draw(st.sampled_from(sorted(self.reversals)))
        before = of(name)
        mode = MODES[KINDS[before.input_type].card_present][0 if cancel else 1]
        basic: dict[str, Any] = {"ReverseMode": int(mode)}
        if amount is not None:
            basic["Amount"] = f"{amount[0]}.{amount[1]:02}"
        if partial is not None:
            basic["PartialReverse"] = partial
        key = a_guid()
        self.requests.append((name, key, basic))
        try:
            self.ask(name, key, basic)
        except ServiceError as refused:
            self.check_refusal(before, mode, basic, refused)

    def ask(self, name: str, key: str, basic: dict[str, Any]) -> None:
        reversal = self.till.give_back(of(name), self.now, key=key, **basic)
        self.reversals[name].add(reversal.id)

    def check_refusal(
        self, before: Transaction, mode: ReverseMode, basic: dict[str, Any], refused: ServiceError
    ) -> None:
        """A refusal changed nothing, is one of the named ones, and no flag had promised otherwise."""
        flags = offers(before, self.now)
        cancel = flags.can_cancel or flags.can_cancel_cnp
        offered = cancel if mode in CANCELS else flags.can_return or flags.can_return_cnp
        plain = "Amount" not in basic and "PartialReverse" not in basic

        assert refused.error in REFUSALS
        assert of(before.id) == before
        assert not (offered and plain)

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def repeat_a_request(self, data: Any) -> None:
        name, key, basic = data.draw(st.sampled_from(self.requests))
        with suppress(ServiceError):
            self.ask(name, key, basic)

    @rule(hours=st.integers(1, 30))
    def let_time_pass(self, hours: int) -> None:
        self.now += timedelta(hours=hours)

    @rule()
    def let_a_sweep_run(self) -> None:
        self.now += 5 * MINUTE
        payment_sweep.run(self.now)

    @invariant()
    def no_payment_gives_back_more_than_it_took(self) -> None:
        for name, names in self.reversals.items():
            payment, reversals = of(name), [of(one) for one in names]
            done = sum(one.amount_minor for one in reversals if one.phase is Phase.REVERSAL_APPROVED)
            pending = sum(one.amount_minor for one in reversals if one.is_pending)

            assert (payment.refunded_minor, payment.reversals.reserved_minor) == (done, pending)
            assert 0 <= payment.reversals.amount_minor <= payment.amount_minor
            assert payment.reversals.count == sum(
                one.is_pending or one.phase is Phase.REVERSAL_APPROVED for one in reversals
            )
            assert payment.is_reversed_in_full is (done == payment.amount_minor)
            self.check_taxes(payment, [one for one in reversals if one.is_pending or one.phase not in FAILED])
            self.check_the_acquirers_books(payment, done, pending)

    @staticmethod
    def check_taxes(payment: Transaction, counted: list[Transaction]) -> None:
        """A payment knows the taxes of its reversals, also of unfinished ones. All of them take all of it."""
        [whole] = payment.tax_amounts
        back = [one for reversal in counted for one in reversal.tax_amounts]
        sums = sum(one.gross_minor for one in back), sum(one.tax_minor for one in back)
        stored = payment.reversals.given_back or {}

        assert stored.get("tax0", 0) == sums[1]
        if payment.remaining_minor == 0:
            assert sums == (whole.gross_minor, whole.tax_minor)

    def check_the_acquirers_books(self, payment: Transaction, done: int, pending: int) -> None:
        entry = booked(payment.id)
        if payment.is_pending or entry is None:
            return
        assert (entry.code == 0) is (payment.phase in TOOK_MONEY) or payment.phase is Phase.AUTO_CANCELLED
        if payment.phase in TOOK_MONEY:
            assert done <= entry.reversed_minor <= done + pending

    def teardown(self) -> None:
        """Once all is swept nothing is pending, and the totals are what a recount finds."""
        self.now += timedelta(days=2)
        for _ in range(3):
            self.now += 20 * MINUTE
            payment_sweep.run(self.now)
        everything = [
            of(name) for name in {*self.reversals, *(one for some in self.reversals.values() for one in some)}
        ]
        taken = [one for one in everything if not one.is_reversal and one.phase in TOOK_MONEY]
        months = {(one.created_at + timedelta(hours=one.gmt)).replace(day=1, hour=12) for one in everything}
        counted = [self.till.counted(month) for month in {f"{month:%Y-%m}": month for month in months}.values()]

        assert not any(one.is_pending for one in everything)
        assert sum(number for number, _ in counted) == len(everything)
        assert sum(money for _, money in counted) == sum(one.amount_minor for one in taken)


@pytest.mark.usefixtures("moto")
def test_tills_never_give_back_more_than_they_took_and_flags_never_lie() -> None:
    run_state_machine_as_test(
        Tills,
        settings=settings(
            max_examples=8,
            stateful_step_count=20,
            deadline=None,
            phases=(Phases.explicit, Phases.reuse, Phases.generate),  # to shrink what took so long takes minutes
            suppress_health_check=list(HealthCheck),
        ),
    )
