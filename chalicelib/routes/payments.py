"""Payments: prepare, take, reverse and read one."""

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.domain.reversibility import CARD_PRESENT, CNP
from chalicelib.schemas.payments import (
    PaymentAnswer,
    PrepareAnswer,
    PreparePayment,
    ReceiptAnswer,
    ReceiptQuery,
    ReversalAnswer,
    SendReceipt,
    SendReceiptAnswer,
    SubmitPayment,
)
from chalicelib.schemas.request_context import ZoneQuery
from chalicelib.schemas.reversals import ReversePayment
from chalicelib.schemas.transaction_view import StatusAnswer, TransactionList, TransactionView
from chalicelib.services import payments, pictures, receipts, reversals
from chalicelib.services import prepare as service
from chalicelib.web import Headers


def submit(body: SubmitPayment, caller: Caller, headers: Headers) -> PaymentAnswer:
    """Take a payment by card or cash, once per ID."""
    now = outside.now()
    transaction, replayed = payments.submit(body, caller, now, key=headers.idempotency_key)
    view = TransactionView.of(transaction, now, body.gmt, pictures.signed_url)
    return PaymentAnswer.of(transaction, view, replayed=replayed)


def get(tran_id: str, body: ZoneQuery, caller: Caller) -> TransactionList:
    """Return one transaction by its ID, pending or finished."""
    now = outside.now()
    return TransactionList.of_one(payments.get(tran_id, caller, now), now, body.gmt, pictures.signed_url)


def status_public(tran_id: str) -> StatusAnswer:
    """Return the state and result of one transaction to anyone with its ID."""
    return StatusAnswer.of(payments.public(tran_id), outside.now())


def receipt(tran_id: str, body: ReceiptQuery, caller: Caller) -> ReceiptAnswer:
    """Return the customer's receipt of one transaction."""
    return ReceiptAnswer(receipt=receipts.get(tran_id, caller, body.lang))


def send_receipt(tran_id: str, body: SendReceipt, caller: Caller, headers: Headers) -> SendReceiptAnswer:
    """Send the receipt of one transaction to the customer, later than the transaction."""
    withheld, replayed = receipts.send_later(tran_id, body, caller, outside.now(), key=headers.idempotency_key)
    return SendReceiptAnswer.of(withheld, replayed=replayed)


def reverse(body: ReversePayment, caller: Caller, headers: Headers) -> ReversalAnswer:
    """Cancel (void) or return (refund) a cash or card-present payment, in full or in part."""
    return _reversed(body, caller, headers, CARD_PRESENT)


def reverse_cnp(body: ReversePayment, caller: Caller, headers: Headers) -> ReversalAnswer:
    """Cancel (void) or return (refund) a card-not-present payment, in full or in part."""
    return _reversed(body, caller, headers, CNP)


def _reversed(body: ReversePayment, caller: Caller, headers: Headers, endpoint: str) -> ReversalAnswer:
    now = outside.now()
    reversal, replayed = reversals.reverse(body, caller, now, endpoint=endpoint, key=headers.idempotency_key)
    return ReversalAnswer.of(reversal, TransactionView.of(reversal, now, body.gmt), replayed=replayed)


def prepare(body: PreparePayment, caller: Caller) -> PrepareAnswer:
    """Let a product's partner fill in the product's fields before a payment."""
    return PrepareAnswer.of(service.prepare(body, caller, outside.now()))
