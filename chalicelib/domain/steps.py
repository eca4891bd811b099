"""The steps of a transaction after its acquirer was called, and the time of its next resolution.

An outcome is unknown until the acquirer answers, an inquiry finds it, or an automatic reversal is acknowledged.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.domain import acquirer_messages, emv
from chalicelib.domain.acquirer import PARTIAL, TOO_LATE, UNREACHABLE, AcquirerAnswer, text_of_code
from chalicelib.domain.masking import mask_foreign
from chalicelib.domain.phases import TRANSITIONS, Phase
from chalicelib.domain.request_time import HOST_REQUEST_LASTS, REQUEST_LASTS
from chalicelib.domain.transaction import Completion, MessageTrace, Pictures, Result, Transaction

SHORTEST_PAUSE, LONGEST_PAUSE = timedelta(seconds=30), timedelta(minutes=15)  # between two inquiries of the sweep
CLAIM_PAUSE = timedelta(seconds=5)  # between two claims of the same transaction
PAUSE_DIVISOR = 4  # a pause is a quarter of the time pending, counted again from the Deadline
MAX_FIELDS, MAX_TITLE = 1024, 256  # characters of the acquirer's text for the till
REQUESTED = frozenset({Phase.SENT, Phase.CANCELLING, Phase.RETURNING})
ANSWERABLE = frozenset({Phase.SENT, Phase.UNKNOWN})  # later, while it is being cancelled, an answer is ignored


def may_follow(before: Transaction, after: Transaction) -> bool:
    """Return whether `after` may be the next step: a phase that may follow, or changed facts while pending."""
    learns = before.is_pending and after.phase is before.phase and after != before
    return learns or after.phase in TRANSITIONS[before.phase]


def with_answer(transaction: Transaction, answer: AcquirerAnswer) -> Transaction:
    """Return the payment with the acquirer's answer: approved, awaiting completion or declined."""
    if transaction.phase not in ANSWERABLE:
        return transaction
    completion = _completion_after(transaction, answer)
    is_signed = not completion.signature_required or transaction.pictures.signature_key is not None
    approved = Phase.APPROVED if completion.single_step and is_signed else Phase.AWAITING_COMPLETION
    return replace(
        transaction,
        phase=approved if answer.is_approved else Phase.DECLINED,
        result=_result_of(transaction, answer),
        completion=completion,
    )


def reversal_with_answer(reversal: Transaction, answer: AcquirerAnswer) -> Transaction:
    """Return the reversal with the acquirer's answer. An answer is too late while the reversal is being cancelled."""
    if reversal.phase is Phase.AUTO_CANCELLING:
        return reversal
    return replace(
        reversal,
        phase=Phase.REVERSAL_APPROVED if answer.is_approved else Phase.DECLINED,
        result=_result_of(reversal, answer),
        completion=_completion_after(reversal, answer),
    )


def _completion_after(transaction: Transaction, answer: AcquirerAnswer) -> Completion:
    """Return the steps that an approval still needs: a signature, if the till or the acquirer wants one."""
    before = transaction.completion
    required = answer.is_approved and (before.signature_required or answer.signature_required)
    return replace(before, signature_required=required)


def _result_of(transaction: Transaction, answer: AcquirerAnswer) -> Result:
    """Return the stored part of an answer. Card numbers in the acquirer's texts are masked."""

    def text(written: str | None, longest: int) -> str | None:
        return mask_foreign(written, transaction.card)[:longest] if written else None

    return Result(
        code=answer.code,
        message=answer.message,
        approval_code=answer.approval_code,
        rrn=transaction.result.rrn if transaction.host else answer.rrn,
        acquirer_tran_id=text(answer.acquirer_tran_id, MAX_TITLE),
        pin_mode=answer.pin_mode,
        additional_fields=text(answer.additional_fields, MAX_FIELDS),
        additional_fields_title=text(answer.additional_fields_title, MAX_TITLE),
        emv_result=emv.issuer_answer(answer.emv_result),
    )


def unchanged(transaction: Transaction) -> Transaction:
    """Return the transaction unchanged: no answer came."""
    return transaction


def may_repeat_reversal(reversal: Transaction, quiet: timedelta, now: datetime) -> bool:
    """Return whether a reversal that never arrived may be requested again.

    It may not while the first request may be on its way, or so late that the answer could come after its Deadline.
    """
    return is_not_found_final(reversal, quiet, now) and now < reversal.deadline - REQUEST_LASTS - quiet


def not_attempted(transaction: Transaction) -> Transaction:
    """Return the transaction rejected without a result: no connection was made, so nothing was attempted.

    An automatic cancel in progress stays as it is: only an acknowledgement ends it. So does a claimed reversal: the
    process that claimed it may have sent it.
    """
    if transaction.phase is Phase.AUTO_CANCELLING or (transaction.is_reversal and transaction.claimed_at):
        return transaction
    return replace(transaction, phase=Phase.REJECTED, completion=_without_signature(transaction))


def not_found(transaction: Transaction) -> Transaction:
    """Return the transaction rejected: the acquirer does not know it and can no longer receive it."""
    return _without_money(transaction, Phase.REJECTED, UNREACHABLE)


def unknown(transaction: Transaction, acquirer_tran_id: str | None = None) -> Transaction:
    """Return the payment with unknown outcome: no answer came, or only one with the acquirer's ID of the payment."""
    result = transaction.result
    known = replace(result, acquirer_tran_id=acquirer_tran_id) if acquirer_tran_id else result
    return replace(transaction, phase=Phase.UNKNOWN, result=known)


def unanswered(transaction: Transaction, now: datetime) -> Transaction:
    """Return the transaction as claimed: its request has ended without an answer, so others may resolve it."""
    return replace(transaction, claimed_at=transaction.claimed_at or now)


