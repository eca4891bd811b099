"""The same request again: the stored answer under an ID used before, and the signature that a payment owes."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from chalicelib.domain import transaction_steps
from chalicelib.domain.payment import PaymentOrder, minor
from chalicelib.domain.reversal import ReversalOrder
from chalicelib.domain.transaction import Pictures, Transaction
from chalicelib.errors import ErrorCode, Finding, ServiceError, invalid
from chalicelib.schemas.payments import PictureFile
from chalicelib.services import outcomes, pictures
from chalicelib.services.receipts import receipts_for
from chalicelib.store import outbox as outbox_store
from chalicelib.store import transactions

NO_SUCH_AMOUNT = "No payment can have this amount."


def replay(stored: Transaction, order: PaymentOrder | ReversalOrder, fingerprint: str, now: datetime) -> Transaction:
    """Return the stored transaction of a repeated request, as its acquirer knows it by now.

    With other content raise ID_REUSED, or 202 for an amount that no payment can have. Its message names no currency:
    the ID may be another merchant's.
    """
    if stored.fingerprint != fingerprint:
        findings: list[Finding] = []
        if order.amount is not None:
            minor("amount", order.amount, stored.currency, findings)
        if findings:
            raise invalid(*(replace(one, message=NO_SUCH_AMOUNT) for one in findings))
        raise ServiceError(ErrorCode.ID_REUSED)
    return answer_again(stored, now)


def answer_again(stored: Transaction, now: datetime) -> Transaction:
    """Return a stored transaction, resolved if it is pending; 301 while the request that stored it is in progress."""
    if transaction_steps.is_in_progress(stored, now):
        raise ServiceError(ErrorCode.IN_PROGRESS)
    return outcomes.require_attempted(outcomes.refresh(stored, now), replayed=True)


def replay_first(
    transaction_id: str, order: PaymentOrder | ReversalOrder, fingerprint: str, now: datetime
) -> Transaction:
    """Return what an equal request stored first, at the same moment; 301 when it cannot be read yet."""
    first = transactions.get(transaction_id)
    if first is None:
        raise ServiceError(ErrorCode.IN_PROGRESS)
    return replay(first, order, fingerprint, now)


SIGNATURE = "SIGNATURE"
ATTEMPTS = 4  # to store it while the sweep or another delivery moves the payment
SIGNED = "signed"  # the occasion of the receipt


def deliver(payment: Transaction, files: Sequence[PictureFile], now: datetime) -> tuple[Transaction, bool]:
    """Return the payment, and whether the request changed nothing: then it is the replay of an earlier one.

    The file is stored first, under a digest of its content. One conditional write then adds it to the payment: of two
    deliveries at once one succeeds, and the other is a replay. Other files of the request change nothing.
    """
    signature = [file for file in files if file.file_type == SIGNATURE]
    delivered: Pictures | None = None
    for _ in range(ATTEMPTS):
        if not signature or not payment.took_money or not payment.owes_signature:
            return payment, True
        delivered = delivered or pictures.store_files(signature, payment.id)
        after = transaction_steps.signed(payment, delivered)
        is_paid_now = after.phase is not payment.phase and not after.is_reversed_in_full
        receipts = receipts_for(after, now, occasion=SIGNED) if is_paid_now else []
        try:
            transactions.store_step(payment, after, now, *map(outbox_store.put, receipts))
        except transactions.PhaseChangedError:
            payment = transactions.get(payment.id) or payment
        else:
            return after, False
    raise ServiceError(ErrorCode.IN_PROGRESS)
