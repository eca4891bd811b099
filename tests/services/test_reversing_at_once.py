"""Many give back parts of the same payment at once: what is given back never exceeds it, and the rest is exact."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from tests.support.cards import a_card_body
from tests.support.tills import Till, a_till, booked, kept
from tests.support.transactions import a_body, a_guid

pytestmark = pytest.mark.usefixtures("dynamodb_local")
ROUNDS, THREADS, PART = 20, 64, 70
REFUSED = {ErrorCode.EXCEEDS_REMAINDER, ErrorCode.IN_PROGRESS, ErrorCode.STORE_UNAVAILABLE}


def give_back_parts(till: Till, payment: Transaction, tills: ThreadPoolExecutor, threads: int) -> int:
    """Return how many of the parts were accepted; every other one is refused by name."""

    def part(_: int) -> ErrorCode | Phase:
        try:
            return till.give_back(payment, Amount="0.70", ID=a_guid()).phase
        except ServiceError as refusal:
            return refusal.error

    answers = list(tills.map(part, range(threads)))
    assert set(answers) <= {Phase.REVERSAL_APPROVED, *REFUSED}
    return answers.count(Phase.REVERSAL_APPROVED)


def test_64_tills_never_give_back_more_than_was_paid() -> None:
    till = a_till()
    with ThreadPoolExecutor(THREADS) as tills:
        for number in range(ROUNDS):
            payment = till.pay(a_body(Amount="3.00"))
            accepted = give_back_parts(till, payment, tills, THREADS)
            after = kept(payment.id)

            assert after is not None, number
            assert (after.reversals.count, after.reversals.amount_minor) == (accepted, accepted * PART)
            assert after.reversals.amount_minor <= payment.amount_minor


def test_the_acquirer_gave_back_what_the_tills_were_told() -> None:
    till = a_till()
    with ThreadPoolExecutor(16) as tills:
        for _ in range(5):
            payment = till.pay(a_card_body("3.00"))
            accepted = give_back_parts(till, payment, tills, 16)
            after, books = kept(payment.id), booked(payment.id)

            assert after is not None
            assert books is not None
            assert books.reversed_minor == after.refunded_minor == accepted * PART
            assert (after.reversals.reserved_minor, after.remaining_minor) == (0, 300 - accepted * PART)
