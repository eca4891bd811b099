"""Outcomes: the acquirer is called, and the outcome of a transaction is resolved and stored, each step conditional.

A crash or a lost answer anywhere leaves the transaction pending and due; whoever resolves it next goes on from what is
stored.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TypeVar

from chalicelib.domain import outcome
from chalicelib.domain.acquirer import (
    AcquirerAnswer,
    AcquirerError,
    AnswerLostError,
    AuthorizationRequest,
    ReversalRequest,
    UnreachableError,
    answers,
)
from chalicelib.domain.reversal import reversal_request
from chalicelib.domain.transaction import Phase, Transaction
from chalicelib.errors import RETRY, ErrorCode, ServiceError
from chalicelib.gateways import acquirers
from chalicelib.log import log, log_defect
from chalicelib.services import acquirer_answers, outbox
from chalicelib.services.identifiers import derived_guid
from chalicelib.store import history, linked_cards, transactions
from chalicelib.store import outbox as outbox_store

T = TypeVar("T")
Step = Callable[[Transaction], Transaction]

AUTHORIZE_SECONDS = 20  # of the 29 s a gateway waits
RESOLVE_SECONDS = 5  # an inquiry or an automatic reversal: whoever waits for it can come back
AUTO_CANCEL_ATTEMPTS = 2  # an answer that was lost is repeated
ATTEMPTS = 4  # to store an outcome while others go on with the same transaction


def authorize(payment: Transaction, request: AuthorizationRequest, now: datetime) -> Transaction:
    """Request a payment that was just stored from its acquirer, and return the payment as it is then."""
    try:
        answer = _call(payment, lambda: acquirers.named(payment.acquirer).authorize(request, AUTHORIZE_SECONDS))
        step: Step = partial(outcome.with_answer, answer=answer)
    except UnreachableError:
        step = outcome.not_attempted
    except AnswerLostError:
        step = outcome.unknown

    return advance(payment, step, now)


def reverse(reversal: Transaction, request: ReversalRequest, now: datetime) -> Transaction:
    """Request a reversal whose amount was just reserved from its acquirer, and return it as it is then."""
    try:
        answer = _request_reversal(reversal, request, AUTHORIZE_SECONDS)
    except UnreachableError:
        return advance(reversal, outcome.not_attempted, now)
    except AnswerLostError:
        return reversal
    return advance(reversal, partial(outcome.reversal_with_answer, answer=answer), now)


def _request_reversal(transaction: Transaction, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
    """Return the acquirer's answer to a reversal, which must prove that it is one of this payment and amount."""
    acquirer = acquirers.named(transaction.acquirer)
    return _proved(transaction, request, _call(transaction, lambda: acquirer.reverse(request, within_s)))


def _proved(transaction: Transaction, request: ReversalRequest, answer: AcquirerAnswer) -> AcquirerAnswer:
    """Return the answer to a reversal; one that is about anything else is logged and counts as lost."""
    if not answers(answer, request):
        log("unproved", transaction=transaction.id, reference=request.reference, code=answer.code)
        raise AnswerLostError
    return answer


def require_attempted(transaction: Transaction, *, replayed: bool = False) -> Transaction:
    """Return the transaction; 902 when nothing was attempted for it, each time it is requested."""
    if not outcome.was_not_attempted(transaction):
        return transaction
    message = f"{ErrorCode.DEPENDENCY_UNAVAILABLE.message} Ask again with a new ID."
    headers = {**RETRY, "Idempotent-Replayed": "true"} if replayed else RETRY
    raise ServiceError(ErrorCode.DEPENDENCY_UNAVAILABLE, message, headers=headers)


def refresh(transaction: Transaction, now: datetime) -> Transaction:
    """Return a transaction a caller requests; a pending one is resolved first, at most once in a few seconds."""
    if not transaction.is_pending or outcome.is_in_progress(transaction, now):
        return transaction
    return resolve(transaction, now)


def resolve(payment: Transaction, now: datetime) -> Transaction:
    """Take a payment or reversal that is due as far as it goes now, unless another process does."""
    if not transactions.claim(payment, now):
        return payment
    if payment.is_reversal:
        return advance(payment, _outcome_of_reversal(payment, now), now)
    if payment.phase in (Phase.SENT, Phase.UNKNOWN):
        payment = advance(payment, _outcome(payment, now), now)
    if now >= payment.deadline:
        payment = _at_deadline(payment, now)
    return payment


