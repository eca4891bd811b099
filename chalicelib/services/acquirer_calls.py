"""Calls to acquirers: the numbers of their messages (STAN, RRN), the request, and a note of each answer.

The notes feed the circuit breakers of the sweep. An answer to a reversal must prove the payment it reversed.
"""

import secrets
import string
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TypeVar

from chalicelib.domain import host_messages
from chalicelib.domain.acquirer import (
    AcquirerAnswer,
    AcquirerError,
    AnswerLostError,
    ReversalRequest,
    UnreachableError,
    answers,
)
from chalicelib.domain.terminal import Terminal
from chalicelib.domain.transaction import Transaction
from chalicelib.gateways import acquirers
from chalicelib.log import log, log_defect
from chalicelib.store import sequences

T = TypeVar("T")

AUTHORIZE_SECONDS = 20  # of the 29 s a gateway waits
RESOLVE_SECONDS = 5  # an inquiry or an automatic reversal: whoever waits for it can come back
AUTO_CANCEL_ATTEMPTS = 2  # an answer that was lost is repeated

_noted: ContextVar[list[bool] | None] = ContextVar("noted", default=None)


@contextmanager
def noted(answers: list[bool]) -> Iterator[None]:
    """Add to `answers`, for each request of the block, whether it was answered: the sweep's circuit breakers use it."""
    token = _noted.set(answers)
    try:
        yield
    finally:
        _noted.reset(token)


def call(transaction: Transaction, request: Callable[[], T]) -> T:
    """Return the acquirer's answer, or raise AcquirerError. An adapter's defect is one more way to lose an answer."""
    answered = False
    try:
        answer = request()
        answered = True
    except UnreachableError:
        raise
    except AcquirerError:
        log("answer_lost", acquirer=transaction.acquirer, transaction=transaction.id)
        raise
    except Exception as defect:  # noqa: BLE001  whatever it was, the request may have been sent
        log_defect(defect, transaction=transaction.id)
        raise AnswerLostError from None  # its message may quote the card
    finally:
        answers_noted = _noted.get()
        if answers_noted is not None:
            answers_noted.append(answered)
    return answer


def reverse(transaction: Transaction, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
    """Return the acquirer's answer to a reversal, which must prove that it is one of this payment and amount."""
    acquirer = acquirers.named(transaction.acquirer)
    return proved(transaction, request, call(transaction, lambda: acquirer.reverse(request, within_s)))


def proved(transaction: Transaction, request: ReversalRequest, answer: AcquirerAnswer) -> AcquirerAnswer:
    """Return the answer to a reversal; one that is about anything else is logged and counts as lost."""
    if not answers(answer, request):
        log("unproved", transaction=transaction.id, reference=request.reference, code=answer.code)
        raise AnswerLostError
    return answer


def is_acknowledged(transaction: Transaction, request: ReversalRequest, attempts: int = AUTO_CANCEL_ATTEMPTS) -> bool:
    """Request an automatic reversal; return whether the acquirer acknowledged it. Repeated it is the same reversal."""
    for _ in range(attempts):
        with suppress(AcquirerError):
            return reverse(transaction, request, RESOLVE_SECONDS).is_approved
    return False


RRN_ALPHABET, RRN_LENGTH = string.ascii_uppercase + string.digits, 12


def identify_payment(payment: Transaction, terminal: Terminal) -> Transaction:
    """Return a payment with what its host will recognise it by; as it is when its acquirer can be inquired."""
    acquirer = acquirers.named(payment.acquirer)
    if acquirer.can_inquire:
        return payment
    numbers = _next_stans(terminal.back_retailer_id or "", terminal.tid)
    return host_messages.identified_payment(payment, terminal, acquirer.institution, _new_rrn(), numbers)


def identify_reversal(reversal: Transaction, original: Transaction) -> Transaction:
    """Return a reversal with what its host will recognise it by; as it is when its acquirer can be inquired."""
    if original.host is None:
        return reversal
    numbers = _next_stans(original.host.terminal.mid, original.terminal_name)
    return host_messages.identified_reversal(reversal, original, _new_rrn(), numbers)


def _next_stans(mid: str, tid: str) -> range:
    """Return the numbers of a transaction.

    A terminal's sequence begins anywhere: tables that are new, as those of a stage that keeps no data, do not give the
    numbers again that the host had from the tables before them.
    """
    return sequences.next_stans(mid, tid, host_messages.STANS, start=secrets.randbelow(host_messages.LAST_STAN))


def _new_rrn() -> str:
    """Return a random RRN. Of 10^8 in 400 days, the chance that any two are equal is 10^16 / (2 * 36^12), 0.1 %.

    Should it happen, the host answers 94 to the second, which is reversed; the first has another STAN, so it stands.
    """
    return "".join(secrets.choice(RRN_ALPHABET) for _ in range(RRN_LENGTH))
