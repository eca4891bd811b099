"""The outbox: the receipts of a transaction, and sending messages: those just stored, and by the sweep."""

import time
from dataclasses import replace
from datetime import datetime

from chalicelib.domain import outbox
from chalicelib.domain.merchant import MerchantSnapshot, snapshot_of
from chalicelib.domain.outbox import EMAIL, RECEIPT, SMS, NotSentError, Outbox
from chalicelib.domain.transaction import ReceiptAddresses, Transaction
from chalicelib.gateways import mail, sms
from chalicelib.log import log, log_defect
from chalicelib.receipts.html import as_html
from chalicelib.receipts.receipt import has_receipt, receipt_of
from chalicelib.receipts.sms import as_sms
from chalicelib.receipts.text import as_text
from chalicelib.settings import settings
from chalicelib.store import due_index, merchants, terminals, transactions
from chalicelib.store import outbox as outbox_store
from chalicelib.store.table import read_all

SWEEP_SECONDS = 20  # of a sweep; with the last sending well within the time an entry is held
GATEWAYS = {EMAIL: mail, SMS: sms}


def receipts_for(transaction: Transaction, now: datetime, *, occasion: str | None = None) -> list[Outbox]:
    """Return the receipts to store beside the transaction (`store.outbox.put`).

    None of what was declined or is pending. `occasion` names a further receipt of a transaction: there is one of each.
    """
    wanted = transaction.receipt.addresses or ReceiptAddresses()
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


def send_new(entry: Outbox, now: datetime, until: float) -> None:
    """Send what was just stored, once however often the stream says so; what fails is left to the sweep.

    Nothing is begun after `until`, a time of `time.monotonic`.
    """
    is_late = entry.due_at is None or now > entry.due_at - outbox.HELD_FOR + outbox.STREAMS_TURN
    held = None if is_late or time.monotonic() > until else outbox_store.claim_new(entry)
    if held:
        _attempt(held, now, until)


def deliver_due(now: datetime, limit: int = 25) -> int:
    """Send at most `limit` of the entries nobody holds, and return how many. Sweeps may run side by side."""
    until = time.monotonic() + SWEEP_SECONDS
    done = 0
    for entry_id in due_index.ids(outbox_store.TABLE, now, limit):
        if time.monotonic() > until:
            break
        if entry := outbox_store.claim(entry_id, now):
            _attempt(entry, now, until)
            done += 1
    return done


def lag_seconds(now: datetime) -> int:
    """Return for how long the oldest message has been due."""
    return due_index.lag_seconds(outbox_store.TABLE, now)


def merchant_of(transaction: Transaction) -> MerchantSnapshot | None:
    """Return the merchant as the transaction keeps it; of one made by version 1.0, which keeps none, as it is now."""
    if transaction.receipt.merchant is not None:
        return transaction.receipt.merchant
    merchant, terminal = read_all([merchants.key(transaction.client_id), terminals.key(transaction.terminal_id)])
    return snapshot_of(merchant, terminal.back_retailer_id if terminal else None) if merchant else None


def _attempt(held: Outbox, now: datetime, until: float) -> None:
    """Send one entry and store the result. A defect is logged; the entry is due again when its hold ends."""
    try:
        after, reason = _sent(held, now, until)
        outbox_store.store_attempt(held, after)
    except Exception as defect:  # noqa: BLE001  one message stops no other
        log_defect(defect, outbox=held.id, attempts=held.attempts)
        return
    outcome = "sent" if after.sent_at else "given up" if after.given_up_at else "failed"
    log("outbox", outbox=held.id, kind=held.kind, outcome=outcome, attempts=held.attempts, reason=reason)


def _sent(held: Outbox, now: datetime, until: float) -> tuple[Outbox, str | None]:
    """Return the entry after one attempt, and why it was not sent."""
    if outbox.is_spent(held):
        return outbox.given_up(held, now), "no attempt came back"
    if not _has_sender(held):
        return outbox.given_up(held, now), "the stage has no sender"
    message = held if held.text else _with_text(held)
    if not message.text:
        return outbox.failed(held, now), "its text cannot be written"
    left, reason = [], None
    for address in held.to:
        try:
            _send_one(message, address, until)
        except NotSentError as failure:
            left.append(address)
            reason = str(failure)
    if left:
        return outbox.failed(replace(held, to=tuple(left)), now), reason
    return outbox.sent(held, now), None


def _has_sender(entry: Outbox) -> bool:
    return bool(settings().mail_from if entry.channel == EMAIL else settings().sms_sender)


def _send_one(message: Outbox, address: str, until: float) -> None:
    if time.monotonic() > until:
        reason = "out of time"
        raise NotSentError(reason)
    GATEWAYS[message.channel].send(message, address)


def _with_text(entry: Outbox) -> Outbox:
    """Return a receipt with its text, made from its transaction; without it when it cannot be written."""
    transaction = transactions.get(entry.transaction_id or "")
    merchant = merchant_of(transaction) if transaction else None
    if transaction is None or merchant is None:
        return entry
    try:
        if entry.channel == SMS:
            return replace(entry, text=as_sms(transaction, merchant))
        receipt = receipt_of(transaction, merchant)
        return replace(
            entry,
            sender=receipt.merchant,
            subject=receipt.subject,
            text=as_text(receipt),
            html=as_html(receipt, outbox.LOGO_IN_MAIL if receipt.logo_key else None),
            logo_key=receipt.logo_key,
        )
    except Exception as defect:  # noqa: BLE001  see the docstring
        log_defect(defect, outbox=entry.id)
        return entry
