"""Receipts: those to store with a transaction, and the one of a transaction as its customer gets it."""

from datetime import datetime

from chalicelib.domain import outbox
from chalicelib.domain.agent import Caller
from chalicelib.domain.merchant import MerchantSnapshot, snapshot_of
from chalicelib.domain.outbox import EMAIL, RECEIPT, SMS, Outbox
from chalicelib.domain.transaction import ReceiptAddresses, Transaction
from chalicelib.receipts.html import as_html
from chalicelib.receipts.receipt import has_receipt, receipt_of
from chalicelib.receipts.sms import as_sms
from chalicelib.receipts.text import as_text
from chalicelib.schemas.receipt_view import ReceiptView
from chalicelib.services.admission import admit_to_transaction
from chalicelib.services.pictures import signed_url
from chalicelib.store import merchants, terminals
from chalicelib.store.table import read_all


def get(transaction_id: str, caller: Caller) -> ReceiptView | None:
    """Return the receipt of a transaction the caller may see, None when no money moved.

    404 for what is missing and for what is another merchant's.
    """
    _, transaction = admit_to_transaction(caller, transaction_id)
    merchant = merchant_of(transaction) if has_receipt(transaction) else None
    if merchant is None:
        return None

    receipt = receipt_of(transaction, merchant)
    return ReceiptView(
        language=receipt.language,
        subject=receipt.subject,
        html=as_html(receipt, signed_url(receipt.logo_key)),
        text=as_text(receipt),
        short_text=as_sms(transaction, merchant),
    )


def receipts_for(transaction: Transaction, now: datetime, *, occasion: str | None = None) -> list[Outbox]:
    """Return the receipts to store beside the transaction (`store.outbox.put`).

    None of what was declined or is pending. `occasion` names a further receipt of a transaction: there is one of each.
    """
    wanted = transaction.receipt or ReceiptAddresses()
    addresses = {EMAIL: wanted.emails, SMS: wanted.phones}
    if not has_receipt(transaction):
        return []
    return [
        Outbox(
            id=".".join(filter(None, (transaction.id, occasion, channel))),
            kind=RECEIPT,
            client_id=transaction.client_id,
            to=to,
            channel=channel,
            created_at=now,
            transaction_id=transaction.id,
            retries=outbox.RETRIES if wanted.retries is None else wanted.retries,
        )
        for channel, to in addresses.items()
        if to
    ]


def merchant_of(transaction: Transaction) -> MerchantSnapshot | None:
    """Return the merchant as the transaction keeps it; of one made by version 1.0, which keeps none, as it is now."""
    if transaction.merchant is not None:
        return transaction.merchant
    merchant, terminal = read_all([merchants.key(transaction.client_id), terminals.key(transaction.terminal_id)])
    return snapshot_of(merchant, terminal.back_retailer_id if terminal else None) if merchant else None
