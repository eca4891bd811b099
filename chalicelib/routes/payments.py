"""Payments: take one, and read one."""

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.schemas.base import Headers
from chalicelib.schemas.payments import PaymentAnswer, SubmitPayment
from chalicelib.schemas.request_context import ZoneQuery
from chalicelib.schemas.transaction_view import StatusAnswer, TransactionList, TransactionView
from chalicelib.services import payments, pictures


def submit(body: SubmitPayment, caller: Caller, headers: Headers) -> PaymentAnswer:
    """Take a payment by card or cash, once per ID."""
    now = outside.now()
    body = payments.with_own_numbers(body, caller)
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
