"""Take a payment, and read one."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from chalicelib.domain import acquirer_messages, payment, permissions
from chalicelib.domain.acquirer import AuthorizationRequest
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.card import LinkedCard, is_another
from chalicelib.domain.guid import is_guid
from chalicelib.domain.history import Page, amount_taken, entry_of
from chalicelib.domain.merchant import Terminal
from chalicelib.domain.payment import PaymentOrder, Till, with_card
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import KINDS, Transaction
from chalicelib.errors import ErrorCode, ServiceError, invalid
from chalicelib.gateways import acquirers
from chalicelib.gateways.digests import card_digest, keyed_digest
from chalicelib.gateways.ids import derived_guid, new_guid
from chalicelib.log import log
from chalicelib.schemas.payments import PictureFile, SubmitPayment
from chalicelib.services import acquirer_calls, idempotency, pictures, wrong_cards
from chalicelib.services.acquirer_calls import identify_payment
from chalicelib.services.admission import admit, admit_to_transaction
from chalicelib.services.idempotency import replay, replay_first
from chalicelib.services.receipts import receipts_for, within_limits
from chalicelib.store import linked_cards, merchants, receipt_numbers, transactions
from chalicelib.store import outbox as outbox_store
from chalicelib.store.receipt_numbers import store_numbered
from chalicelib.store.table import AlreadyExistsError, Key, Write, read


def submit(body: SubmitPayment, caller: Caller, now: datetime, *, key: str | None = None) -> tuple[Transaction, bool]:
    """Return the payment, and whether it is a replay: an earlier request stored it with the same ID and content.

    `key` is the Idempotency-Key header. An ID in the request wins over it.
    """
    order = identified(body.to_domain(), caller, key)
    keys = _keys(order, caller, now)
    admitted = admit(caller, *keys.values(), current_account_id=body.current_account_id)
    found = dict(zip(keys, admitted.others, strict=True))
    agent, merchant = admitted.agent, admitted.merchant
    permissions.check_can_take_payments(agent)
    if merchant is None:  # never: only a system user has none, and the check above refuses it
        raise ServiceError(ErrorCode.ROLE_MAY_NOT)
    if (masked := body.with_card_number_in_card_only()) is not body:
        body, order = masked, identified(replace(masked.to_domain(), id=order.id), caller, key)
    if found["stored"] is not None:
        return _replay(order, found["stored"], agent, body.files, now)
    payment.check_kind(order, agent, merchant, _acquirers_for(order))
    till = Till(agent, merchant, _terminal_of(agent, found.get("terminal")))

    if KINDS[order.input_type].acquirer is None:
        return _take_by_card(order, till, found, body.files, now)
    return _take_without_acquirer(order, till, found, body.files, now)


def identified(order: PaymentOrder, caller: Caller, key: str | None) -> PaymentOrder:
    """Return the order with its content's fingerprint and its ID: the caller's, else the key's, else a new one."""
    card_digest = ""
    if order.card is not None:
        card_digest = keyed_digest(Secret(f"pan:{order.card.pan.reveal()}"))
    elif order.linked_card_id is not None:
        card_digest = f"linked:{order.linked_card_id}"
    fingerprint = payment.fingerprint(order, caller.agent_id, card_digest)
    own_id = derived_guid("payment", caller.agent_id, key) if key else new_guid()
    return replace(order, id=order.id or own_id, fingerprint=fingerprint)


def _keys(order: PaymentOrder, caller: Caller, now: datetime) -> dict[str, Key[Any]]:
    """Return the keys of the records that decide a payment, besides the agent and its merchant."""
    keys: dict[str, Key[Any]] = {"stored": transactions.key(order.id)}
    if caller.terminal_id is not None:
        keys["terminal"] = merchants.terminal_key(caller.terminal_id)
    if order.linked_card_id is not None:
        keys["card"] = linked_cards.key(order.linked_card_id)
    return keys if order.offline_invoice else keys | receipt_numbers.keys(caller, now)


def _terminal_of(agent: Agent, terminal: Terminal | None) -> Terminal:
    """Return the agent's terminal. It is read again if the agent got another one since the authorizer ran."""
    if agent.terminal_id is None:
        raise ServiceError(ErrorCode.TERMINAL_NOT_FOUND, "The agent has no terminal.")
    if terminal is None or terminal.id != agent.terminal_id:
        terminal = read(merchants.terminal_key(agent.terminal_id))
    if terminal is None:
        raise ServiceError(ErrorCode.TERMINAL_NOT_FOUND)
    if not terminal.state:
        raise ServiceError(ErrorCode.TERMINAL_NOT_FOUND, "The terminal is blocked.")
    return terminal


