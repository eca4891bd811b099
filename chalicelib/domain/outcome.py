"""What becomes of a payment that an acquirer was asked for: each step of its life, and when to look at it again."""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.domain.acquirer import TOO_LATE, UNREACHABLE, AcquirerAnswer, message_of
from chalicelib.domain.transaction import TRANSITIONS, Phase, Transaction

REQUEST_LASTS = timedelta(
    seconds=30
)  # so long after it was kept, the request that kept it may still run: gateways wait 29 s
SHORTEST, LONGEST = timedelta(seconds=30), timedelta(minutes=15)  # between two inquiries of the sweep
PATIENCE = 4  # each pause is a fourth of the time it has been pending, and past its Deadline begins anew
REQUESTED = frozenset({Phase.SENT, Phase.CANCELLING, Phase.RETURNING})


def may_move_to(transaction: Transaction, phase: Phase) -> bool:
    """Whether the transaction may go to this phase from where it is."""
    return phase in TRANSITIONS[transaction.phase]


def with_answer(transaction: Transaction, answer: AcquirerAnswer) -> Transaction:
    """The payment when the acquirer has said what became of it."""
    signature = answer.is_approved and (transaction.signature_required or answer.signature_required)
    owed = not transaction.single_step or (signature and transaction.signature_key is None)
    approved = Phase.OWED if owed else Phase.APPROVED
    return replace(
        transaction,
        phase=approved if answer.is_approved else Phase.DECLINED,
        result_code=answer.code,
        result_message=answer.message,
        approval_code=answer.approval_code,
        rrn=answer.rrn,
        acquirer_tran_id=answer.acquirer_tran_id,
        signature_required=signature,
        pin_mode=answer.pin_mode,
    )


def reversal_with_answer(reversal: Transaction, answer: AcquirerAnswer) -> Transaction:
    """The reversal when the acquirer has said what became of it."""
    return replace(
        reversal,
        phase=Phase.GIVEN_BACK if answer.is_approved else Phase.DECLINED,
        result_code=answer.code,
        result_message=answer.message,
        approval_code=answer.approval_code,
        rrn=answer.rrn,
        acquirer_tran_id=answer.acquirer_tran_id,
    )


def unchanged(transaction: Transaction) -> Transaction:
    """The transaction when nothing was learned."""
    return transaction


def may_repeat_reversal(reversal: Transaction, quiet: timedelta, now: datetime) -> bool:
    """Whether a reversal that never arrived is asked for again.

    Not while the first may be on its way, nor so late that the answer could come after its Deadline has decided.
    """
    return is_not_found_final(reversal, quiet, now) and now < reversal.deadline - REQUEST_LASTS - quiet


def not_attempted(transaction: Transaction) -> Transaction:
    """The payment when no connection came about: nothing was attempted, so there is no result."""
    return replace(transaction, phase=Phase.REJECTED, signature_required=False)


def not_found(transaction: Transaction) -> Transaction:
    """The payment when the acquirer has not heard of it, and will not any more."""
    return _without_money(transaction, Phase.REJECTED, UNREACHABLE)


def unknown(transaction: Transaction) -> Transaction:
    """The payment when no answer came."""
    return replace(transaction, phase=Phase.UNKNOWN)


def auto_cancelling(transaction: Transaction) -> Transaction:
    """The payment when it is still unknown at its Deadline: whatever happened is undone."""
    return replace(transaction, phase=Phase.AUTO_CANCELLING)


def auto_cancelled(transaction: Transaction) -> Transaction:
    """The payment when the acquirer has acknowledged that it is undone."""
    return _without_money(transaction, Phase.AUTO_CANCELLED, TOO_LATE)


def completed(transaction: Transaction) -> Transaction:
    """A payment that owed a second step or a signature, at its Deadline: the money was approved, so it is paid."""
    return replace(transaction, phase=Phase.APPROVED)


def _without_money(transaction: Transaction, phase: Phase, code: int) -> Transaction:
    message = message_of(code)
    return replace(transaction, phase=phase, result_code=code, result_message=message, signature_required=False)


def was_not_attempted(transaction: Transaction) -> bool:
    """Whether the acquirer was out of reach, so that nobody was asked."""
    return transaction.phase is Phase.REJECTED and transaction.result_code is None


def is_in_progress(transaction: Transaction, now: datetime) -> bool:
    """Whether the request that kept it may still be at work on it."""
    return transaction.phase in REQUESTED and now < transaction.created_at + REQUEST_LASTS


def is_not_found_final(transaction: Transaction, quiet: timedelta, now: datetime) -> bool:
    """Whether "not found" is the truth: nothing sent by then is still on its way."""
    return now >= transaction.created_at + REQUEST_LASTS + quiet


def due_at(transaction: Transaction, now: datetime) -> datetime | None:
    """When somebody must look at it again; None when it is finished.

    The Deadline is always one of those times: nothing stays pending for longer than a sweep after it.
    """
    if transaction.phase is Phase.OWED:
        return transaction.deadline
    if not transaction.is_pending:
        return None
    since = transaction.created_at if now < transaction.deadline else transaction.deadline
    at = now + min(max((now - since) / PATIENCE, SHORTEST), LONGEST)
    if now < transaction.deadline:
        at = min(at, transaction.deadline)
    return max(at, transaction.created_at + REQUEST_LASTS)