def advance(payment: Transaction, step: Step, now: datetime) -> Transaction:
    """Store the next step of a transaction, from the phase it is in by then; return it as it is, whoever moved it."""
    for _ in range(ATTEMPTS):
        after = step(payment)
        if not outcome.may_move_to(payment, after.phase):
            return payment
        try:
            _store(payment, after, now)
        except transactions.PhaseChangedError:
            payment = transactions.get(payment.id) or payment
        else:
            return after
    return payment


def _store(before: Transaction, after: Transaction, now: datetime) -> None:
    """Store the step; with the outcome its place in the history, its linked card's count, and the receipts."""
    decided = before.is_pending and not after.is_pending
    receipts = outbox.receipts_for(after, None, None, now) if decided else []
    facts = history.writes_for_outcome(after) if decided else []

    released = [transactions.release(after)] if decided and after.is_reversal else []
    original = transactions.get(after.original_id) if decided and after.original_id else None
    if original is not None and after.phase is Phase.REVERSAL_APPROVED:
        facts += history.writes_for_reversed(original, after)
    linked = after.linked_card_id if decided and after.took_money else None
    counted = [] if linked is None else [linked_cards.count_payment(linked)]

    transactions.store_step(before, after, now, *facts, *released, *counted, *map(outbox_store.put, receipts))
    outbox.send(receipts, now)


def _outcome(payment: Transaction, now: datetime) -> Step:
    """Return the step an inquiry leads to. "Not found" counts once nothing can be on its way any more.

    Even then the payment is reversed first: should a frozen process still send it, the acquirer refuses it.
    """
    acquirer = acquirers.named(payment.acquirer)
    try:
        answer = _call(payment, lambda: acquirer.inquire(payment.id, RESOLVE_SECONDS))
    except AcquirerError:
        return outcome.unknown
    if answer is not None and answer.reverses is None:
        return partial(outcome.with_answer, answer=answer)
    if answer is not None:
        return outcome.unknown  # an answer about a reversal says nothing about this payment
    is_lost = outcome.is_not_found_final(payment, acquirer.quiet, now) and _auto_cancel(payment)
    return outcome.not_found if is_lost else outcome.unknown


def _outcome_of_reversal(reversal: Transaction, now: datetime) -> Step:
    """Return the step an inquiry about a reversal leads to; one that never arrived is requested again.

    Under the same reference it is the same reversal, so repeating it reverses once: without the card, which is stored
    nowhere. Near the Deadline nothing is
    requested any more, so that "not found" is final when the Deadline decides.
    """
    acquirer = acquirers.named(reversal.acquirer)
    request = reversal_request(reversal)
    try:
        answer = _call(reversal, lambda: acquirer.inquire(reversal.id, RESOLVE_SECONDS))
        if answer is not None:
            answer = _proved(reversal, request, answer)
        elif outcome.may_repeat_reversal(reversal, acquirer.quiet, now):
            answer = _request_reversal(reversal, request, RESOLVE_SECONDS)
    except AcquirerError:
        return outcome.unchanged
    if answer is not None:
        return partial(outcome.reversal_with_answer, answer=answer)
    return outcome.not_found if now >= reversal.deadline else outcome.unchanged


def _at_deadline(payment: Transaction, now: datetime) -> Transaction:
    """Decide at the Deadline: an unknown payment is reversed automatically, one that awaits completion is paid."""
    if payment.phase is Phase.UNKNOWN:
        payment = advance(payment, outcome.auto_cancelling, now)
    if payment.phase is Phase.AUTO_CANCELLING and _auto_cancel(payment):
        return advance(payment, outcome.auto_cancelled, now)
    if payment.phase is Phase.AWAITING_COMPLETION:
        return advance(payment, outcome.completed, now)
    return payment


def _auto_cancel(payment: Transaction) -> bool:
    """Reverse the whole payment; return whether the acquirer acknowledged it. Repeated it is the same reversal."""
    reference = payment.auto_cancel_id or derived_guid("auto-cancel", payment.id)
    request = ReversalRequest(reference, payment.id, payment.amount_minor, payment.currency)
    for _ in range(AUTO_CANCEL_ATTEMPTS):
        with suppress(AcquirerError):
            return _request_reversal(payment, request, RESOLVE_SECONDS).is_approved
    return False


def _call(payment: Transaction, request: Callable[[], T]) -> T:
    """Return the acquirer's answer, or raise AcquirerError. An adapter's defect is one more way to lose an answer."""
    answered = False
    try:
        answer = request()
        answered = True
    except AcquirerError:
        raise
    except Exception as defect:  # noqa: BLE001  whatever it was, the request may have been sent
        log_defect(defect, transaction=payment.id)
        raise AnswerLostError from None  # its message may quote the card
    finally:
        acquirer_answers.note(answered=answered)
    return answer