def _take_without_acquirer(
    order: PaymentOrder, till: Till, found: Mapping[str, Any], files: list[PictureFile], now: datetime
) -> tuple[Transaction, bool]:
    """Take a payment without an acquirer: one store transaction holds it and its receipts."""
    transaction = payment.without_acquirer(order, till, now)
    transaction = within_limits(_with_pictures(transaction, files), now, till.merchant.country_code)

    def store(numbered: Transaction, *number: Write) -> None:
        transactions.record(numbered, *number, *map(outbox_store.put, receipts_for(numbered, now)))
        if numbered.date is not None:
            _log_offline(numbered, numbered.date)

    try:
        transaction = store_numbered(transaction, found, store)
    except AlreadyExistsError:
        return replay_first(order.id, order, order.fingerprint, now), True
    return transaction, False


def _log_offline(transaction: Transaction, taken_at: datetime) -> None:
    """Log one line about an offline sale, with the time it waited. It is negative if the till's clock is fast."""
    log(
        "offline_sale",
        transaction=transaction.id,
        merchant=transaction.client_id,
        agent=transaction.agent.id,
        waited_seconds=int((transaction.created_at - taken_at).total_seconds()),
    )


def _take_by_card(
    order: PaymentOrder, till: Till, found: Mapping[str, Any], files: list[PictureFile], now: datetime
) -> tuple[Transaction, bool]:
    """Take a payment that an acquirer decides: store it, send it under its own ID, then store the outcome."""
    linked: LinkedCard | None = found.get("card")
    transaction, request = begin_by_card(order, till, linked, now)
    transaction = within_limits(_with_pictures(transaction, files), now, till.merchant.country_code)
    checks = [linked_cards.check_usable(linked.id, till.agent.id)] if linked else []

    def store(numbered: Transaction, *number: Write) -> None:
        transactions.record(numbered, *number, *checks)

    try:
        transaction = store_numbered(transaction, found, store)
    except AlreadyExistsError:
        return _replay(order, idempotency.stored_first(order.id), till.agent, files, now)
    return acquirer_calls.require_attempted(acquirer_calls.authorize(transaction, request, now)), False


def _with_pictures(transaction: Transaction, files: list[PictureFile]) -> Transaction:
    """Store the pictures of a payment, if it has any."""
    return replace(transaction, pictures=pictures.store_files(files, transaction.id)) if files else transaction


def begin_by_card(
    order: PaymentOrder, till: Till, linked: LinkedCard | None, now: datetime
) -> tuple[Transaction, AuthorizationRequest]:
    """Return a card payment to store before its acquirer is called, and the request to the acquirer."""
    transaction, request = with_card(
        order, till, now, acquirers=_acquirers_for(order), linked=linked, refuse=acquirers.refuse
    )
    digest = card_digest(transaction.id, order.card.pan) if order.card else None
    transaction = replace(
        transaction, auto_cancel_id=new_guid(), card_entry=replace(transaction.card_entry, digest=digest)
    )
    transaction = identify_payment(transaction, till.terminal)
    return transaction, replace(request, message=acquirer_messages.message_of(transaction))


def _acquirers_for(order: PaymentOrder) -> tuple[str, ...]:
    """Return the stage's card acquirers for the payment, the default first; none for other kinds of payment."""
    return acquirers.taking(order.input_type) if KINDS[order.input_type].acquirer is None else ()


def _replay(
    order: PaymentOrder, stored: Transaction, agent: Agent, files: list[PictureFile], now: datetime
) -> tuple[Transaction, bool]:
    """Return the stored payment and whether the request is a pure replay: it brings no owed signature.

    Refuse an unreadable card, because it cannot be compared with the stored one. A caller that may not see the payment
    learns nothing about its card, because its agent is another one.
    """
    if order.names_card and permissions.can_see_transaction(agent, stored.client_id, stored.agent.id):
        digest = card_digest(stored.id, order.card.pan) if order.card else None
        wrong_cards.count(stored, agent, now, is_wrong=is_another(stored, digest, order.linked_card_id))
    if order.card_findings:
        raise invalid(*order.card_findings)
    return idempotency.deliver(replay(stored, order, order.fingerprint, now), files, now)


def public(transaction_id: str) -> Transaction | None:
    """Return the transaction for any caller with its ID; None for an unknown or malformed ID."""
    return transactions.get(transaction_id.upper()) if is_guid(transaction_id) else None


def get(transaction_id: str, caller: Caller, now: datetime) -> Page:
    """Return a page with one transaction that the caller may see. A pending one is resolved first.

    Raise 404 for a missing transaction and for another merchant's.
    """
    admitted, transaction = admit_to_transaction(caller, transaction_id)
    transaction = acquirer_calls.refresh(transaction, now)
    merchant = admitted.merchant or read(merchants.key(transaction.client_id))  # a system user has no merchant
    return Page([transaction], 1, amount_taken([entry_of(transaction)], merchant.currency_id if merchant else None))
