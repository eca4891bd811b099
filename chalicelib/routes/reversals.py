"""Reversals: cancel or return a payment."""

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.domain.reversibility import CARD_PRESENT, CNP
from chalicelib.schemas.base import Headers
from chalicelib.schemas.reversals import ReversalAnswer, ReversePayment
from chalicelib.schemas.transaction_view import TransactionView
from chalicelib.services import reversals


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
