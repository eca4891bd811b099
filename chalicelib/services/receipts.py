"""Receipts: the receipt that a till shows or prints, and the one that is sent later than its transaction."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial

from chalicelib.domain.agent import Caller
from chalicelib.domain.kinds import language_of
from chalicelib.domain.outbox import SendingRequest, is_old, receipts_for
from chalicelib.domain.transaction import ReceiptAddresses, ReceiptContent, Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways.ids import derived_guid, new_guid
from chalicelib.gateways.secrets import pseudonym
from chalicelib.receipts.content import receipt_of
from chalicelib.receipts.html import as_html
from chalicelib.receipts.text_and_sms import as_sms, as_text
from chalicelib.schemas.receipts import ReceiptView, SendReceipt
from chalicelib.services.caller_check import admit_to_transaction
from chalicelib.services.message_limits import within_limits
from chalicelib.services.pictures import signed_url
from chalicelib.settings import settings
from chalicelib.store import outbox as outbox_store
from chalicelib.store.table import AlreadyExistsError, Write, read

PutRequest = Callable[[tuple[str, ...], datetime], Write]


def get(transaction_id: str, caller: Caller, now: datetime, lang: str | None = None) -> ReceiptView | None:
    """Return the receipt of a transaction that the caller may see, None when no money moved.

    `lang` is the tag of its language, None for the transaction's own. Raise 404 for a missing transaction and for
    another merchant's.
    """
    _, transaction = admit_to_transaction(caller, transaction_id)
    if not transaction.moved_money:
        return None

    if lang:
        content = replace(transaction.receipt, language=language_of(lang))
        transaction = replace(transaction, receipt=content)
    is_copy = is_old(transaction, now)
    receipt = receipt_of(transaction, is_copy=is_copy)
    return ReceiptView.of(
        transaction,
        language=receipt.language,
        subject=receipt.subject,
        html=as_html(receipt, signed_url(receipt.logo_key)),
        text=as_text(receipt),
        short_text=as_sms(transaction, stage=settings().sms_sender, is_copy=is_copy),
    )


def send_later(
    transaction_id: str, body: SendReceipt, caller: Caller, now: datetime, *, key: str | None
) -> tuple[tuple[str, ...], bool]:
    """Send the receipt of a transaction that the caller may see, once for each `key`, the Idempotency-Key header.

    Return the paths of the addresses that get none, and whether an earlier request with the same key was carried out.
    Raise ORIGINAL_UNFINISHED when no money moved, and ID_REUSED when that request had another transaction or other
    addresses.
    """
    own = outbox_store.request_key(derived_guid("receipt", caller.agent_id, key)) if key else None
    loaded, transaction = admit_to_transaction(
        caller, transaction_id, *([own] if own else []), current_account_id=body.current_account_id
    )
    body.check_readable()
    merchant = loaded.merchant_of(transaction.client_id)
    country = merchant.country_code if merchant else ""
    wanted = body.addresses_in(country)
    named = _named(transaction, wanted)
    if own and (first := loaded.read(own)):
        return _replay(first, named), True
    _check_has_receipt(transaction)

    def send(*, is_copy: bool) -> ReceiptContent:
        once = partial(outbox_store.put_request, own, pseudonym(KIND, named)) if own else None
        writes = partial(_writes, transaction, once, now, is_copy=is_copy)
        return within_limits(content, transaction.client_id, caller.agent_id, now, country, writes=writes)

    language = language_of(body.lang) if body.lang else transaction.receipt.language
    content = ReceiptContent(addresses=wanted, language=language)
    was_sent = transaction.receipt.addresses is not None  # with the transaction itself
    try:
        try:
            sent = send(is_copy=was_sent or is_old(transaction, now))
        except outbox_store.OriginalSentError:
            sent = send(is_copy=True)
    except AlreadyExistsError:  # an equal request stored it a moment before
        return _replay(own and read(own), named), True
    return sent.withheld, False


def _writes(
    transaction: Transaction, once: PutRequest | None, now: datetime, limited: ReceiptContent, *, is_copy: bool
) -> list[Write]:
    """Return the writes of the messages, of their request under its key, and of the mark of the original.

    Only one original can be stored: another one raises OriginalSentError.
    """
    request = [once(limited.withheld, now)] if once else []
    messages = receipts_for(replace(transaction, receipt=limited), now, occasion=new_guid())
    told = [replace(one, language=limited.language, is_copy=is_copy or None) for one in messages]
    original = [outbox_store.put_original(transaction.id, now)] if told and not is_copy else []
    return [*request, *map(outbox_store.put, told), *original]


def _check_has_receipt(transaction: Transaction) -> None:
    if transaction.is_pending:
        raise ServiceError(ErrorCode.ORIGINAL_UNFINISHED, "The transaction is not finished.")
    if not transaction.moved_money:
        raise ServiceError(ErrorCode.ORIGINAL_UNFINISHED, "The transaction moved no money: it has no receipt.")


KIND = "receipt"  # of the pseudonyms of requests: no address can be read from one


def _named(transaction: Transaction, wanted: ReceiptAddresses) -> str:
    """Return a text that is equal for equal requests."""
    return "\x1f".join((transaction.id, *sorted(one.lower() for one in wanted.all)))


def _replay(first: SendingRequest | None, named: str) -> tuple[str, ...]:
    """Return the withheld paths of the request that used a key first. Raise 301 while it is unreadable."""
    if first is None:
        raise ServiceError(ErrorCode.IN_PROGRESS)
    if first.digest != pseudonym(KIND, named):
        raise ServiceError(ErrorCode.ID_REUSED)
    return first.withheld
