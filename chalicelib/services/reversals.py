"""Reverse payments. A reversal takes from the remainder of a payment, and is a transaction of its own."""

from dataclasses import replace
from datetime import datetime
from functools import partial

from chalicelib.domain import acquirer_messages, permissions, reversal
from chalicelib.domain.acquirer import ReversalRequest
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.card import CardData, Findings
from chalicelib.domain.guid import is_guid
from chalicelib.domain.reversal import CANCELS, ReversalOrder, check_card, names_another_card
from chalicelib.domain.transaction import ReceiptContent, Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import acquirers
from chalicelib.gateways.digests import card_digest
from chalicelib.gateways.ids import derived_guid, new_guid
from chalicelib.schemas.reversals import ReversePayment
from chalicelib.services import acquirer_calls, wrong_cards
from chalicelib.services.acquirer_calls import identify_reversal
from chalicelib.services.admission import Admitted, admit
from chalicelib.services.idempotency import answer_again, replay, replay_first
from chalicelib.services.receipts import receipts_for, within_limits
from chalicelib.store import merchants, receipt_numbers, transactions
from chalicelib.store import outbox as outbox_store
from chalicelib.store.receipt_numbers import store_numbered
from chalicelib.store.table import AlreadyExistsError, Write, read

ATTEMPTS = 4  # to reserve the amount while other reversals reserve theirs


def reverse(
    body: ReversePayment, caller: Caller, now: datetime, *, endpoint: str, key: str | None
) -> tuple[Transaction, bool]:
    """Return the reversal, and whether it is a replay: an earlier request stored it with the same key and content."""
    order = body.to_domain(endpoint, key)
    chosen_id = _chosen_id(order, caller)
    keys = [transactions.key(one) for one in (chosen_id, order.original_id) if one is not None and is_guid(one)]
    numbers = receipt_numbers.keys(caller, now)
    admitted = admit(caller, *numbers.values(), *keys, current_account_id=body.current_account_id)
    numbers_found = dict(zip(numbers, admitted.others, strict=False))
    found: dict[str, Transaction] = {one.id: one for one in admitted.others[len(numbers) :] if one is not None}
    original = found.get(order.original_id)
    if original is None:
        raise ServiceError(ErrorCode.TRANSACTION_NOT_FOUND)
    permissions.check_can_reverse(admitted.agent, original.client_id, original.agent.id)
    if (masked := body.with_card_number_in_card_only()) is not body:
        order = masked.to_domain(endpoint, key)
    if order.card is not None:
        _, findings = _read_card(order, original, now)
        wrong_cards.count(original, admitted.agent, now, is_wrong=names_another_card(findings))
    if chosen_id in found:
        return replay(found[chosen_id], order, reversal.fingerprint(order, admitted.agent.id), now), True

    reversal_id = chosen_id or _id_of_content(order, original, caller)
    return _reverse(reversal_id, order, original, admitted, numbers_found, now)


def _chosen_id(order: ReversalOrder, caller: Caller) -> str | None:
    """Return the ID that follows from the caller's key, else the ID in the request, else None."""
    if order.idempotency_key:
        return derived_guid("reversal", "key", caller.agent_id, order.idempotency_key)
    return order.id and order.id.upper()


def _id_of_content(order: ReversalOrder, original: Transaction, caller: Caller) -> str | None:
    """Return the ID that follows from the content and time of a request without a key; None when it has no time."""
    identity = reversal.content_identity(order, original, caller.agent_id)
    return derived_guid("reversal", *identity) if identity else None


def _repeated(order: ReversalOrder, original: Transaction, agent: Agent, now: datetime) -> Transaction | None:
    """Return the payment's latest reversal if this request, which has no key, repeats it."""
    latest = transactions.get(original.reversals.requested_id) if original.reversals.requested_id else None
    return latest if latest and reversal.is_repeated(order, original, latest, agent.id, now) else None


def _read_card(order: ReversalOrder, original: Transaction, now: datetime) -> tuple[CardData | None, Findings]:
    return check_card(order.card, original, partial(card_digest, original.id), now, input_type=order.input_type)


def _checked_card(order: ReversalOrder, original: Transaction, now: datetime) -> tuple[CardData | None, Findings]:
    """Return the card of the request, and every problem with it. For a return, the acquirer checks it as well."""
    card, findings = _read_card(order, original, now)
    if card is not None and order.mode not in CANCELS:
        request = ReversalRequest("", original.id, original.amount_minor, original.currency, card=card)
        findings += acquirers.refuse(original.acquirer, request)
    return card, findings


def _reverse(  # noqa: PLR0913, PLR0917  each argument is needed and independent
    named: str | None,
    order: ReversalOrder,
    original: Transaction,
    admitted: Admitted,
    numbers: receipt_numbers.Found,
    now: datetime,
) -> tuple[Transaction, bool]:
    """Store the reversal, reserve its amount of the payment, and request it from its acquirer.

    The decision uses the payment as it was read. If another reversal changes the payment meanwhile, read and decide
    again. `named` is the ID that an equal request has as well; None when a request has no such ID.
    """
    reversal_id, keyless, agent = named or new_guid(), named is None, admitted.agent
    makes_events, country = _facts_of_merchant(original, admitted, now)
    receipt: ReceiptContent | None = None
    for _ in range(ATTEMPTS):
        card, findings = _checked_card(order, original, now)
        if keyless and not findings and (repeated := _repeated(order, original, agent, now)):
            return answer_again(repeated, now), True
        try:
            amount_minor = reversal.decide(order, original, now, findings)
        except ServiceError:
            # An equal request may have stored the reversal meanwhile, under the same ID.
            if named is not None and (first := transactions.get(named)):
                return replay(first, order, reversal.fingerprint(order, agent.id), now), True
            raise
        begun = reversal.begin(reversal_id, order, original, agent, amount_minor, now)
        receipt = receipt or within_limits(begun, now, country).receipt
        transaction = identify_reversal(replace(begun, makes_events=makes_events, receipt=receipt), original)
        try:
            transaction = store_numbered(transaction, numbers, partial(_reserve, original, now, keyless))
        except AlreadyExistsError:
            return replay_first(reversal_id, order, transaction.fingerprint, now), True
        except transactions.RemainderChangedError:
            original = transactions.get(original.id) or original
        else:
            return _request(transaction, order, card, now), False
    raise ServiceError(ErrorCode.IN_PROGRESS)


def _reserve(original: Transaction, now: datetime, keyless: bool, reversal: Transaction, *number: Write) -> None:  # noqa: FBT001
    """Store a reversal with its number and receipts, and take its amount from the remainder of the payment."""
    receipts = map(outbox_store.put, receipts_for(reversal, now))
    transactions.reserve(original, reversal, *number, *receipts, follows_latest=keyless)


def _facts_of_merchant(original: Transaction, admitted: Admitted, now: datetime) -> tuple[bool | None, str]:
    """Return whether the payment's merchant wants events of the reversal (True or None, as stored), and its country."""
    merchant = admitted.merchant or read(merchants.key(original.client_id))  # a system user has no merchant
    if merchant is None:
        return None, ""
    return merchant.makes_events(now) or None, merchant.country_code


def _request(transaction: Transaction, order: ReversalOrder, card: CardData | None, now: datetime) -> Transaction:
    """Send a stored reversal to its acquirer if it needs one; return the reversal after the answer."""
    if transaction.is_pending:
        request = acquirer_messages.reversal_request(transaction, order, card, is_repeat=False)
        transaction = acquirer_calls.reverse(transaction, request, now)
    return acquirer_calls.require_attempted(transaction)
