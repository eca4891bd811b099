"""Payments: preparing, taking, reversing and reading one."""

from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.domain.reversal import CARD_PRESENT, CNP
from chalicelib.schemas.payments import (
    PaymentAnswer,
    PrepareAnswer,
    PreparePayment,
    ReceiptAnswer,
    ReversalAnswer,
    SubmitPayment,
)
from chalicelib.schemas.request_context import ZoneQuery, idempotency_key
from chalicelib.schemas.reversals import ReversePayment
from chalicelib.schemas.transaction_view import StatusAnswer, TransactionList, TransactionView
from chalicelib.services import payments, pictures, receipts, reversals
from chalicelib.services import prepare as service
from chalicelib.web import Headers


def submit(body: SubmitPayment, caller: Caller, headers: Headers) -> PaymentAnswer:
    """Take a payment; the same BasicTran.ID, or Idempotency-Key, with the same content gets the stored result."""
    now = datetime.now(UTC)
    transaction, replayed = payments.submit(body, caller, now, key=idempotency_key(headers))
    view = TransactionView.of(transaction, now, body.gmt, pictures.signed_url)
    return PaymentAnswer.of(transaction, view, replayed=replayed)


def get(tran_id: str, body: ZoneQuery, caller: Caller) -> TransactionList:
    """Return one transaction by its ID, pending or not."""
    now = datetime.now(UTC)
    return TransactionList.of_one(payments.get(tran_id, caller, now), now, body.gmt, pictures.signed_url)


def status_public(tran_id: str) -> StatusAnswer:
    """Return state and result of one transaction to anybody who knows its ID."""
    return StatusAnswer.of(payments.public(tran_id), datetime.now(UTC))


def receipt(tran_id: str, caller: Caller) -> ReceiptAnswer:
    """Return the receipt of one transaction as its customer gets it."""
    return ReceiptAnswer(receipt=receipts.get(tran_id, caller))


def reverse(body: ReversePayment, caller: Caller, headers: Headers) -> ReversalAnswer:
    """Reverse a cash or card-present payment: cancel (void) or return (refund), in full or in part."""
    return _reversed(body, caller, headers, CARD_PRESENT)


def reverse_cnp(body: ReversePayment, caller: Caller, headers: Headers) -> ReversalAnswer:
    """Reverse a card-not-present payment: cancel (void) or return (refund), in full or in part."""
    return _reversed(body, caller, headers, CNP)


def _reversed(body: ReversePayment, caller: Caller, headers: Headers, endpoint: str) -> ReversalAnswer:
    now = datetime.now(UTC)
    reversal, replayed = reversals.reverse(body, caller, now, endpoint=endpoint, key=idempotency_key(headers))
    return ReversalAnswer.of(reversal, TransactionView.of(reversal, now, body.gmt), replayed=replayed)


def prepare(body: PreparePayment, caller: Caller) -> PrepareAnswer:
    """Have the fields of a product filled in by the partner that sells it."""
    return PrepareAnswer.of(service.prepare(body, caller, datetime.now(UTC)))
