"""Receipts: the messages to store with a transaction, and the receipt that a till shows or prints."""

from datetime import datetime

from chalicelib.domain import outbox
from chalicelib.domain.agent import Caller
from chalicelib.domain.outbox import EMAIL, RECEIPT, SMS, Outbox
from chalicelib.domain.transaction import ReceiptContent, Transaction
from chalicelib.phone_numbers import sms_country
from chalicelib.receipts.content import has_receipt, receipt_of
from chalicelib.receipts.html import as_html
from chalicelib.receipts.text_and_sms import as_sms, as_text
from chalicelib.schemas.payments import ReceiptView
from chalicelib.services import message_limits
from chalicelib.services.caller_check import admit_to_transaction
from chalicelib.services.pictures import signed_url
from chalicelib.settings import settings


def get(transaction_id: str, caller: Caller) -> ReceiptView | None:
    """Return the receipt of a transaction that the caller may see, None when no money moved.

    Raise 404 for a missing transaction and for another merchant's.
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


def within_limits(
    content: ReceiptContent, client_id: int, agent_id: int, now: datetime, country: str | None = None
) -> ReceiptContent:
    """Return the content with only the addresses that may get a receipt of this agent, and count a message to each.

    SMS go to the countries of the stage, or else to `country`, the merchant's own (alpha-2). None: an earlier receipt
    went to the same numbers.
    """
    wanted = content.to_send
    if wanted is None:
        return content
    phones = wanted.phones
    if country is not None:
        countries = settings().sms_countries or {country}
        phones = tuple(phone for phone in phones if sms_country(phone) in countries)
    admitted = message_limits.admit(wanted.emails + phones, client_id, agent_id, now)
    if withheld := len(wanted.all) - len(admitted):
        message_limits.log_withheld(RECEIPT, client_id, agent_id, withheld)
    return content.limited_to(admitted)


def receipts_for(transaction: Transaction, now: datetime, *, occasion: str | None = None) -> list[Outbox]:
    """Return the receipts to store with the transaction (`store.outbox.put`).

    Return none for a declined or pending one. `occasion` names a further receipt: a transaction has one per occasion.
    """
    wanted = transaction.receipt.to_send
    if wanted is None or not has_receipt(transaction):
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
        for channel, to in ((EMAIL, wanted.emails), (SMS, wanted.phones))
        if to
    ]
