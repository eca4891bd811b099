"""Taking payments and looking one up."""

import re
from dataclasses import replace
from datetime import datetime
from typing import Any

from chalicelib.domain import outcome, payment, permissions
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.card import LinkedCard
from chalicelib.domain.card_payment import authorization_request, with_card
from chalicelib.domain.payment import Order, Till
from chalicelib.domain.transaction import KINDS, Transaction
from chalicelib.errors import RETRY, ErrorCode, ServiceError, invalid
from chalicelib.gateways import acquirers
from chalicelib.schemas.payment_request import SubmitPayment
from chalicelib.services import orders, outbox, outcomes, pictures
from chalicelib.services.admission import admit
from chalicelib.store import linked_cards, terminals, transactions
from chalicelib.store import outbox as outbox_store
from chalicelib.store.table import AlreadyExistsError, Key

GUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def submit(body: SubmitPayment, caller: Caller, now: datetime) -> tuple[Transaction, bool]:
    """The payment, and whether it is the stored one of an earlier request with the same ID and content."""
    order = orders.order_of(body)
    keys = _keys(order, caller)
    admitted = admit(caller, *keys.values(), current_account_id=body.current_account_id)
    found = dict(zip(keys, admitted.others, strict=True))
    agent, merchant = admitted.agent, admitted.merchant
    permissions.check_can_take_payments(agent)
    if merchant is None:  # a system user: take_payments refused it already
        raise ServiceError(ErrorCode.ROLE_MAY_NOT)
    if found["stored"] is not None:
        return _replay(order, agent, found["stored"], now), True
    orders.check_kind(order, agent, merchant)
    orders.check_group(body, merchant)
    till = Till(agent, merchant, orders.terminal_of(agent, found.get("terminal")))

    if KINDS[order.input_type].acquirer is None:
        return _by_card(order, till, found.get("card"), body, now)
    return _approved_here(order, till, body, now)


def _keys(order: Order, caller: Caller) -> dict[str, Key[Any]]:
    """What a payment is decided on, beside the agent and its merchant."""
    keys: dict[str, Key[Any]] = {"stored": transactions.key(order.id)}
    if caller.terminal_id is not None:
        keys["terminal"] = terminals.key(caller.terminal_id)
    if order.linked_card_id is not None:
        keys["card"] = linked_cards.key(order.linked_card_id)
    return keys


def _approved_here(order: Order, till: Till, body: SubmitPayment, now: datetime) -> tuple[Transaction, bool]:
    """A payment that needs no acquirer: one store transaction, with its receipts."""
    transaction = payment.without_acquirer(order, till.agent, till.merchant, till.terminal, now)
    transaction = replace(transaction, **pictures.store_files(body.files, transaction.id))
    receipts = outbox.receipts_for(transaction, till.merchant, till.terminal, body.receipt, now)

    try:
        transactions.record(transaction, *map(outbox_store.put, receipts))
    except AlreadyExistsError:
        return _overtaken(order, till.agent, now)
    outbox.send(receipts, now)
    return transaction, False


def _by_card(
    order: Order, till: Till, linked: LinkedCard | None, body: SubmitPayment, now: datetime
) -> tuple[Transaction, bool]:
    """A payment an acquirer decides: kept first, then asked for under its own ID, then settled."""
    transaction = with_card(order, till, now, acquirers=acquirers.codes(), linked=linked)
    transaction = replace(transaction, **pictures.store_files(body.files, transaction.id))
    request = authorization_request(transaction, order, till, linked)
    paid_with = [linked_cards.pay(linked.id, till.agent.id)] if linked else []

    try:
        transactions.record(transaction, *paid_with)
    except AlreadyExistsError:
        return _overtaken(order, till.agent, now)
    return outcomes.require_attempted(outcomes.authorize(transaction, request, now)), False


def _overtaken(order: Order, agent: Agent, now: datetime) -> tuple[Transaction, bool]:
    """Another request with this ID was first."""
    first = transactions.get(order.id)
    if first is None:
        raise ServiceError(ErrorCode.IN_PROGRESS, headers=RETRY)
    return _replay(order, agent, first, now), True


def _replay(order: Order, agent: Agent, stored: Transaction, now: datetime) -> Transaction:
    """The stored payment, when the request is the same; a reversal's ID is never a payment's."""
    if order.card_problems:
        raise invalid(*order.card_problems)
    if stored.is_reversal or stored.fingerprint != payment.fingerprint(order, agent):
        raise ServiceError(ErrorCode.ID_REUSED)
    if outcome.is_in_progress(stored, now):
        raise ServiceError(ErrorCode.IN_PROGRESS, headers=RETRY)
    return outcomes.require_attempted(outcomes.refresh(stored, now), replayed=True)


def public(transaction_id: str) -> Transaction | None:
    """The transaction for anybody who knows its ID; None for an ID that is unknown or malformed."""
    return transactions.get(transaction_id.upper()) if GUID.fullmatch(transaction_id) else None


def get(transaction_id: str, caller: Caller, now: datetime) -> Transaction:
    """One transaction of the caller's reach, and a pending one as its acquirer knows it.

    404 for what is missing and for what is another merchant's.
    """
    keys = [transactions.key(transaction_id.upper())] if GUID.fullmatch(transaction_id) else []
    admitted = admit(caller, *keys)
    transaction: Transaction | None = next(iter(admitted.others), None)
    if transaction is None:
        raise ServiceError(ErrorCode.TRANSACTION_NOT_FOUND)
    permissions.check_can_see_transaction(admitted.agent, transaction.client_id, transaction.taker.id)
    return outcomes.refresh(transaction, now)
