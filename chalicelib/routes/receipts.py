"""Receipts: show one, and send one later."""

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.schemas.base import Headers
from chalicelib.schemas.receipts import ReceiptAnswer, ReceiptQuery, SendReceipt, SendReceiptAnswer
from chalicelib.services import receipts


def get(tran_id: str, body: ReceiptQuery, caller: Caller) -> ReceiptAnswer:
    """Return the customer's receipt of one transaction."""
    return ReceiptAnswer(receipt=receipts.get(tran_id, caller, outside.now(), body.lang))


def send(tran_id: str, body: SendReceipt, caller: Caller, headers: Headers) -> SendReceiptAnswer:
    """Send the receipt of one transaction to the customer, later than the transaction."""
    withheld, replayed = receipts.send_later(tran_id, body, caller, outside.now(), key=headers.idempotency_key)
    return SendReceiptAnswer.of(withheld, replayed=replayed)
