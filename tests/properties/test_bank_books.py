"""Whatever tills, the wire, the bank and the clock do: in the end nothing is pending, and our books are the bank's.

EXAMPLES in the environment is the number of stories that are tried; each has up to 25 steps.
"""

import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import Phase as Phases
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from chalicelib.domain.kinds import KINDS
from chalicelib.domain.phases import Phase
from chalicelib.domain.reversibility import CANCELS, ReverseMode, offers
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import lane_runner, payment_sweep
from infra.bank import faults
from tests.support.cards import TRACK2, a_card_body, chip_data
from tests.support.iso8583_stage import TOOK_MONEY, a_till_of_the_bank, check_books, ending, of, paying_at_a_bank
from tests.support.tills import SECOND, is_due, kept
from tests.support.transactions import NOW, a_body, a_guid

EXAMPLES = int(os.environ.get("EXAMPLES", "12"))
CENTS = st.sampled_from([0, 0, 0, 5, 8, 51, 67, 69, 70, 72, 77, 79])  # faults: docs/acquirer-host.md
FAULTS = st.sampled_from(
    [
        faults.lost(),
        faults.lost(carries_out=False),
        ending(faults.garbage()),
        ending(faults.another_rrn()),
        ending(faults.another_stan()),
        faults.half(),
        faults.refused("96"),
        faults.twice(),
    ]
)
MODES = {True: (ReverseMode.CANCEL, ReverseMode.RETURN), False: (ReverseMode.CANCEL_CNP, ReverseMode.RETURN_CNP)}
REFUSALS = {
    ErrorCode.VALIDATION_FAILED,
    ErrorCode.EXCEEDS_REMAINDER,
    ErrorCode.ALREADY_REVERSED,
    ErrorCode.CANCEL_WINDOW_CLOSED,
    ErrorCode.NOT_REVERSIBLE_HERE,
    ErrorCode.ORIGINAL_UNFINISHED,
}
NOT_THERE = {ErrorCode.DEPENDENCY_UNAVAILABLE, ErrorCode.IN_PROGRESS}
READ = {2: TRACK2, 3: chip_data(), 4: chip_data()}


def refusal_of(act: Callable[[], object]) -> ErrorCode | None:
    """Return why it is refused, if it is."""
    try:
        act()
    except ServiceError as refusal:
        return refusal.error
    return None


def by_card(input_type: int, amount: str) -> dict[str, Any]:
    """The body of a payment by a card that is keyed in (1) or read."""
    body = a_card_body(amount, basic={"InputType": input_type})
    if input_type in READ:
        body["Card"] = {"CardInputMode": 1, "CardDataInput": {"ReaderData": READ[input_type]}}
    return body


