"""Receipts: the one of a transaction, as its customer gets it."""

from chalicelib.domain.agent import Caller
from chalicelib.receipts.html import as_html
from chalicelib.receipts.receipt import has_receipt, receipt_of
from chalicelib.receipts.sms import as_sms
from chalicelib.receipts.text import as_text
from chalicelib.schemas.receipt_view import ReceiptView
from chalicelib.services.admission import admit_to_transaction
from chalicelib.services.pictures import signed_url


def get(transaction_id: str, caller: Caller) -> ReceiptView | None:
    """Return the receipt of a transaction the caller may see, None when no money moved.

    404 for what is missing and for what is another merchant's.
    """
    _, transaction = admit_to_transaction(caller, transaction_id)
    if not has_receipt(transaction):
        return None

    receipt = receipt_of(transaction)
    return ReceiptView(
        language=receipt.language,
        subject=receipt.subject,
        html=as_html(receipt, signed_url(receipt.logo_key)),
        text=as_text(receipt),
        short_text=as_sms(transaction),
    )
