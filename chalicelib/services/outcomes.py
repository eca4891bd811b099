"""Outcomes: send a stored transaction to its acquirer, resolve an unknown outcome, and store each step.

Each step is conditional on the step before. A host without inquiries receives advices until it acknowledges one.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial

from chalicelib.domain import acquirer_messages, steps
from chalicelib.domain.acquirer import (
    AcquirerAnswer,
    AcquirerError,
    AnswerLostError,
    AuthorizationRequest,
    ReversalRequest,
    UnreachableError,
    UnusableAnswerError,
)
from chalicelib.domain.outbox import receipts_for
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import message_limits
from chalicelib.services.acquirer_calls import AUTHORIZE_SECONDS, RESOLVE_SECONDS, Calls
from chalicelib.store import history, linked_cards, transactions
from chalicelib.store import outbox as outbox_store
from chalicelib.store.retries import retry_with

Step = Callable[[Transaction], Transaction]


def advance(transaction: Transaction, step: Step, now: datetime) -> Transaction:
    """Store the next step of a transaction from its current phase; return the stored transaction."""

    def attempt(before: Transaction) -> Transaction:
        after = step(before)
        if not steps.may_follow(before, after):
            return before
        store(before, after, now)
        return after

    return retry_with(transaction, attempt, lambda: transactions.get(transaction.id) or transaction)


def store(before: Transaction, after: Transaction, now: datetime) -> None:
    """Store the step. A final step also stores the history entry, the linked card's count and the receipts.

    Raise PhaseChangedError when another process has changed the transaction, or the payment of a reversal.
    """
    decided = before.is_pending and not after.is_pending
    receipts = receipts_for(after, now) if decided and after.receipt.addresses else []
    facts = history.writes_for_outcome(after) if decided else []
    if decided and not receipts and after.receipt.addresses is not None:
        facts += message_limits.uncount_receipt(after, now)

    is_done = decided and after.phase is Phase.REVERSAL_APPROVED
    reads_payment = is_done or (decided and after.original.gives_back)
    original = transactions.get(after.original.id or "") if reads_payment else None
    released = [transactions.release(after, original)] if decided and after.is_reversal else []
    if original and is_done:
        facts += history.writes_for_reversed(original, after)
    linked = after.card_entry.linked_id if decided and after.took_money else None
    counted = [] if linked is None else [linked_cards.count_payment(linked)]

    facts += [*released, *map(outbox_store.put, receipts)]
    try:
        transactions.store_step(before, after, now, *facts, *counted)
    except linked_cards.NoCardError:  # lost by a damage: the outcome of a payment does not wait for its repair
        transactions.store_step(before, after, now, *facts)


def authorize(payment: Transaction, request: AuthorizationRequest, now: datetime) -> Transaction:
    """Send a payment that was just stored to its acquirer; return the payment after the answer."""
    calls = Calls(payment)
    try:
        answer = calls.authorize(request)
    except UnreachableError:
        return advance(payment, steps.not_attempted, now)
    except UnusableAnswerError:
        return advance(payment, steps.unusable, now)
    except AnswerLostError as lost:
        return advance(payment, partial(steps.unknown, acquirer_tran_id=lost.acquirer_tran_id), now)
    if steps.is_never_accepted(answer):
        return _reverse_partial_approval(payment, calls, now)
    return advance(payment, partial(steps.with_answer, answer=answer), now)


def reverse(reversal: Transaction, request: ReversalRequest, now: datetime) -> Transaction:
    """Send a reversal with a reserved amount to its acquirer; return the reversal after the answer."""
    calls = Calls(reversal)
    try:
        answer = calls.reverse(request, AUTHORIZE_SECONDS)
    except UnreachableError:
        return advance(reversal, steps.not_attempted, now)
    except UnusableAnswerError:
        return advance(reversal, lambda before: steps.unanswered(steps.unusable(before), now), now)
    except AnswerLostError:
        return advance(reversal, partial(steps.unanswered, now=now), now)
    if steps.is_never_accepted(answer):
        return _reverse_partial_approval(reversal, calls, now)
    return advance(reversal, partial(steps.reversal_with_answer, answer=answer), now)


def require_attempted(transaction: Transaction, *, replayed: bool = False) -> Transaction:
    """Return the transaction; raise 902, on every request, when it was never attempted."""
    if not steps.was_not_attempted(transaction):
        return transaction
    message = f"{ErrorCode.DEPENDENCY_UNAVAILABLE.message} Ask again with a new ID."
    raise ServiceError(ErrorCode.DEPENDENCY_UNAVAILABLE, message, replayed=replayed)


def refresh(transaction: Transaction, now: datetime) -> Transaction:
    """Return a requested transaction. A pending one is resolved first, at most once in a few seconds."""
    if not transaction.is_pending or steps.is_in_progress(transaction, now):
        return transaction
    return resolve(transaction, now, Calls(transaction))


def resolve(transaction: Transaction, now: datetime, calls: Calls) -> Transaction:
    """Resolve a due payment or reversal as far as possible now, unless another process has claimed it."""
    if not transactions.claim(transaction, now):
        return transaction
    transaction = replace(transaction, claimed_at=now)
    if transaction.host and transaction.is_pending:
        return _resolve_by_advices(transaction, calls, now)
    if transaction.is_reversal and transaction.phase is not Phase.AUTO_CANCELLING:
        return advance(transaction, _outcome_of_reversal(transaction, calls, now), now)
    if transaction.phase in (Phase.SENT, Phase.UNKNOWN):
        transaction = advance(transaction, _outcome(transaction, calls, now), now)
    if now >= transaction.deadline or transaction.phase is Phase.AUTO_CANCELLING:
        transaction = _at_deadline(transaction, calls, now)
    return transaction


# At an acquirer with inquiries


def _outcome(payment: Transaction, calls: Calls, now: datetime) -> Step:
    """Return the step after an inquiry. "Not found" counts once no request can be on its way any more.

    Even then the payment is reversed: if a paused process sends it later, the acquirer refuses it. The decision is
    stored before the reversal is sent, so a late approval is ignored.
    """
    try:
        answer = calls.inquire()
    except AcquirerError:
        return steps.unknown
    if answer is not None and steps.is_never_accepted(answer):
        return partial(steps.auto_cancelling, now=now)
    if answer is not None and answer.reverses is None:
        return partial(steps.with_answer, answer=answer)
    if answer is not None:
        return steps.unknown  # an answer about a reversal says nothing about this payment
    if steps.is_not_found_final(payment, calls.acquirer.quiet, now):
        return partial(steps.never_arrived, now=now)
    return steps.unknown


def _outcome_of_reversal(reversal: Transaction, calls: Calls, now: datetime) -> Step:
    """Return the step after an inquiry about a reversal. A reversal that never arrived is requested again.

    The repeat has the same reference, so it reverses only once. It has no card, because no card is stored. Close to the
    Deadline no repeat is sent, so that "not found" is final at the Deadline.
    """
    request = acquirer_messages.reversal_request(reversal, is_repeat=True)
    answer: AcquirerAnswer | None
    try:
        answer = calls.inquire()
        if answer is not None:
            answer = calls.proved(request, answer)
        elif steps.may_repeat_reversal(reversal, calls.acquirer.quiet, now):
            answer = calls.reverse(request, RESOLVE_SECONDS)
    except AcquirerError:
        return steps.unchanged
    if answer is not None:
        return partial(steps.reversal_with_answer, answer=answer)
    return steps.not_found if now >= reversal.deadline else steps.unchanged


def _at_deadline(payment: Transaction, calls: Calls, now: datetime) -> Transaction:
    """Decide at the Deadline: reverse an unknown payment automatically, complete one that awaits completion."""
    if payment.phase is Phase.UNKNOWN:
        payment = advance(payment, partial(steps.auto_cancelling, now=now), now)
    if payment.phase is Phase.AUTO_CANCELLING:
        request = acquirer_messages.automatic_request(payment, is_repeat=False)
        return advance(payment, steps.auto_cancelled, now) if calls.is_acknowledged(request) else payment
    if payment.phase is Phase.AWAITING_COMPLETION:
        return advance(payment, steps.completed, now)
    return payment


# At a host without inquiries


def _resolve_by_advices(transaction: Transaction, calls: Calls, now: datetime) -> Transaction:
    """Resolve a transaction with unknown outcome as far as possible now, with at most one message."""
    if transaction.phase is Phase.CANCELLING:
        return _repeat_cancel(transaction, calls, now)
    if transaction.phase is Phase.AUTO_CANCELLING:
        return _advise(transaction, steps.auto_cancelled, calls, now, is_repeat=True)
    return _begin_to_advise(transaction, steps.auto_cancelling(transaction, now), steps.auto_cancelled, calls, now)


def _reverse_partial_approval(transaction: Transaction, calls: Calls, now: datetime) -> Transaction:
    """Reverse a partial approval. The payment is declined if the acquirer acknowledges the reversal at once."""
    decided = steps.auto_cancelling(steps.unusable(transaction), now)
    advised = _begin_to_advise(transaction, decided, steps.partly_approved, calls, now)
    return advance(advised, partial(steps.unanswered, now=now), now) if advised.is_pending else advised


def _begin_to_advise(
    transaction: Transaction, decided: Transaction, acknowledged: Step, calls: Calls, now: datetime
) -> Transaction:
    """Store the decision to reverse a transaction automatically, then send the first advice.

    When another process has already decided it, that process or a later run sends the advice.
    """
    try:
        store(transaction, decided, now)
    except transactions.PhaseChangedError:
        return transactions.get(transaction.id) or transaction
    return _advise(decided, acknowledged, calls, now, is_repeat=False)


def _advise(
    transaction: Transaction, acknowledged: Step, calls: Calls, now: datetime, *, is_repeat: bool
) -> Transaction:
    """Send the advice once, and store the step `acknowledged` when the acquirer acknowledges it."""
    request = acquirer_messages.automatic_request(transaction, is_repeat=is_repeat)
    if not calls.is_acknowledged(request, attempts=1):
        return transaction
    return advance(transaction, acknowledged, now)


def _repeat_cancel(cancel: Transaction, calls: Calls, now: datetime) -> Transaction:
    try:
        answer = calls.reverse(acquirer_messages.reversal_request(cancel, is_repeat=True), RESOLVE_SECONDS)
    except AcquirerError:
        return cancel
    return advance(cancel, partial(steps.reversal_with_answer, answer=answer), now)
