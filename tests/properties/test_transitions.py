"""Each legal move of the table of transitions is made by something a till or the sweep does, and no other move is."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from chalicelib.domain.acquirer import AcquirerAnswer, AnswerLostError, UnreachableError
from chalicelib.domain.phases import TRANSITIONS, Phase
from chalicelib.domain.reversibility import CARD_PRESENT_MODES, CNP_MODES
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ServiceError
from chalicelib.services import payment_sweep
from chalicelib.store import transactions
from chalicelib.store.table import table_name
from tests.simulation.store import Change
from tests.support.cards import a_card_body
from tests.support.host_without_inquiry import without_inquiries
from tests.support.intercepted_calls import StoppedError, broken, failing
from tests.support.store_in_memory import StoreInMemory
from tests.support.tills import MINUTE, Till, a_till
from tests.support.transactions import NOW

pytestmark = pytest.mark.usefixtures("memory")

Move = tuple[Phase, Phase]
LOST = failing(AnswerLostError())
REFUSED = AcquirerAnswer(5, "Do not honour")


@pytest.fixture
def moves(store_in_memory: StoreInMemory) -> Iterator[list[Move]]:
    """The moves that are stored while a test runs."""
    seen: list[Move] = []

    def note(change: Change) -> None:
        if change.table.name == table_name(transactions.TABLE) and change.before and change.after:
            before, after = (Phase(item["phase"]["S"]) for item in (change.before, change.after))
            if before is not after:
                seen.append((before, after))

    store_in_memory.store.watched.append(note)
    yield seen
    store_in_memory.store.watched.remove(note)


def pay(amount: str = "12.30", **parts: Any) -> None:
    """Take a payment by card, whose cents decide; nothing happens later."""
    with suppress(ServiceError):
        a_till().pay(a_card_body(amount, **parts))


def pay_and_sweep(amount: str, **parts: Any) -> None:
    """Take a payment whose answer is lost, and let the sweep resolve it."""
    pay(amount, **parts)
    payment_sweep.run(NOW + 3 * MINUTE)


def stand_still_and_find_no_connection() -> None:
    """Take a payment in a process that reaches no acquirer once it goes on: by then a sweep has asked in vain."""

    def authorize(*_: Any) -> Any:
        with broken(inquire=LOST):
            payment_sweep.run(NOW + MINUTE)
        raise UnreachableError

    with broken(authorize=authorize), suppress(ServiceError):
        a_till().pay(a_card_body())


def no_connection() -> None:
    with broken(authorize=failing(UnreachableError())):
        pay()


def leave_unknown(till: Till) -> Transaction:
    with broken(inquire=LOST):
        return till.pay(a_card_body("12.68"))


def unknown_at_deadline() -> None:
    payment = leave_unknown(a_till())
    with broken(inquire=LOST):
        payment_sweep.run(payment.deadline)


def awaiting_at_deadline() -> None:
    payment = a_till().pay(a_card_body("12.08"))
    payment_sweep.run(payment.deadline)


def reverse(*, cancel: bool, **methods: Callable[..., Any]) -> None:
    till = a_till()
    payment = till.pay(a_card_body())
    mode = min((CARD_PRESENT_MODES | CNP_MODES) & ({3} if cancel else {5}))
    with broken(**methods), suppress(ServiceError):
        till.give_back(payment, ReverseMode=int(mode))


def answer_later(amount: str, answer: AcquirerAnswer, **parts: Any) -> None:
    """Take a payment whose answer is lost; an inquiry then finds this answer."""
    pay("12.68" if amount == "lost" else amount, **parts)
    with broken(inquire=lambda *_: answer):
        payment_sweep.run(NOW + 3 * MINUTE)


def at_host(*, authorize: Callable[..., Any] = LOST, later: bool = True) -> None:
    """Take a payment at a host that cannot be inquired, and let the sweep look after it."""
    with without_inquiries(), broken(authorize=authorize), suppress(ServiceError, StoppedError):
        a_till().pay(a_card_body())
    if later:
        with without_inquiries():
            payment_sweep.run(NOW + MINUTE)


def return_at_host() -> None:
    till = a_till()
    with without_inquiries():
        payment = till.pay(a_card_body())
        with broken(reverse=LOST):
            till.give_back(payment)
        payment_sweep.run(NOW + MINUTE)


PARTIAL = AcquirerAnswer(10, "Approved for less")
APPROVED = AcquirerAnswer(0, "Approved")
SECOND_STEP = {"AcqTran": {"SingleStepAuthMode": False}}
SCENARIOS: dict[Move, Callable[[], None]] = {
    (Phase.SENT, Phase.APPROVED): pay,
    (Phase.SENT, Phase.AWAITING_COMPLETION): lambda: pay("12.08"),
    (Phase.SENT, Phase.DECLINED): lambda: pay("12.05"),
    (Phase.SENT, Phase.UNKNOWN): lambda: pay("12.68"),
    (Phase.SENT, Phase.REJECTED): no_connection,
    (Phase.UNKNOWN, Phase.APPROVED): lambda: pay_and_sweep("12.68"),
    (Phase.UNKNOWN, Phase.AWAITING_COMPLETION): lambda: answer_later("lost", APPROVED, **SECOND_STEP),
    (Phase.UNKNOWN, Phase.DECLINED): lambda: answer_later("lost", REFUSED),
    (Phase.UNKNOWN, Phase.REJECTED): stand_still_and_find_no_connection,
    (Phase.UNKNOWN, Phase.AUTO_CANCELLING): unknown_at_deadline,
    (Phase.AUTO_CANCELLING, Phase.AUTO_CANCELLED): unknown_at_deadline,
    (Phase.SENT, Phase.AUTO_CANCELLING): lambda: at_host(authorize=failing(StoppedError())),
    (Phase.AUTO_CANCELLING, Phase.DECLINED): lambda: at_host(authorize=lambda *_: PARTIAL, later=False),
    (Phase.RETURNING, Phase.AUTO_CANCELLING): return_at_host,
    (Phase.AUTO_CANCELLING, Phase.REJECTED): return_at_host,
    (Phase.AWAITING_COMPLETION, Phase.APPROVED): awaiting_at_deadline,
    (Phase.CANCELLING, Phase.REVERSAL_APPROVED): lambda: reverse(cancel=True),
    (Phase.CANCELLING, Phase.DECLINED): lambda: reverse(cancel=True, reverse=lambda *_: REFUSED),
    (Phase.CANCELLING, Phase.REJECTED): lambda: reverse(cancel=True, reverse=failing(UnreachableError())),
    (Phase.RETURNING, Phase.REVERSAL_APPROVED): lambda: reverse(cancel=False),
    (Phase.RETURNING, Phase.DECLINED): lambda: reverse(cancel=False, reverse=lambda *_: REFUSED),
    (Phase.RETURNING, Phase.REJECTED): lambda: reverse(cancel=False, reverse=failing(UnreachableError())),
}


@pytest.mark.parametrize("move", SCENARIOS, ids=lambda move: f"{move[0]} to {move[1]}")
def test_a_legal_move_is_made(move: Move, moves: list[Move]) -> None:
    SCENARIOS[move]()

    assert move in moves


def test_the_table_holds_the_moves_that_are_made_and_no_other() -> None:
    assert set(SCENARIOS) == {(before, after) for before, afters in TRANSITIONS.items() for after in afters}
