"""At a bank that cannot be inquired: whatever goes wrong on the wire and wherever the process dies, the books agree.

Payments, returns and cancels over TCP. The bank's books say what it holds; ours must say the same to the cent.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime

import pytest

from chalicelib.domain.phases import Phase
from chalicelib.domain.reversibility import offers
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways.ids import derived_guid
from chalicelib.services import payment_sweep
from chalicelib.store import outbox
from chalicelib.store.table import read
from infra.bank import faults
from infra.bank.faults import Hook
from tests.support.builders import an_email
from tests.support.cards import a_card_body
from tests.support.intercepted_calls import counting, stopping, told
from tests.support.iso8583_stage import (
    RunningBank,
    a_till_of_the_bank,
    check_books,
    ending,
    first,
    of,
    paying_at_a_bank,
)
from tests.support.tills import MINUTE, SECOND, Till, is_due, kept
from tests.support.transactions import NOW

pytestmark = pytest.mark.usefixtures("exact_engine")
KEY = "the-only-one"
PAID = "12.30"
KINDS = {None: "payment", 5: "return", 3: "cancel"}  # by ReverseMode
NOT_THERE_YET = {None, ErrorCode.IN_PROGRESS, ErrorCode.DEPENDENCY_UNAVAILABLE}
POINTS = range(1, 40)  # more calls than a sweep makes


@dataclass(frozen=True)
class Case:
    """A payment (no mode) or a reversal of one, what goes wrong with its messages, and how it may end."""

    name: str
    amount: str
    ends: frozenset[Phase]
    mode: int | None = None
    hooks: tuple[Callable[[], Hook], ...] = ()
    listens: bool = True

    def __str__(self) -> str:
        return f"{KINDS[self.mode]}, {self.name}"


APPROVED, DECLINED = frozenset({Phase.APPROVED}), frozenset({Phase.DECLINED})
CANCELLED = frozenset({Phase.AUTO_CANCELLED})  # also what a process has not sent before it died
REJECTED, DONE = frozenset({Phase.REJECTED}), frozenset({Phase.REVERSAL_APPROVED})
GARBLED = {
    "lost": faults.lost(),
    "not carried out": faults.lost(carries_out=False),
    "garbage": ending(faults.garbage()),
    "another's answer": ending(faults.another_rrn()),
    "half an answer": faults.half(),
}
PAYMENTS = [
    Case("approved", PAID, APPROVED | CANCELLED),
    Case("declined", "12.05", DECLINED | CANCELLED),
    Case("answer lost", "12.67", CANCELLED),
    Case("never arrived", "12.69", CANCELLED),
    Case("signature owed", "12.08", APPROVED | CANCELLED),
    Case("approved for less", "12.70", DECLINED | CANCELLED),
    Case("garbage", "12.72", CANCELLED),
    Case("another's answer", PAID, CANCELLED, hooks=(first(1, GARBLED["another's answer"], "0200"),)),
    Case("half an answer", "12.77", CANCELLED),
    Case("another amount", "12.79", CANCELLED),
    Case("used before", PAID, CANCELLED, hooks=(first(1, faults.refused("94"), "0200"),)),
    Case("nobody listens", PAID, REJECTED | CANCELLED, listens=False),
    *(
        Case(f"lost, its advice {name}", "12.67", CANCELLED, hooks=(first(2, fault, "042"),))
        for name, fault in {**GARBLED, "not taken": faults.refused("96")}.items()
    ),
    Case("approved for less, its advice lost", "12.70", CANCELLED, hooks=(first(2, faults.lost(), "042"),)),
]
RETURNS = [
    Case("returned", "5.00", DONE | REJECTED, 5),
    Case("declined", "5.05", DECLINED | REJECTED, 5),
    Case("answer lost", "5.67", REJECTED, 5),
    Case("never arrived", "5.69", REJECTED, 5),
    Case("garbage", "5.72", REJECTED, 5),
    Case("another's answer", "5.00", REJECTED, 5, hooks=(first(1, GARBLED["another's answer"], "0200", "200000"),)),
    Case("nobody listens", "5.00", REJECTED, 5, listens=False),
    *(
        Case(f"lost, its advice {name}", "5.67", REJECTED, 5, hooks=(first(2, fault, "042"),))
        for name, fault in {**GARBLED, "not taken": faults.refused("96")}.items()
    ),
]
CANCELS = [
    Case("cancelled", PAID, DONE, 3),
    Case("refused", PAID, DECLINED | DONE, 3, hooks=(first(1, faults.refused("12"), "042"),)),
    Case("not taken", PAID, DONE, 3, hooks=(first(2, faults.refused("96"), "042"),)),
    Case("nobody listens", PAID, REJECTED | DONE, 3, listens=False),
    *(Case(f"answer {name}", PAID, DONE, 3, hooks=(first(2, fault, "042"),)) for name, fault in GARBLED.items()),
]
CASES = [*PAYMENTS, *RETURNS, *CANCELS]
# Messages that a hook spoils are as many kinds of the same thing: for the full product there is no time.
BY_A_CLIENT = [(case, came_back) for case in CASES for came_back in (True, False) if came_back or not case.hooks]
SWEPT = {"approved", "returned", "cancelled", "answer lost", "approved for less", "not taken"}
SWEPT |= {"lost, its advice lost", "lost, its advice not carried out"}
BY_THE_SWEEP = [case for case in CASES if case.name in SWEPT]


@pytest.fixture(scope="module")
def running(aws: None) -> Iterator[RunningBank]:
    del aws  # its settings come first
    with paying_at_a_bank() as running:
        yield running


@dataclass
class Attempt:
    """A till with the request of a case, which a client may send more than once."""

    case: Case
    running: RunningBank
    till: Till = field(default_factory=a_till_of_the_bank)

    def __post_init__(self) -> None:
        """Take the payment that is reversed; from then on things go wrong."""
        self.running.start_afresh()
        amount = self.case.amount if self.case.mode is None else PAID
        self.body = a_card_body(amount, Receipt={"Email": an_email()})
        self.payment: Transaction | None = None if self.case.mode is None else self.till.pay(self.body)
        self.running.bank.hooks += [hook() for hook in self.case.hooks]

    @property
    def id(self) -> str:
        """The ID of the payment or reversal that is asked for."""
        name: str = self.body["BasicTran"]["ID"]
        return name if self.payment is None else derived_guid("reversal", "key", self.till.agent.id, KEY)

    def send(self, now: datetime = NOW) -> ErrorCode | None:
        """Send the request, again or for the first time; return the refusal, if it is refused."""
        with nullcontext() if self.case.listens else self.running.away():
            try:
                if self.payment is None:
                    self.till.submit(self.body, now)
                else:
                    mode, amount = self.case.mode, self.case.amount
                    self.till.give_back(self.payment, now, key=KEY, ReverseMode=mode, Amount=amount)
            except ServiceError as refusal:
                return refusal.error
        return None

    def settle(self) -> None:
        """Let the sweep run each minute, and past the Deadline."""
        for minutes in (2, 3, 4):
            payment_sweep.run(NOW + minutes * MINUTE)
        if transaction := kept(self.id):
            payment_sweep.run(transaction.deadline)

    def check(self, *, came_back: bool) -> None:
        """Assert that it ended as it may, once, and that everything says the same."""
        transaction = kept(self.id)
        every = [of(one.id) for one in (self.payment, transaction) if one is not None]

        check_books(self.running.bank, every)
        assert transaction is not None or not came_back
        assert not is_due(self.id, NOW.replace(month=5))
        taken = sum(one.amount_minor for one in every if one.took_money)
        assert self.till.counted() == (len(every), taken)
        if transaction is None:
            return
        assert transaction.phase in self.case.ends
        if self.payment is None:
            paid = transaction.phase is Phase.APPROVED
            assert (read(outbox.key(f"{self.id}.email")) is not None) == paid
            assert offers(transaction, NOW).can_cancel_cnp == paid
        else:
            self._check_original(of(self.payment.id), done=transaction.phase is Phase.REVERSAL_APPROVED)

    def _check_original(self, original: Transaction, *, done: bool) -> None:
        reversed_minor = of(self.id).amount_minor if done else 0
        assert (original.reversals.amount_minor, original.reversals.reserved_minor) == (reversed_minor, 0)
        assert (original.reversals.count, original.reversals.latest_id) == ((1, self.id) if done else (0, None))
        assert offers(original, NOW).can_cancel_cnp != done


@pytest.mark.parametrize(("case", "came_back"), BY_A_CLIENT, ids=str)
def test_a_request_that_stops_leaves_both_books_equal(case: Case, running: RunningBank, *, came_back: bool) -> None:
    for number in range(1, _calls_of(case, running) + 1):  # before a call all is as it is after the one before
        attempt = Attempt(case, running)
        with stopping(number, "after"):
            attempt.send()
        if came_back:
            assert attempt.send(NOW + SECOND) in NOT_THERE_YET
            assert attempt.send(NOW + MINUTE) in NOT_THERE_YET
        attempt.settle()

        with told("stopped after call", number):
            attempt.check(came_back=came_back)


@pytest.mark.parametrize("case", BY_THE_SWEEP, ids=str)
def test_a_sweep_that_stops_at_any_call_is_made_good_by_the_next(case: Case, running: RunningBank) -> None:
    asked = _calls_of(case, running, until=("authorize", "reverse"))
    for number in POINTS:
        attempt = Attempt(case, running)
        with stopping(asked, "after"):  # the bank has it, and its answer was not stored
            attempt.send()
        crashes = 0
        for minutes in (2, 3):
            with stopping(number, "after") as stopped_at:
                payment_sweep.run(NOW + minutes * MINUTE)
            crashes += len(stopped_at)
        attempt.settle()
        payment_sweep.run(of(attempt.id).deadline + MINUTE)

        with told("stopped after call", number):
            attempt.check(came_back=True)
        if not crashes:
            return
    pytest.fail("the sweep makes more calls than were tried")


def _calls_of(case: Case, running: RunningBank, until: tuple[str, ...] = ()) -> int:
    """Return how many calls the request makes, up to the first of those named in `until`."""
    attempt = Attempt(case, running)
    with counting() as calls, suppress(ServiceError):
        attempt.send()
    assert len(calls) >= 4
    return next((number for number, name in enumerate(calls, 1) if name in until), len(calls))