def unusable(transaction: Transaction) -> Transaction:
    """Return the transaction with unknown outcome: the answer cannot be used."""
    if transaction.phase is Phase.AUTO_CANCELLING:  # its advice already has a reason, which must not change
        return transaction
    after = transaction if transaction.is_reversal else unknown(transaction)
    return replace(after, host=after.host and replace(after.host, answer_unusable=True))


def is_never_accepted(answer: AcquirerAnswer) -> bool:
    """Return whether the answer is a partial approval, which is reversed before the till receives an answer."""
    return answer.code == PARTIAL


def auto_cancelling(transaction: Transaction, now: datetime) -> Transaction:
    """Return the transaction to reverse automatically: its outcome is unknown and cannot be inquired.

    A host without inquiries receives the same advice until it acknowledges it. The advice's facts are decided here.
    """
    facts = transaction.host
    if facts and facts.advice is None:
        facts = replace(facts, advice=MessageTrace(facts.advice_stan, now))
    return replace(transaction, phase=Phase.AUTO_CANCELLING, host=facts)


def never_arrived(transaction: Transaction, now: datetime) -> Transaction:
    """Return the payment to reverse automatically and then reject: the acquirer does not know it."""
    return replace(auto_cancelling(transaction, now), result=_with_code(transaction, UNREACHABLE))


def auto_cancelled(transaction: Transaction) -> Transaction:
    """Return the transaction after its automatic reversal is acknowledged: a payment is cancelled, a reversal rejected.

    A payment that the acquirer did not know is also rejected.
    """
    if transaction.result.code == UNREACHABLE:
        return not_found(transaction)
    phase = Phase.REJECTED if transaction.is_reversal else Phase.AUTO_CANCELLED
    return _without_money(transaction, phase, TOO_LATE)


def partly_approved(transaction: Transaction) -> Transaction:
    """Return the transaction declined after a partial approval, which was reversed at once."""
    return _without_money(transaction, Phase.DECLINED, PARTIAL)


def completed(transaction: Transaction) -> Transaction:
    """Return the payment as paid: its completion is missing at the Deadline, but the money is approved."""
    return replace(transaction, phase=Phase.APPROVED)


def signed(transaction: Transaction, delivered: Pictures) -> Transaction:
    """Return the payment with the signature it owed: paid, unless its second step is missing as well.

    A payment that was completed at its Deadline meanwhile gets the signature and keeps its phase.
    """
    waits = transaction.phase is Phase.AWAITING_COMPLETION and transaction.completion.single_step
    phase = Phase.APPROVED if waits else transaction.phase
    pictures = replace(transaction.pictures, signature_key=delivered.signature_key)
    return replace(transaction, phase=phase, pictures=pictures)


def _without_money(transaction: Transaction, phase: Phase, code: int) -> Transaction:
    return replace(
        transaction, phase=phase, result=_with_code(transaction, code), completion=_without_signature(transaction)
    )


def _with_code(transaction: Transaction, code: int) -> Result:
    return replace(transaction.result, code=code, message=text_of_code(code))


def _without_signature(transaction: Transaction) -> Completion:
    return replace(transaction.completion, signature_required=False)


def was_not_attempted(transaction: Transaction) -> bool:
    """Return whether the acquirer was unreachable, so that nothing was attempted."""
    return transaction.phase is Phase.REJECTED and transaction.result.code is None


def is_in_progress(transaction: Transaction, now: datetime) -> bool:
    """Return whether the request that stored it may still be working on it, also to reverse a partial approval.

    It is not once the transaction is claimed.
    """
    at_host = transaction.host is not None
    lasts = HOST_REQUEST_LASTS if at_host else REQUEST_LASTS
    reverses = (
        acquirer_messages.is_advised_by_its_request(transaction)
        if at_host
        else transaction.phase is Phase.AUTO_CANCELLING
    )
    is_requested = transaction.claimed_at is None and (transaction.phase in REQUESTED or reverses)
    return is_requested and now < transaction.created_at + lasts


def is_not_found_final(transaction: Transaction, quiet: timedelta, now: datetime) -> bool:
    """Return whether "not found" is final: no request can still be on its way."""
    return now >= transaction.created_at + REQUEST_LASTS + quiet


def due_at(transaction: Transaction, now: datetime) -> datetime | None:
    """Return the time of the next resolution; None for a finished transaction.

    The Deadline is always one of these times, so nothing stays pending longer than a sweep after it.
    """
    if transaction.phase is Phase.AWAITING_COMPLETION:
        return transaction.deadline
    if not transaction.is_pending:
        return None
    if transaction.host:
        return _due_at_host(transaction, now)
    since = transaction.created_at if now < transaction.deadline else transaction.deadline
    at = now + min(max((now - since) / PAUSE_DIVISOR, SHORTEST_PAUSE), LONGEST_PAUSE)
    if now < transaction.deadline:
        at = min(at, transaction.deadline)
    return max(at, transaction.created_at + REQUEST_LASTS)


def claims_hold_since(transaction: Transaction, now: datetime) -> datetime:
    """Return the time of the oldest claim that still holds a transaction `now`.

    A claim lasts a few seconds; after the Deadline one more is allowed.
    """
    since = now - CLAIM_PAUSE
    return since if now < transaction.deadline else max(since, transaction.deadline)


def _due_at_host(transaction: Transaction, now: datetime) -> datetime:
    """Return the time of the next message to a host without inquiries: each run of the sweep repeats the message."""
    if transaction.phase in REQUESTED and now < transaction.created_at + HOST_REQUEST_LASTS:
        return transaction.created_at + HOST_REQUEST_LASTS
    return now if transaction.phase is Phase.UNKNOWN else now + acquirer_messages.REPEAT_EACH