class Story(RuleBasedStateMachine):
    """One till, one bank, and what may happen to them."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.now: datetime = NOW
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.running = self.stack.enter_context(paying_at_a_bank(NOW, folder))
        lane_runner.memory().clear()
        self.till = a_till_of_the_bank()
        self.is_away = False
        self.payments: list[dict[str, Any]] = []  # the requests, each of which may come again
        self.reversals: list[tuple[str, str, dict[str, Any]]] = []  # payment, key, request
        self.found: set[str] = set()  # IDs of reversals

    @rule(rands=st.integers(1, 40), cents=CENTS, input_type=st.sampled_from([1, 2, 3, 4]))
    def pay_by_card(self, rands: int, cents: int, input_type: int) -> None:
        self.submit(by_card(input_type, f"{rands}.{cents:02}"), NOT_THERE)

    @rule(rands=st.integers(1, 40))
    def pay_in_cash(self, rands: int) -> None:
        self.submit(a_body(Amount=f"{rands}.00"), set())

    def submit(self, body: dict[str, Any], allowed: set[ErrorCode]) -> None:
        if body not in self.payments:
            self.payments.append(body)
        refused = refusal_of(lambda: self.till.submit(body, self.now))
        assert refused is None or refused in allowed

    @precondition(lambda self: self.payments)
    @rule(data=st.data())
    def submit_again(self, data: Any) -> None:
        self.submit(data.draw(st.sampled_from(self.payments)), NOT_THERE)

    @precondition(lambda self: self.payments)
    @rule(data=st.data(), cancel=st.booleans(), amount=st.none() | st.tuples(st.integers(0, 20), CENTS))
    def give_back(self, data: Any, *, cancel: bool, amount: tuple[int, int] | None) -> None:
        payment_id = data.draw(st.sampled_from(self.payments))["BasicTran"]["ID"]
        before = of(payment_id)
        mode = MODES[KINDS[before.input_type].card_present][0 if cancel else 1]
        basic: dict[str, Any] = {"ReverseMode": int(mode)}
        if amount is not None:
            basic["Amount"] = f"{amount[0]}.{amount[1]:02}"
        request = (payment_id, a_guid(), basic)
        self.reversals.append(request)
        refused = self.ask(*request)
        if refused in REFUSALS:
            flags = offers(before, self.now)
            is_offered = (
                (flags.can_cancel or flags.can_cancel_cnp)
                if mode in CANCELS
                else (flags.can_return or flags.can_return_cnp)
            )
            assert of(payment_id) == before
            assert not (is_offered and amount is None)

    def ask(self, payment_id: str, key: str, basic: dict[str, Any]) -> ErrorCode | None:
        refused = refusal_of(lambda: self.till.give_back(of(payment_id), self.now, key=key, **basic))
        assert refused is None or refused in REFUSALS | NOT_THERE
        self.found |= {one for one in [of(payment_id).reversals.requested_id] if one}  # of another request, if refused
        return refused

    @precondition(lambda self: self.reversals)
    @rule(data=st.data())
    def ask_again(self, data: Any) -> None:
        self.ask(*data.draw(st.sampled_from(self.reversals)))

    @precondition(lambda self: self.payments)
    @rule(data=st.data())
    def look(self, data: Any) -> None:
        names = [body["BasicTran"]["ID"] for body in self.payments] + sorted(self.found)
        self.till.look(data.draw(st.sampled_from(names)), self.now)

    @rule(fault=FAULTS, mti=st.sampled_from(["0200", "042", "042", "04", "0"]), count=st.integers(1, 4))
    def let_messages_go_wrong(self, fault: faults.Fault, mti: str, count: int) -> None:
        self.running.bank.hooks.append(faults.times(count, fault, mti))

    @precondition(lambda self: not self.is_away)
    @rule()
    def kill_the_bank(self) -> None:
        self.running.kill()
        self.is_away = True

    @precondition(lambda self: self.is_away)
    @rule()
    def bring_the_bank_back(self) -> None:
        self.running.come_back()
        self.is_away = False

    @rule(seconds=st.sampled_from([1, 4, 6, 26, 31, 61, 600, 3600, 12 * 3600, 30 * 3600]))
    def let_time_pass(self, seconds: int) -> None:
        self.now += seconds * SECOND
        self.running.now = self.now

    @rule()
    def let_a_sweep_run(self) -> None:
        self.let_time_pass(61)
        payment_sweep.run(self.now)

    @invariant()
    def no_payment_gives_back_more_than_it_took(self) -> None:
        mine = self.every_reversal()
        for payment in self.every_payment():
            own = [one for one in mine if one.original.id == payment.id]
            done = sum(one.amount_minor for one in own if one.phase is Phase.REVERSAL_APPROVED)
            pending = sum(one.amount_minor for one in own if one.is_pending)

            assert (payment.refunded_minor, payment.reversals.reserved_minor) == (done, pending)
            assert 0 <= payment.reversals.amount_minor <= payment.amount_minor

    def every_payment(self) -> list[Transaction]:
        return [one for body in self.payments if (one := kept(body["BasicTran"]["ID"])) is not None]

    def every_reversal(self) -> list[Transaction]:
        return [of(one) for one in sorted(self.found)]

    def teardown(self) -> None:
        """Bring the bank back, let nothing go wrong any more, and compare the books once the sweep has been at work."""
        with self.stack:
            if self.is_away:
                self.running.come_back()
            self.running.bank.hooks.clear()
            self.let_time_pass(26)
            for _ in range(10):
                self.let_time_pass(61)
                payment_sweep.run(self.now)
            self.let_time_pass(48 * 3600)
            payment_sweep.run(self.now)
            self.check()

    def check(self) -> None:
        payments, reversals = self.every_payment(), self.every_reversal()
        everything = [*payments, *reversals]

        check_books(self.running.bank, [one for one in everything if one.host is not None])
        assert not any(is_due(one.id, self.now + timedelta(days=1)) for one in everything)
        taken = sum(one.amount_minor for one in payments if one.phase in TOOK_MONEY)
        assert self.counted() == (len(everything), taken)

    def counted(self) -> tuple[int, int]:
        months = {f"{(NOW + days * timedelta(days=1)):%Y-%m}": NOW + days * timedelta(days=1) for days in range(120)}
        tallies = [self.till.counted(month.replace(day=5)) for month in months.values()]
        return sum(number for number, _ in tallies), sum(minor for _, minor in tallies)


@pytest.mark.usefixtures("moto")
def test_whatever_happens_our_books_are_the_banks_in_the_end() -> None:
    run_state_machine_as_test(
        Story,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=25,
            deadline=None,
            phases=(Phases.explicit, Phases.reuse, Phases.generate),  # to shrink what took so long takes minutes
            suppress_health_check=list(HealthCheck),
        ),
    )
