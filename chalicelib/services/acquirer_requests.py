"""Requests to acquirers: each answer is noted, and one to a reversal must prove what it reversed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TypeVar

from chalicelib.domain.acquirer import (
    AcquirerAnswer,
    AcquirerError,
    AnswerLostError,
    ReversalRequest,
    UnreachableError,
    answers,
)
from chalicelib.domain.transaction import Transaction
from chalicelib.gateways import acquirers
from chalicelib.log import log, log_defect

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
