"""No caller can make, occupy or answer a reference of the service; an acknowledgement proves what it acknowledges."""

import uuid
from collections.abc import Callable

import pytest

from chalicelib.domain.acquirer import PARTIAL, AcquirerAnswer, AnswerLostError, Reversed
from chalicelib.domain.phases import Phase
from chalicelib.domain.reversibility import ReverseMode
from chalicelib.domain.transaction import Transaction
from chalicelib.gateways.ids import derived_guid
from chalicelib.services import payment_sweep
from tests.support.cards import STEADY, a_card_body
from tests.support.host_without_inquiry import Host, without_inquiries
from tests.support.intercepted_calls import broken, failing
from tests.support.stored import delete_due_transactions, stored_transaction
from tests.support.tills import MINUTE, Till, a_till, booked, is_charged
from tests.support.transactions import NOW

LOST = failing(AnswerLostError())


@pytest.fixture(autouse=True)
def nothing_due(engine: str) -> None:
    del engine
    delete_due_transactions()


def unknown(till: Till, amount: str = "12.68") -> Transaction:
    """A payment whose answer is lost."""
    return till.pay(a_card_body(amount))


def guessed(payment: Transaction) -> str:
    """The reference of its automatic cancel, as it could be computed from its ID once."""
    return str(uuid.uuid5(uuid.UUID(payment.id), "auto-cancel")).upper()


def test_an_approved_payment_is_not_taken_for_the_acknowledgement_of_a_cancel() -> None:
    till, attacker = a_till(), a_till()
    payment = unknown(till)
    forged = [guessed(payment), derived_guid("auto-cancel", payment.id), payment.auto_cancel_id or ""]
    for reference in forged:
        attacker.pay(a_card_body("12.68", STEADY, basic={"ID": reference}))

    with broken(inquire=LOST):
        payment_sweep.run(payment.deadline)

    assert stored_transaction(payment.id).phase is Phase.AUTO_CANCELLING or not is_charged(payment.id)


def test_what_was_reserved_by_a_guessed_reference_does_not_stop_the_cancel() -> None:
    till, attacker = a_till(), a_till()
    payment = unknown(till)
    attacker.pay(a_card_body("12.68", STEADY, basic={"ID": guessed(payment)}))

    with broken(inquire=LOST):
        payment_sweep.run(payment.deadline)

    assert stored_transaction(payment.id).phase is Phase.AUTO_CANCELLED
    assert not is_charged(payment.id)


def test_a_payment_that_never_arrived_is_not_given_up_on_a_forged_acknowledgement() -> None:
    till, attacker = a_till(), a_till()
    payment = unknown(till, "12.69")
    attacker.pay(a_card_body("12.30", STEADY, basic={"ID": guessed(payment)}))

    payment_sweep.run(NOW + 3 * MINUTE)

    record = booked(payment.id)
    assert stored_transaction(payment.id).phase is Phase.REJECTED
    assert record is not None
    assert record.code == 68  # so it cannot be approved any more


def test_the_reference_of_a_cancel_is_random_and_stored_with_the_payment() -> None:
    till = a_till()
    one, other = unknown(till), unknown(till)

    assert one.auto_cancel_id
    assert stored_transaction(one.id).auto_cancel_id == one.auto_cancel_id
    assert one.auto_cancel_id not in {guessed(one), other.auto_cancel_id}


Answer = Callable[[str, int], AcquirerAnswer]  # of an original and an amount that were to be reversed
FOREIGN: dict[str, Answer] = {
    "an approval of a payment": lambda _, __: AcquirerAnswer(0, "Approved"),
    "another payment": lambda _, minor: AcquirerAnswer(0, "Approved", reverses=Reversed("A", minor)),
    "another amount": lambda original, minor: AcquirerAnswer(0, "Approved", reverses=Reversed(original, minor - 1)),
    "a decline of another": lambda _, minor: AcquirerAnswer(5, "Do not honour", reverses=Reversed("A", minor)),
}


def right(original: str, amount_minor: int) -> AcquirerAnswer:
    return AcquirerAnswer(0, "Approved", reverses=Reversed(original, amount_minor))


def reversing(answer: Answer) -> Callable[..., AcquirerAnswer]:
    return lambda request, _=0: answer(request.original, request.amount_minor)


# Each call that reverses: the transaction that waits for its answer.


def a_return(till: Till, answer: Answer, mode: ReverseMode = ReverseMode.RETURN_CNP) -> str:
    payment = till.pay(a_card_body("12.30"))
    with broken(reverse=reversing(answer)):
        return till.give_back(payment, ReverseMode=int(mode)).id


def a_cancel(till: Till, answer: Answer) -> str:
    return a_return(till, answer, ReverseMode.CANCEL_CNP)


