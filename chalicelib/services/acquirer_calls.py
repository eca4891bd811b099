"""Calls of acquirers: send a transaction, resolve its outcome, and store it.

Each step is conditional on the step before. A host without inquiries receives advices until it acknowledges one. The
sweep's circuit breakers learn from the answers noted here. An answer to a reversal must prove which payment it
reversed.
"""

import secrets
import string
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from typing import TypeVar

from chalicelib.domain import acquirer_messages, transaction_steps
from chalicelib.domain.acquirer import (
    AcquirerAnswer,
    AcquirerError,
    AnswerLostError,
    AuthorizationRequest,
    ReversalRequest,
    UnreachableError,
    UnusableAnswerError,
    answers,
)
from chalicelib.domain.merchant import Terminal
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import acquirers
from chalicelib.log import log, log_defect
from chalicelib.services import message_limits
from chalicelib.services.receipts import receipts_for
from chalicelib.store import history, linked_cards, sequences, transactions
from chalicelib.store import outbox as outbox_store

T = TypeVar("T")

AUTHORIZE_SECONDS = 20  # the rest of GATEWAY_SECONDS is for the store
RESOLVE_SECONDS = 5  # an inquiry or an automatic reversal: the caller can try again later
AUTO_CANCEL_ATTEMPTS = 2  # the second attempt follows a lost answer

_noted: ContextVar[list[bool] | None] = ContextVar("noted", default=None)


@contextmanager
def noted(answers: list[bool]) -> Iterator[None]:
    """Add to `answers`, for each request in the block, whether an answer came. The sweep's circuit breakers use it."""
    token = _noted.set(answers)
    try:
        yield
    finally:
        _noted.reset(token)


def call(transaction: Transaction, request: Callable[[], T]) -> T:
    """Return the acquirer's answer or raise AcquirerError. A defect of the adapter counts as a lost answer."""
    answered = False
    try:
        answer = request()
        answered = True
    except UnreachableError:
        raise
    except AcquirerError:
        log("answer_lost", acquirer=transaction.acquirer, transaction=transaction.id)
        raise
    except Exception as defect:  # noqa: BLE001  after any defect the request may have been sent
        log_defect(defect, transaction=transaction.id)
        raise AnswerLostError from None  # the defect's message may quote the card
    finally:
        answers_noted = _noted.get()
        if answers_noted is not None:
            answers_noted.append(answered)
    return answer


def call_for_reversal(transaction: Transaction, request: ReversalRequest, within_s: float) -> AcquirerAnswer:
    """Return the acquirer's answer to a reversal. The answer must prove this payment and amount."""
    acquirer = acquirers.named(transaction.acquirer)
    return proved(transaction, request, call(transaction, lambda: acquirer.reverse(request, within_s)))


def proved(transaction: Transaction, request: ReversalRequest, answer: AcquirerAnswer) -> AcquirerAnswer:
    """Return the answer to a reversal. An answer about another payment or amount is logged and counts as lost."""
    if not answers(answer, request):
        log("unproved", transaction=transaction.id, reference=request.reference, code=answer.code)
        raise AnswerLostError
    return answer


def is_acknowledged(transaction: Transaction, request: ReversalRequest, attempts: int = AUTO_CANCEL_ATTEMPTS) -> bool:
    """Request an automatic reversal; return whether the acquirer acknowledged it. A repeat reverses only once."""
    for _ in range(attempts):
        with suppress(AcquirerError):
            return call_for_reversal(transaction, request, RESOLVE_SECONDS).is_approved
    return False


RRN_ALPHABET, RRN_LENGTH = string.ascii_uppercase + string.digits, 12


def identify_payment(payment: Transaction, terminal: Terminal) -> Transaction:
    """Return a payment with the identity that its host recognises; unchanged if its acquirer answers inquiries."""
    acquirer = acquirers.named(payment.acquirer)
    if acquirer.can_inquire:
        return payment
    numbers = _next_stans(terminal.back_retailer_id or "", terminal.tid)
    return acquirer_messages.identified_payment(payment, terminal, acquirer.institution, _new_rrn(), numbers)


def identify_reversal(reversal: Transaction, original: Transaction) -> Transaction:
    """Return a reversal with the identity that its host recognises; unchanged if its acquirer answers inquiries."""
    if original.host is None:
        return reversal
    numbers = _next_stans(original.host.terminal.mid, original.terminal_name)
    return acquirer_messages.identified_reversal(reversal, original, _new_rrn(), numbers)


def _next_stans(mid: str, tid: str) -> range:
    """Return the next numbers (STAN) for the messages of a transaction.

    A terminal's sequence begins at a random number: after a stage loses its tables, it must not repeat the numbers that
    the host has already seen.
    """
    return sequences.next_stans(mid, tid, acquirer_messages.STANS, start=secrets.randbelow(acquirer_messages.LAST_STAN))


