"""From sent to settled: the acquirer is asked, and what became of a payment is kept. Every step is conditional.

A crash or a lost answer anywhere leaves the payment pending and due; whoever looks next goes on from what is kept.
"""

import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TypeVar

from chalicelib.domain import settlement
from chalicelib.domain.acquiring import (
    AcquirerError,
    Answer,
    AnswerLostError,
    Authorisation,
    Reversal,
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


def authorise(payment: Transaction, request: Authorisation, now: datetime) -> Transaction:
    """Ask the acquirer for a payment that was just kept: the payment as it stands then."""
    try:
        answer = _asked(payment, lambda: acquirers.named(payment.acquirer).authorize(request, AUTHORISE_S))
        step: Step = partial(settlement.answered, answer=answer)
    except UnreachableError:
        step = settlement.refused
    except AnswerLostError:
        step = settlement.unknown

    return keep(payment, step, now)


def give_back(reversal: Transaction, now: datetime) -> Transaction:
    """Ask the acquirer for a reversal whose amount was just reserved: the reversal as it stands then."""
    try:
        answer = _asked(reversal, lambda: _give_back(reversal, AUTHORISE_S))
    except UnreachableError:
        return keep(reversal, settlement.refused, now)
    except AnswerLostError:
        return reversal
    return keep(reversal, partial(settlement.reversal_answered, answer=answer), now)


def _give_back(reversal: Transaction, within_s: float) -> Answer:
    original = reversal.original_id or ""
    request = Reversal(reversal.id, original, reversal.amount_minor, reversal.currency)
    return acquirers.named(reversal.acquirer).reverse(request, within_s)


def told(transaction: Transaction, *, replayed: bool = False) -> Transaction:
    """The transaction, as an answer; one for which nothing was attempted is a refusal, each time it is asked for."""
    if not settlement.nothing_attempted(transaction):
        return transaction
    message = f"{ErrorCode.DEPENDENCY_UNAVAILABLE.message} Ask again with a new ID."
    headers = {**RETRY, "Idempotent-Replayed": "true"} if replayed else RETRY
    raise ServiceError(ErrorCode.DEPENDENCY_UNAVAILABLE, message, headers=headers)


def refresh(transaction: Transaction, now: datetime) -> Transaction:
    """A transaction somebody asks for: while it is pending the acquirer is asked too, at most once in a few seconds."""
    if not transaction.is_pending or settlement.is_in_hand(transaction, now):
        return transaction
    return look_after(transaction, now)


def look_after(payment: Transaction, now: datetime) -> Transaction:
    """Take a payment or reversal that is due as far as it goes now, unless somebody else is at it."""
    if not transactions.claim(payment, now):
        return payment
    if payment.is_reversal:
        return keep(payment, _outcome_of_reversal(payment, now), now)
    if payment.phase in (Phase.SENT, Phase.UNKNOWN):
        payment = keep(payment, _outcome(payment, now), now)
    if now >= payment.deadline:
        payment = _at_deadline(payment, now)
    return payment


def keep(payment: Transaction, step: Step, now: datetime) -> Transaction:
    """Keep the next step of a payment, from the phase it is in by then; the payment as it stands, whoever moved it."""
    for _ in range(ATTEMPTS):
        after = step(payment)
        if not settlement.may(payment, after.phase):
            return payment
        try:
            _write(payment, after, now)
        except transactions.OvertakenError:
            payment = transactions.get(payment.id) or payment
        else:
            return after
    return payment


def _write(before: Transaction, after: Transaction, now: datetime) -> None:
    """Keep the step; with the outcome its place in the history, and the receipts of a payment that took money."""
    decided = before.is_pending and not after.is_pending
    receipts = outbox.receipts_for(after, None, None, wanted_by(after), now) if decided else []
    facts = history.finished(after) if decided else ()

    released = [transactions.release(after)] if decided and after.is_reversal else []

    transactions.finish(before, after, now, *facts, *released, *map(outbox_store.put, receipts))
    outbox.send(receipts, now)


def _outcome(payment: Transaction, now: datetime) -> Step:
    """What the acquirer knows of a payment. "Not found" counts once nothing can be on its way any more.

    And even then it is undone first: should a process have stood still since before it asked, it is refused.
    """
    acquirer = acquirers.named(payment.acquirer)
    try:
        answer = _asked(payment, lambda: acquirer.inquire(payment.id, ASK_S))
    except AcquirerError:
        return settlement.unknown
    if answer is not None:
        return partial(settlement.answered, answer=answer)
    is_lost = settlement.is_lost(payment, acquirer.quiet, now) and _undo(payment)
    return settlement.never_arrived if is_lost else settlement.unknown


def _outcome_of_reversal(reversal: Transaction, now: datetime) -> Step:
    """What the acquirer knows of a reversal; it is asked for again when it never arrived.

    Under the same reference it is the same reversal, so asking again gives back once. Near the Deadline nothing is
    asked any more, so that "not found" is the truth when it decides.
    """
    acquirer = acquirers.named(reversal.acquirer)
    try:
        answer = _asked(reversal, lambda: acquirer.inquire(reversal.id, ASK_S))
        if answer is None and settlement.may_ask_again(reversal, acquirer.quiet, now):
            answer = _asked(reversal, lambda: _give_back(reversal, ASK_S))
    except AcquirerError:
        return settlement.as_it_is
    if answer is not None:
        return partial(settlement.reversal_answered, answer=answer)
    return settlement.never_arrived if now >= reversal.deadline else settlement.as_it_is


def _at_deadline(payment: Transaction, now: datetime) -> Transaction:
    """What the Deadline decides: what is unknown is undone, what only owed a step of the client's is paid."""
    if payment.phase is Phase.UNKNOWN:
        payment = keep(payment, settlement.cancelling, now)
    if payment.phase is Phase.AUTO_CANCELLING and _undo(payment):
        return keep(payment, settlement.cancelled, now)
    if payment.phase is Phase.OWED:
        return keep(payment, settlement.completed, now)
    return payment


def _undo(payment: Transaction) -> bool:
    """Whether the acquirer acknowledged that nothing of the payment is left. Asked again it is the same reversal."""
    reference = str(uuid.uuid5(uuid.UUID(payment.id), "auto-cancel")).upper()
    request = Reversal(reference, payment.id, payment.amount_minor, payment.currency)
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
