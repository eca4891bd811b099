"""Payments: taking one, and looking one up."""

from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.domain.reversal import CARD_PRESENT_MODES, CNP_MODES, ReverseMode
from chalicelib.schemas import transaction_view
from chalicelib.schemas.payment_request import PaymentAnswer, SubmitPayment, payment_answer
from chalicelib.schemas.reversal_request import ReversalAnswer, ReversePayment, reversal_answer
from chalicelib.schemas.transactions import StatusAnswer, TransactionList
from chalicelib.services import payments, pictures, reversals
from chalicelib.web import Headers


def submit(body: SubmitPayment, caller: Caller) -> PaymentAnswer:
    """Take a payment; the same BasicTran.ID with the same content is answered with the stored result."""
    now = datetime.now(UTC)
    transaction, replayed = payments.submit(body, caller, now)
    view = transaction_view.transaction_view(transaction, now, body.gmt, pictures.signed_url)
    return payment_answer(transaction, view, replayed=replayed)


def get(tran_id: str, caller: Caller) -> TransactionList:
    """One transaction by its ID, pending or not."""
    now = datetime.now(UTC)
    transaction = payments.get(tran_id, caller, now)
    return transaction_view.one(
        transaction, transaction_view.transaction_view(transaction, now, None, pictures.signed_url)
    )


def status_public(tran_id: str) -> StatusAnswer:
    """State and result of one transaction, for anybody who knows its ID."""
    transaction = payments.public(tran_id)
    return transaction_view.public_status(transaction, datetime.now(UTC)) if transaction else StatusAnswer()


def reverse(body: ReversePayment, caller: Caller, headers: Headers) -> ReversalAnswer:
    """Give back a cash or card-present payment, in full or in part."""
    return _reversed(body, caller, headers, CARD_PRESENT_MODES)


def reverse_cnp(body: ReversePayment, caller: Caller, headers: Headers) -> ReversalAnswer:
    """Give back a card-not-present payment, in full or in part."""
    return _reversed(body, caller, headers, CNP_MODES)


def _reversed(body: ReversePayment, caller: Caller, headers: Headers, modes: frozenset[ReverseMode]) -> ReversalAnswer:
    now = datetime.now(UTC)
    key = headers.get("idempotency-key")
    reversal, replayed = reversals.reverse(body, caller, now, modes=modes, key=key)
    return reversal_answer(reversal, transaction_view.transaction_view(reversal, now, body.gmt), replayed=replayed)