def _new_rrn() -> str:
    """Return a random RRN. Of 10^8 in 400 days, the chance that any two are equal is 10^16 / (2 * 36^12), 0.1 %.

    In that case the host answers 94 to the second payment, which is reversed. The first has another STAN and is not
    affected.
    """
    return "".join(secrets.choice(RRN_ALPHABET) for _ in range(RRN_LENGTH))


Step = Callable[[Transaction], Transaction]

ATTEMPTS = 4  # to store an outcome while other processes change the transaction


def advance(transaction: Transaction, step: Step, now: datetime) -> Transaction:
    """Store the next step of a transaction from its current phase; return the stored transaction."""
    for _ in range(ATTEMPTS):
        after = step(transaction)
        if not transaction_steps.may_follow(transaction, after):
            return transaction
        try:
            store(transaction, after, now)
        except transactions.PhaseChangedError:
            transaction = transactions.get(transaction.id) or transaction
        else:
            return after
    return transaction


def store(before: Transaction, after: Transaction, now: datetime) -> None:
    """Store the step. A final step also stores the history entry, the linked card's count and the receipts.

    Raise PhaseChangedError when another process has changed the transaction, or the payment of a reversal.
    """
    decided = before.is_pending and not after.is_pending
    receipts = receipts_for(after, now) if decided else []
    facts = history.writes_for_outcome(after, now) if decided else []
    if decided and not receipts and after.receipt.addresses is not None:
        facts += message_limits.uncount_receipt(after, now)

    is_done = decided and after.phase is Phase.REVERSAL_APPROVED
    original = transactions.get(after.original.id or "") if is_done else None
    released = [transactions.release(after, original)] if decided and after.is_reversal else []
    if original:
        facts += history.writes_for_reversed(original, after)
    linked = after.card_entry.linked_id if decided and after.took_money else None
    counted = [] if linked is None else [linked_cards.count_payment(linked)]

    transactions.store_step(before, after, now, *facts, *released, *counted, *map(outbox_store.put, receipts))


def resolve_by_advices(transaction: Transaction, now: datetime) -> Transaction:
    """Resolve a transaction with unknown outcome as far as possible now, with at most one message."""
    if transaction.phase is Phase.CANCELLING:
        return _repeat_cancel(transaction, now)
    if transaction.phase is Phase.AUTO_CANCELLING:
        return _advise(transaction, now, is_repeat=True)
    return _begin(transaction, now)


def _begin(transaction: Transaction, now: datetime) -> Transaction:
    """Decide to reverse a transaction automatically, and send the first advice.

    When another process has already decided it, that process or a later run sends the advice.
    """
    after = transaction_steps.auto_cancelling(transaction, now)
    try:
        store(transaction, after, now)
    except transactions.PhaseChangedError:
        return transactions.get(transaction.id) or transaction
    return _advise(after, now, is_repeat=False)


def reverse_partial_approval(transaction: Transaction, now: datetime) -> Transaction:
    """Reverse a partial approval. The payment is declined if the acquirer acknowledges the reversal at once."""
    after = transaction_steps.auto_cancelling(transaction_steps.unusable(transaction), now)
    try:
        store(transaction, after, now)
    except transactions.PhaseChangedError:
        return transactions.get(transaction.id) or transaction
    if not _is_acknowledged(after, is_repeat=False):
        return after
    return advance(after, transaction_steps.partly_approved, now)


def _advise(transaction: Transaction, now: datetime, *, is_repeat: bool) -> Transaction:
    """Send the advice, and end the transaction when the acquirer acknowledges it."""
    if not _is_acknowledged(transaction, is_repeat=is_repeat):
        return transaction
    return advance(transaction, transaction_steps.auto_cancelled, now)


def _is_acknowledged(transaction: Transaction, *, is_repeat: bool) -> bool:
    request = acquirer_messages.automatic_request(transaction, is_repeat=is_repeat)
    return is_acknowledged(transaction, request, attempts=1)


def _repeat_cancel(cancel: Transaction, now: datetime) -> Transaction:
    request = acquirer_messages.reversal_request(cancel, is_repeat=True)
    try:
        answer = call_for_reversal(cancel, request, RESOLVE_SECONDS)
    except AcquirerError:
        return cancel
    return advance(cancel, partial(transaction_steps.reversal_with_answer, answer=answer), now)


def authorize(payment: Transaction, request: AuthorizationRequest, now: datetime) -> Transaction:
    """Send a payment that was just stored to its acquirer; return the payment after the answer."""
    try:
        answer = call(payment, lambda: acquirers.named(payment.acquirer).authorize(request, AUTHORIZE_SECONDS))
    except UnreachableError:
        return advance(payment, transaction_steps.not_attempted, now)
    except UnusableAnswerError:
        return advance(payment, transaction_steps.unusable, now)
    except AnswerLostError:
        return advance(payment, transaction_steps.unknown, now)
    if transaction_steps.is_never_accepted(answer):
        return reverse_partial_approval(payment, now)
    return advance(payment, partial(transaction_steps.with_answer, answer=answer), now)


