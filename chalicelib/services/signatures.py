"""Signatures that a payment owes: the same request, sent again with a SIGNATURE file, delivers it."""

from collections.abc import Sequence
from datetime import datetime

from chalicelib.domain import outcome
from chalicelib.domain.transaction import Pictures, Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.files import PictureFile
from chalicelib.services import pictures
from chalicelib.services.receipts import receipts_for
from chalicelib.store import outbox as outbox_store
from chalicelib.store import transactions

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
        after = outcome.signed(payment, delivered)
        is_paid_now = after.phase is not payment.phase and not after.is_reversed_in_full
        receipts = receipts_for(after, now, occasion=SIGNED) if is_paid_now else []
        try:
            transactions.store_step(payment, after, now, *map(outbox_store.put, receipts))
        except transactions.PhaseChangedError:
            payment = transactions.get(payment.id) or payment
        else:
            return after, False
    raise ServiceError(ErrorCode.IN_PROGRESS)
