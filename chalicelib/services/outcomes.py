"""From sent to settled: the acquirer is asked, and what became of a payment is kept. Every step is conditional.

A crash or a lost answer anywhere leaves the payment pending and due; whoever looks next goes on from what is kept.
"""

import uuid
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
)
from chalicelib.domain.transaction import Phase, Transaction
from chalicelib.errors import RETRY, ErrorCode, ServiceError
from chalicelib.gateways import acquirers
from chalicelib.log import log_defect
from chalicelib.schemas.receipts import wanted_by
from chalicelib.services import outbox
from chalicelib.store import history, transactions
from chalicelib.store import outbox as outbox_store

T = TypeVar("T")
Step = Callable[[Transaction], Transaction]

AUTHORISE_S = 20  # of the 29 s a gateway waits
ASK_S = 5  # an inquiry or an automatic reversal: whoever waits for it can come back
UNDO_ATTEMPTS = 2  # an answer that was lost is had by asking again
ATTEMPTS = 4  # to keep an outcome while others go on with the same payment


def authorize(payment: Transaction, request: AuthorizationRequest, now: datetime) -> Transaction:
    """Ask the acquirer for a payment that was just kept: the payment as it stands then."""
    try:
        answer = _asked(payment, lambda: acquirers.named(payment.acquirer).authorize(request, AUTHORISE_S))
        step: Step = partial(outcome.with_answer, answer=answer)
    except UnreachableError:
        step = outcome.not_attempted
    except AnswerLostError:
        step = outcome.unknown

    return advance(payment, step, now)


def reverse(reversal: Transaction, now: datetime) -> Transaction:
    """Ask the acquirer for a reversal whose amount was just reserved: the reversal as it stands then."""
    try:
        answer = _asked(reversal, lambda: _give_back(reversal, AUTHORISE_S))
    except UnreachableError:
        return advance(reversal, outcome.not_attempted, now)
    except AnswerLostError:
        return reversal
    return advance(reversal, partial(outcome.reversal_with_answer, answer=answer), now)


def _give_back(reversal: Transaction, within_s: float) -> AcquirerAnswer:
    original = reversal.original_id or ""
    request = ReversalRequest(reversal.id, original, reversal.amount_minor, reversal.currency)
    return acquirers.named(reversal.acquirer).reverse(request, within_s)


def require_attempted(transaction: Transaction, *, replayed: bool = False) -> Transaction:
    """The transaction, as an answer; one for which nothing was attempted is a refusal, each time it is asked for."""
    if not outcome.was_not_attempted(transaction):
        return transaction
    message = f"{ErrorCode.DEPENDENCY_UNAVAILABLE.message} Ask again with a new ID."
    headers = {**RETRY, "Idempotent-Replayed": "true"} if replayed else RETRY
    raise ServiceError(ErrorCode.DEPENDENCY_UNAVAILABLE, message, headers=headers)


def refresh(transaction: Transaction, now: datetime) -> Transaction:
    """A transaction somebody asks for: while it is pending the acquirer is asked too, at most once in a few seconds."""
    if not transaction.is_pending or outcome.is_in_progress(transaction, now):
        return transaction
    return resolve(transaction, now)


def resolve(payment: Transaction, now: datetime) -> Transaction:
    """Take a payment or reversal that is due as far as it goes now, unless somebody else is at it."""
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
    """Keep the next step of a payment, from the phase it is in by then; the payment as it stands, whoever moved it."""
    for _ in range(ATTEMPTS):
        after = step(payment)
        if not outcome.may_move_to(payment, after.phase):
            return payment
        try:
            _write(payment, after, now)
        except transactions.PhaseChangedError:
            payment = transactions.get(payment.id) or payment
        else:
            return after
    return payment


def _write(before: Transaction, after: Transaction, now: datetime) -> None:
    """Keep the step; with the outcome its place in the history, and the receipts of a payment that took money."""
    decided = before.is_pending and not after.is_pending
    receipts = outbox.receipts_for(after, None, None, wanted_by(after), now) if decided else []
    facts = history.writes_for_outcome(after) if decided else ()

    released = [transactions.release(after)] if decided and after.is_reversal else []

    transactions.store_step(before, after, now, *facts, *released, *map(outbox_store.put, receipts))
    outbox.send(receipts, now)


def _outcome(payment: Transaction, now: datetime) -> Step:
    """What the acquirer knows of a payment. "Not found" counts once nothing can be on its way any more.

    And even then it is undone first: should a process have stood still since before it asked, it is refused.
    """
    acquirer = acquirers.named(payment.acquirer)
    try:
        answer = _asked(payment, lambda: acquirer.inquire(payment.id, ASK_S))
    except AcquirerError:
        return outcome.unknown
    if answer is not None:
        return partial(outcome.with_answer, answer=answer)
    is_lost = outcome.is_not_found_final(payment, acquirer.quiet, now) and _undo(payment)
    return outcome.not_found if is_lost else outcome.unknown


def _outcome_of_reversal(reversal: Transaction, now: datetime) -> Step:
    """What the acquirer knows of a reversal; it is asked for again when it never arrived.

    Under the same reference it is the same reversal, so asking again gives back once. Near the Deadline nothing is
    asked any more, so that "not found" is the truth when it decides.
    """
    acquirer = acquirers.named(reversal.acquirer)
    try:
        answer = _asked(reversal, lambda: acquirer.inquire(reversal.id, ASK_S))
        if answer is None and outcome.may_repeat_reversal(reversal, acquirer.quiet, now):
            answer = _asked(reversal, lambda: _give_back(reversal, ASK_S))
    except AcquirerError:
        return outcome.unchanged
    if answer is not None:
        return partial(outcome.reversal_with_answer, answer=answer)
    return outcome.not_found if now >= reversal.deadline else outcome.unchanged


def _at_deadline(payment: Transaction, now: datetime) -> Transaction:
    """What the Deadline decides: what is unknown is undone, what only owed a step of the client's is paid."""
    if payment.phase is Phase.UNKNOWN:
        payment = advance(payment, outcome.auto_cancelling, now)
    if payment.phase is Phase.AUTO_CANCELLING and _undo(payment):
        return advance(payment, outcome.auto_cancelled, now)
    if payment.phase is Phase.OWED:
        return advance(payment, outcome.completed, now)
    return payment


def _undo(payment: Transaction) -> bool:
    """Whether the acquirer acknowledged that nothing of the payment is left. Asked again it is the same reversal."""
    reference = str(uuid.uuid5(uuid.UUID(payment.id), "auto-cancel")).upper()
    request = ReversalRequest(reference, payment.id, payment.amount_minor, payment.currency)
    for _ in range(UNDO_ATTEMPTS):
        with suppress(AcquirerError):
            return _asked(payment, lambda: acquirers.named(payment.acquirer).reverse(request, ASK_S)).is_approved
    return False


def _asked(payment: Transaction, ask: Callable[[], T]) -> T:
    """The acquirer's answer, or AcquirerError. An adapter's defect is one more way to lose an answer."""
    try:
        return ask()
    except AcquirerError:
        raise
    except Exception as defect:  # noqa: BLE001  whatever it was, the acquirer may have been asked
        log_defect(defect, transaction=payment.id)
        raise AnswerLostError from None  # its message may quote the card