def an_inquiry_about_a_return(till: Till, answer: Answer) -> str:
    payment = till.pay(a_card_body("12.30"))
    with broken(reverse=LOST):
        reversal = till.give_back(payment)
    with broken(inquire=lambda *_: answer(payment.id, 1230)):
        payment_sweep.run(NOW + 3 * MINUTE)
    return reversal.id


def a_repeated_return(till: Till, answer: Answer) -> str:
    payment = till.pay(a_card_body("12.30"))
    with broken(reverse=LOST):
        reversal = till.give_back(payment)
    with broken(inquire=lambda *_: None, reverse=reversing(answer)):
        payment_sweep.run(NOW + 3 * MINUTE)
    return reversal.id


def an_automatic_cancel(till: Till, answer: Answer) -> str:
    payment = unknown(till)
    with broken(inquire=LOST, reverse=reversing(answer)):
        payment_sweep.run(payment.deadline)
    return payment.id


def a_reversal_of_a_partial_approval(till: Till, answer: Answer) -> str:
    with broken(authorize=lambda *_: AcquirerAnswer(PARTIAL, "Partly"), reverse=reversing(answer)):
        return till.pay(a_card_body("12.30")).id


def an_advice(till: Till, answer: Answer) -> str:
    with without_inquiries(Host(to_advices=reversing(answer))):
        payment = unknown(till)
        payment_sweep.run(NOW + 3 * MINUTE)
    return payment.id


def a_repeated_advice(till: Till, answer: Answer) -> str:
    with without_inquiries(Host(to_advices=LOST)) as host:
        payment = unknown(till)
        payment_sweep.run(NOW + 3 * MINUTE)
        host.to_advices = reversing(answer)
        payment_sweep.run(NOW + 9 * MINUTE)
    return payment.id


def a_repeated_cancel(till: Till, answer: Answer) -> str:
    with without_inquiries():
        payment = till.pay(a_card_body("12.30"))
        with broken(reverse=LOST):
            cancel = till.give_back(payment, ReverseMode=int(ReverseMode.CANCEL_CNP))
        with broken(reverse=reversing(answer)):
            payment_sweep.run(NOW + 3 * MINUTE)
    return cancel.id


CALLS = (
    *(a_return, a_cancel, an_inquiry_about_a_return, a_repeated_return, an_automatic_cancel),
    *(a_reversal_of_a_partial_approval, an_advice, a_repeated_advice, a_repeated_cancel),
)


def test_an_answer_about_a_reversal_decides_nothing_about_a_payment() -> None:
    with broken(authorize=lambda *_: right("A", 1230)):
        payment = a_till().pay(a_card_body("12.30"))

    assert stored_transaction(payment.id).phase is Phase.UNKNOWN


@pytest.mark.parametrize("call", CALLS)
def test_an_answer_about_another_payment_or_amount_decides_nothing_at_any_call(
    call: Callable[[Till, Answer], str],
) -> None:
    pending = {what: stored_transaction(call(a_till(), answer)).is_pending for what, answer in FOREIGN.items()}

    assert pending == dict.fromkeys(FOREIGN, True)
    assert not stored_transaction(call(a_till(), right)).is_pending


def test_an_answer_about_a_reversal_decides_no_payment() -> None:
    payment = unknown(a_till())
    about_a_reversal = AcquirerAnswer(0, "Approved", reverses=Reversed("A", 1268))
    with broken(inquire=lambda *_: about_a_reversal):
        payment_sweep.run(NOW + 3 * MINUTE)

    assert stored_transaction(payment.id).phase is Phase.UNKNOWN


def test_no_other_agent_gets_the_reversal_id_of_a_key() -> None:
    till, attacker = a_till(), a_till()
    payment, other = till.pay(a_card_body()), attacker.pay(a_card_body())
    ours, theirs = till.give_back(payment, key="refund-1"), attacker.give_back(other, key="refund-1")

    # a formula without a secret, which every tenant could compute
    namespace = uuid.UUID("6f6c1f7e-3b0c-4c1e-9d57-0d1f2a6f4b1a")
    computable = {str(uuid.uuid5(namespace, f"key:{till.agent.id}:refund-1")).upper()}
    assert ours.id != theirs.id
    assert ours.id not in computable


def test_a_till_that_repeats_its_key_gets_its_payment() -> None:
    till, attacker = a_till(), a_till()
    body = a_card_body()
    del body["BasicTran"]["ID"]

    first, replayed = till.submit(body, key="sale-1")
    again, repeated = till.submit(body, NOW + MINUTE, key="sale-1")
    theirs, foreign = attacker.submit(body, key="sale-1")

    assert (replayed, repeated, foreign) == (False, True, False)
    assert first.id == again.id != theirs.id
