"""Outcomes: each step a transaction takes once an acquirer was called, and when it is to be resolved next.

An outcome is unknown until the acquirer answers, an inquiry finds it, or an automatic reversal is acknowledged.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from chalicelib.domain import emv
from chalicelib.domain.acquirer import TOO_LATE, UNREACHABLE, AcquirerAnswer, message_of
from chalicelib.domain.masking import mask_foreign
from chalicelib.domain.transaction import TRANSITIONS, Phase, Transaction

REQUEST_LASTS = timedelta(seconds=30)  # at the most, after it stored the transaction: gateways wait 29 s
SHORTEST_PAUSE, LONGEST_PAUSE = timedelta(seconds=30), timedelta(minutes=15)  # between two inquiries of the sweep
PAUSE_DIVISOR = 4  # a pause is a fourth of the time it has been pending; past its Deadline that time begins anew
MAX_FIELDS, MAX_TITLE = 1024, 256  # characters of what the acquirer writes for the till
REQUESTED = frozenset({Phase.SENT, Phase.CANCELLING, Phase.RETURNING})


def may_move_to(transaction: Transaction, phase: Phase) -> bool:
    """Return whether this phase may follow the transaction's own."""
    return phase in TRANSITIONS[transaction.phase]


def with_answer(transaction: Transaction, answer: AcquirerAnswer) -> Transaction:
    """Return the payment with the acquirer's answer: approved, awaiting completion or declined."""
    signature = answer.is_approved and (transaction.signature_required or answer.signature_required)
    incomplete = not transaction.single_step or (signature and transaction.signature_key is None)
    approved = Phase.AWAITING_COMPLETION if incomplete else Phase.APPROVED
    return replace(
        transaction,
        **_answered(transaction, answer),
        phase=approved if answer.is_approved else Phase.DECLINED,
        signature_required=signature,
        pin_mode=answer.pin_mode,
    )


def reversal_with_answer(reversal: Transaction, answer: AcquirerAnswer) -> Transaction:
    """Return the reversal with the acquirer's answer."""
    signature = answer.is_approved and (reversal.signature_required or answer.signature_required)
    return replace(
        reversal,
        **_answered(reversal, answer),
        phase=Phase.REVERSAL_APPROVED if answer.is_approved else Phase.DECLINED,
        signature_required=signature,
    )


def _answered(transaction: Transaction, answer: AcquirerAnswer) -> dict[str, Any]:
    """Return what is stored of any answer. No text of the acquirer's brings a card number into the store."""

    def text(written: str | None, longest: int) -> str | None:
        return mask_foreign(written, transaction.card)[:longest] if written else None

    return {
        "result_code": answer.code,
        "result_message": answer.message,
        "approval_code": answer.approval_code,
        "rrn": answer.rrn,
        "acquirer_tran_id": answer.acquirer_tran_id,
        "additional_acquiring_fields": text(answer.additional_fields, MAX_FIELDS),
        "additional_acquiring_fields_title": text(answer.additional_fields_title, MAX_TITLE),
        "emv_result": emv.issuer_answer(answer.emv_result),
    }


def unchanged(transaction: Transaction) -> Transaction:
    """Return the transaction as it is: no answer came."""
    return transaction


def may_repeat_reversal(reversal: Transaction, quiet: timedelta, now: datetime) -> bool:
    """Return whether a reversal that never arrived may be requested again.

    Not while the first may be on its way, nor so late that the answer could come after its Deadline has decided.
    """
    return is_not_found_final(reversal, quiet, now) and now < reversal.deadline - REQUEST_LASTS - quiet


def not_attempted(transaction: Transaction) -> Transaction:
    """Return the transaction rejected without a result: no connection came about, nothing was attempted."""
    return replace(transaction, phase=Phase.REJECTED, signature_required=False)


def not_found(transaction: Transaction) -> Transaction:
    """Return the transaction rejected: the acquirer does not know it, and cannot receive it any more."""
    return _without_money(transaction, Phase.REJECTED, UNREACHABLE)


def unknown(transaction: Transaction) -> Transaction:
    """Return the payment with its outcome unknown: no answer came."""
    return replace(transaction, phase=Phase.UNKNOWN)


def auto_cancelling(transaction: Transaction) -> Transaction:
    """Return the payment to be reversed automatically: it is still unknown at its Deadline."""
    return replace(transaction, phase=Phase.AUTO_CANCELLING)


def auto_cancelled(transaction: Transaction) -> Transaction:
    """Return the payment cancelled: the acquirer acknowledged the automatic reversal."""
    return _without_money(transaction, Phase.AUTO_CANCELLED, TOO_LATE)


def completed(transaction: Transaction) -> Transaction:
    """Return the payment paid: its completion is missing at the Deadline, and the money was approved."""
    return replace(transaction, phase=Phase.APPROVED)


def signed(transaction: Transaction, signature_key: str) -> Transaction:
    """Return the payment with the signature it owed: paid, unless its second step is missing as well.

    One that was completed at its Deadline meanwhile gets the signature and stays as it is.
    """
    waits = transaction.phase is Phase.AWAITING_COMPLETION and transaction.single_step
    phase = Phase.APPROVED if waits else transaction.phase
    return replace(transaction, phase=phase, signature_key=signature_key)


def _without_money(transaction: Transaction, phase: Phase, code: int) -> Transaction:
    message = message_of(code)
    return replace(transaction, phase=phase, result_code=code, result_message=message, signature_required=False)


def was_not_attempted(transaction: Transaction) -> bool:
    """Return whether the acquirer was out of reach, so that nothing was attempted."""
    return transaction.phase is Phase.REJECTED and transaction.result_code is None


def is_in_progress(transaction: Transaction, now: datetime) -> bool:
    """Return whether the request that stored it may still be at work on it."""
    return transaction.phase in REQUESTED and now < transaction.created_at + REQUEST_LASTS


def is_not_found_final(transaction: Transaction, quiet: timedelta, now: datetime) -> bool:
    """Return whether "not found" is final: nothing that was sent can still be on its way."""
    return now >= transaction.created_at + REQUEST_LASTS + quiet


def due_at(transaction: Transaction, now: datetime) -> datetime | None:
    """Return when it is to be resolved next; None when it is finished.

    The Deadline is always one of those times: nothing stays pending for longer than a sweep after it.
    """
    if transaction.phase is Phase.AWAITING_COMPLETION:
        return transaction.deadline
    if not transaction.is_pending:
        return None
    since = transaction.created_at if now < transaction.deadline else transaction.deadline
    at = now + min(max((now - since) / PAUSE_DIVISOR, SHORTEST_PAUSE), LONGEST_PAUSE)
    if now < transaction.deadline:
        at = min(at, transaction.deadline)
    return max(at, transaction.created_at + REQUEST_LASTS)