def reverse(reversal: Transaction, request: ReversalRequest, now: datetime) -> Transaction:
    """Send a reversal with a reserved amount to its acquirer; return the reversal after the answer."""
    try:
        answer = call_for_reversal(reversal, request, AUTHORIZE_SECONDS)
    except UnreachableError:
        return advance(reversal, transaction_steps.not_attempted, now)
    except UnusableAnswerError:
        return advance(reversal, transaction_steps.unusable, now)
    except AnswerLostError:
        return reversal
    if transaction_steps.is_never_accepted(answer):
        return reverse_partial_approval(reversal, now)
    return advance(reversal, partial(transaction_steps.reversal_with_answer, answer=answer), now)


def require_attempted(transaction: Transaction, *, replayed: bool = False) -> Transaction:
    """Return the transaction; raise 902, on every request, when it was never attempted."""
    if not transaction_steps.was_not_attempted(transaction):
        return transaction
    message = f"{ErrorCode.DEPENDENCY_UNAVAILABLE.message} Ask again with a new ID."
    raise ServiceError(ErrorCode.DEPENDENCY_UNAVAILABLE, message, replayed=replayed)


def refresh(transaction: Transaction, now: datetime) -> Transaction:
    """Return a requested transaction. A pending one is resolved first, at most once in a few seconds."""
    if not transaction.is_pending or transaction_steps.is_in_progress(transaction, now):
        return transaction
    return resolve(transaction, now)


def resolve(payment: Transaction, now: datetime) -> Transaction:
    """Resolve a due payment or reversal as far as possible now, unless another process has claimed it."""
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
    """Return the step after an inquiry. "Not found" counts once no request can be on its way any more.

    Even then the payment is reversed: if a paused process sends it later, the acquirer refuses it. The decision is
    stored before the reversal is sent, so a late approval is ignored.
    """
    acquirer = acquirers.named(payment.acquirer)
    try:
        answer = call(payment, lambda: acquirer.inquire(payment.id, RESOLVE_SECONDS))
    except AcquirerError:
        return transaction_steps.unknown
    if answer is not None and transaction_steps.is_never_accepted(answer):
        return partial(transaction_steps.auto_cancelling, now=now)
    if answer is not None and answer.reverses is None:
        return partial(transaction_steps.with_answer, answer=answer)
    if answer is not None:
        return transaction_steps.unknown  # an answer about a reversal says nothing about this payment
    if transaction_steps.is_not_found_final(payment, acquirer.quiet, now):
        return partial(transaction_steps.never_arrived, now=now)
    return transaction_steps.unknown


def _outcome_of_reversal(reversal: Transaction, now: datetime) -> Step:
    """Return the step after an inquiry about a reversal. A reversal that never arrived is requested again.

    The repeat has the same reference, so it reverses only once. It has no card, because no card is stored. Close to the
    Deadline no repeat is sent, so that "not found" is final at the Deadline.
    """
    acquirer = acquirers.named(reversal.acquirer)
    request = acquirer_messages.reversal_request(reversal, is_repeat=True)
    answer: AcquirerAnswer | None
    try:
        answer = call(reversal, lambda: acquirer.inquire(reversal.id, RESOLVE_SECONDS))
        if answer is not None:
            answer = proved(reversal, request, answer)
        elif transaction_steps.may_repeat_reversal(reversal, acquirer.quiet, now):
            answer = call_for_reversal(reversal, request, RESOLVE_SECONDS)
    except AcquirerError:
        return transaction_steps.unchanged
    if answer is not None:
        return partial(transaction_steps.reversal_with_answer, answer=answer)
    return transaction_steps.not_found if now >= reversal.deadline else transaction_steps.unchanged


def _at_deadline(payment: Transaction, now: datetime) -> Transaction:
    """Decide at the Deadline: reverse an unknown payment automatically, complete one that awaits completion."""
    if payment.phase is Phase.UNKNOWN:
        payment = advance(payment, partial(transaction_steps.auto_cancelling, now=now), now)
    if payment.phase is Phase.AUTO_CANCELLING and _auto_cancel(payment):
        return advance(payment, transaction_steps.auto_cancelled, now)
    if payment.phase is Phase.AWAITING_COMPLETION:
        return advance(payment, transaction_steps.completed, now)
    return payment


def _auto_cancel(payment: Transaction) -> bool:
    """Reverse the whole payment; return whether the acquirer acknowledged it."""
    return is_acknowledged(payment, acquirer_messages.automatic_request(payment, is_repeat=False))
