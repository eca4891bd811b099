"""Outcomes: the acquirer is called, and the outcome of a transaction is resolved and stored.

Each step is conditional on the step before. A host that cannot be inquired receives advices until it acknowledges one.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from chalicelib.domain import host_messages, outcome
from chalicelib.domain.acquirer import (
    AcquirerAnswer,
    AcquirerError,
    AnswerLostError,
    AuthorizationRequest,
    ReversalRequest,
    UnreachableError,
    UnusableAnswerError,
)
from chalicelib.domain.transaction import Phase, Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import acquirers
from chalicelib.services import acquirer_calls
from chalicelib.services.acquirer_calls import AUTHORIZE_SECONDS, RESOLVE_SECONDS, call
from chalicelib.services.receipts import receipts_for
from chalicelib.store import history, linked_cards, transactions
from chalicelib.store import outbox as outbox_store

Step = Callable[[Transaction], Transaction]

ATTEMPTS = 4  # to store an outcome while others go on with the same transaction


def advance(transaction: Transaction, step: Step, now: datetime) -> Transaction:
    """Store the next step of a transaction, from the phase it is in by then; return it as it is, whoever moved it."""
    for _ in range(ATTEMPTS):
        after = step(transaction)
        if not outcome.may_follow(transaction, after):
            return transaction
        try:
            store(transaction, after, now)
        except transactions.PhaseChangedError:
            transaction = transactions.get(transaction.id) or transaction
        else:
            return after
    return transaction


def store(before: Transaction, after: Transaction, now: datetime) -> None:
    """Store the step; with the outcome its place in the history, its linked card's count, and the receipts.

    Raise PhaseChangedError when another process has moved the transaction, or the payment that a reversal is of.
    """
    decided = before.is_pending and not after.is_pending
    receipts = receipts_for(after, now) if decided else []
    facts = history.writes_for_outcome(after, now) if decided else []

    is_done = decided and after.phase is Phase.REVERSAL_APPROVED
    original = transactions.get(after.original.id or "") if is_done else None
    released = [transactions.release(after, original)] if decided and after.is_reversal else []
    if original:
        facts += history.writes_for_reversed(original, after)
    linked = after.card_entry.linked_id if decided and after.took_money else None
    counted = [] if linked is None else [linked_cards.count_payment(linked)]

    transactions.store_step(before, after, now, *facts, *released, *counted, *map(outbox_store.put, receipts))


def resolve_by_advices(transaction: Transaction, now: datetime) -> Transaction:
    """Take a transaction whose outcome is unknown as far as it goes now: one message, or none."""
    if transaction.phase is Phase.CANCELLING:
        return _repeat_cancel(transaction, now)
    if transaction.phase is Phase.AUTO_CANCELLING:
        return _advise(transaction, now, is_repeat=True)
    return _begin(transaction, now)


def _begin(transaction: Transaction, now: datetime) -> Transaction:
    """Decide that a transaction is reversed automatically, and send the advice for the first time.

    When another process has decided it meanwhile, the advice is that one's to send, or a later look's to repeat.
    """
    after = outcome.auto_cancelling(transaction, now)
    try:
        store(transaction, after, now)
    except transactions.PhaseChangedError:
        return transactions.get(transaction.id) or transaction
    return _advise(after, now, is_repeat=False)


def reverse_partial_approval(transaction: Transaction, now: datetime) -> Transaction:
    """Reverse what was approved for less than was requested; declined if that is acknowledged at once."""
    after = outcome.auto_cancelling(outcome.unusable(transaction), now)
    try:
        store(transaction, after, now)
    except transactions.PhaseChangedError:
        return transactions.get(transaction.id) or transaction
    if not _is_acknowledged(after, is_repeat=False):
        return after
    return advance(after, outcome.partly_approved, now)


def _advise(transaction: Transaction, now: datetime, *, is_repeat: bool) -> Transaction:
    """Send the advice, and end the transaction when it is acknowledged."""
    if not _is_acknowledged(transaction, is_repeat=is_repeat):
        return transaction
    return advance(transaction, outcome.auto_cancelled, now)


def _is_acknowledged(transaction: Transaction, *, is_repeat: bool) -> bool:
    request = host_messages.automatic_request(transaction, is_repeat=is_repeat)
    return acquirer_calls.is_acknowledged(transaction, request, attempts=1)


def _repeat_cancel(cancel: Transaction, now: datetime) -> Transaction:
    request = host_messages.reversal_request(cancel, is_repeat=True)
    try:
        answer = acquirer_calls.reverse(cancel, request, RESOLVE_SECONDS)
    except AcquirerError:
        return cancel
    return advance(cancel, partial(outcome.reversal_with_answer, answer=answer), now)


def authorize(payment: Transaction, request: AuthorizationRequest, now: datetime) -> Transaction:
    """Request a payment that was just stored from its acquirer, and return the payment as it is then."""
    try:
        answer = call(payment, lambda: acquirers.named(payment.acquirer).authorize(request, AUTHORIZE_SECONDS))
    except UnreachableError:
        return advance(payment, outcome.not_attempted, now)
    except UnusableAnswerError:
        return advance(payment, outcome.unusable, now)
    except AnswerLostError:
        return advance(payment, outcome.unknown, now)
    if outcome.is_never_accepted(answer):
        return reverse_partial_approval(payment, now)
    return advance(payment, partial(outcome.with_answer, answer=answer), now)


def reverse(reversal: Transaction, request: ReversalRequest, now: datetime) -> Transaction:
    """Request a reversal whose amount was just reserved from its acquirer, and return it as it is then."""
    try:
        answer = acquirer_calls.reverse(reversal, request, AUTHORIZE_SECONDS)
    except UnreachableError:
        return advance(reversal, outcome.not_attempted, now)
    except UnusableAnswerError:
        return advance(reversal, outcome.unusable, now)
    except AnswerLostError:
        return reversal
    if outcome.is_never_accepted(answer):
        return reverse_partial_approval(reversal, now)
    return advance(reversal, partial(outcome.reversal_with_answer, answer=answer), now)


def require_attempted(transaction: Transaction, *, replayed: bool = False) -> Transaction:
    """Return the transaction; 902 when nothing was attempted for it, each time it is requested."""
    if not outcome.was_not_attempted(transaction):
        return transaction
    message = f"{ErrorCode.DEPENDENCY_UNAVAILABLE.message} Ask again with a new ID."
    raise ServiceError(ErrorCode.DEPENDENCY_UNAVAILABLE, message, replayed=replayed)


def refresh(transaction: Transaction, now: datetime) -> Transaction:
    """Return a transaction a caller requests; a pending one is resolved first, at most once in a few seconds."""
    if not transaction.is_pending or outcome.is_in_progress(transaction, now):
        return transaction
    return resolve(transaction, now)


def resolve(payment: Transaction, now: datetime) -> Transaction:
    """Take a payment or reversal that is due as far as it goes now, unless another process does."""
    if not transactions.claim(payment, now):
        return payment
    if payment.host and payment.is_pending:
        return resolve_by_advices(payment, now)
    if payment.is_reversal and payment.phase is not Phase.AUTO_CANCELLING:
        return advance(payment, _outcome_of_reversal(payment, now), now)
    if payment.phase in (Phase.SENT, Phase.UNKNOWN):
        payment = advance(payment, _outcome(payment, now), now)
    if now >= payment.deadline or payment.phase is Phase.AUTO_CANCELLING:
        payment = _at_deadline(payment, now)
    return payment


def _outcome(payment: Transaction, now: datetime) -> Step:
    """Return the step an inquiry leads to. "Not found" counts once nothing can be on its way any more.

    Even then the payment is reversed: should a process that stood still send it, the acquirer refuses it. That it is
    reversed is stored before: what the acquirer approves until its reversal arrives is no more stored.
    """
    acquirer = acquirers.named(payment.acquirer)
    try:
        answer = call(payment, lambda: acquirer.inquire(payment.id, RESOLVE_SECONDS))
    except AcquirerError:
        return outcome.unknown
    if answer is not None and outcome.is_never_accepted(answer):
        return partial(outcome.auto_cancelling, now=now)
    if answer is not None and answer.reverses is None:
        return partial(outcome.with_answer, answer=answer)
    if answer is not None:
        return outcome.unknown  # an answer about a reversal says nothing about this payment
    if outcome.is_not_found_final(payment, acquirer.quiet, now):
        return partial(outcome.never_arrived, now=now)
    return outcome.unknown


def _outcome_of_reversal(reversal: Transaction, now: datetime) -> Step:
    """Return the step an inquiry about a reversal leads to; one that never arrived is requested again.

    Under the same reference it is the same reversal, so repeating it reverses once: without the card, which is stored
    nowhere. Near the Deadline nothing is
    requested any more, so that "not found" is final when the Deadline decides.
    """
    acquirer = acquirers.named(reversal.acquirer)
    request = host_messages.reversal_request(reversal, is_repeat=True)
    answer: AcquirerAnswer | None
    try:
        answer = call(reversal, lambda: acquirer.inquire(reversal.id, RESOLVE_SECONDS))
        if answer is not None:
            answer = acquirer_calls.proved(reversal, request, answer)
        elif outcome.may_repeat_reversal(reversal, acquirer.quiet, now):
            answer = acquirer_calls.reverse(reversal, request, RESOLVE_SECONDS)
    except AcquirerError:
        return outcome.unchanged
    if answer is not None:
        return partial(outcome.reversal_with_answer, answer=answer)
    return outcome.not_found if now >= reversal.deadline else outcome.unchanged


def _at_deadline(payment: Transaction, now: datetime) -> Transaction:
    """Decide at the Deadline: an unknown payment is reversed automatically, one that awaits completion is paid."""
    if payment.phase is Phase.UNKNOWN:
        payment = advance(payment, partial(outcome.auto_cancelling, now=now), now)
    if payment.phase is Phase.AUTO_CANCELLING and _auto_cancel(payment):
        return advance(payment, outcome.auto_cancelled, now)
    if payment.phase is Phase.AWAITING_COMPLETION:
        return advance(payment, outcome.completed, now)
    return payment


def _auto_cancel(payment: Transaction) -> bool:
    """Reverse the whole payment; return whether the acquirer acknowledged it."""
    return acquirer_calls.is_acknowledged(payment, host_messages.automatic_request(payment, is_repeat=False))
