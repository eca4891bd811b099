"""Reverse payments. A reversal takes from the remainder of a payment, and is a transaction of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from chalicelib.domain import acquirer_messages, permissions, reversal
from chalicelib.domain.acquirer import ReversalRequest
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.business_days import business_day
from chalicelib.domain.card import CardData, Findings
from chalicelib.domain.guid import is_guid
from chalicelib.domain.kinds import KINDS
from chalicelib.domain.outbox import receipts_for
from chalicelib.domain.reversal import ReversalOrder
from chalicelib.domain.reversal_card import CheckedCard, check_card
from chalicelib.domain.reversibility import CANCELS, known_mode, reading_type
from chalicelib.domain.transaction import Transaction, Warned, wants_events
from chalicelib.errors import Check, Finding, ServiceError, invalid
from chalicelib.gateways import acquirers
from chalicelib.gateways.ids import derived_guid, new_guid
from chalicelib.schemas.base import Rule, findings_in
from chalicelib.schemas.card import with_card_number_in_card_only
from chalicelib.schemas.payments import REVERSE_TRAN
from chalicelib.schemas.reversals import ReversePayment
from chalicelib.services import outcomes
from chalicelib.services.caller_check import Admitted, admit, no_transaction
from chalicelib.services.idempotency import Repeatable, answer_again, replay, replay_first
from chalicelib.services.message_limits import within_limits
from chalicelib.services.message_numbers import identify_reversal
from chalicelib.store import outbox as outbox_store
from chalicelib.store import receipt_numbers, transactions
from chalicelib.store.receipt_numbers import MonthNumbers
from chalicelib.store.retries import retry_with
from chalicelib.store.table import AlreadyExistsError, read_all

REPEATED = Warned(REVERSE_TRAN, Check.TWICE)  # in the answer to a repeated request without a key; never stored


def reverse(
    body: ReversePayment, caller: Caller, now: datetime, *, endpoint: str, key: str | None
) -> tuple[Transaction, bool]:
    """Return the reversal, and whether it is a replay: an earlier request stored it with the same key and content."""
    if not body.readable("basic_reverse_tran"):
        admit(caller)
        body.check_readable()
    chosen_id = _chosen_id(body, caller, key)
    keys = [transactions.key(one) for one in (chosen_id, body.original_id) if one is not None and is_guid(one)]
    numbers = receipt_numbers.keys(caller, now)
    loaded = admit(caller, *numbers, *keys, current_account_id=body.current_account_id)
    if not body.faults:
        known_mode(body.basic_reverse_tran.reverse_mode)
    original = loaded.read(transactions.key(body.original_id)) if is_guid(body.original_id) else None
    if original is None:
        raise no_transaction(body.original_id)
    permissions.check_can_reverse(loaded.agent, original.client_id, original.agent.id)
    if body.faults and (findings := findings_in(ReversePayment, RULES, body.sent, {"original": original})):
        raise invalid(*dict.fromkeys(findings))
    body.check_readable()

    # Only now: to look for a card number in long texts costs time, which only an admitted caller may spend.
    order = (with_card_number_in_card_only(body) if body.card else body).to_domain(endpoint)
    card = check_card(order.card, original, input_type=order.input_type)
    if chosen_id is not None and (stored := loaded.read(transactions.key(chosen_id))):
        return replay(stored, Repeatable(order, loaded.agent.id, original.currency), now), True
    permissions.check_returns_enabled(loaded.agent, loaded.merchant)

    return _reverse(chosen_id, order, _checked_by_acquirer(card, order, original), original, loaded, now)


def _of_payment(*needed: str) -> Rule:
    """Return the rule that these fields do not contradict the payment."""

    def findings(part: ReversePayment, context: dict[str, Any]) -> list[Finding]:
        order, original = part.to_domain(""), context["original"]
        amount_minor, found = reversal.check(order, original)
        card = check_card(order.card, original, input_type=order.input_type)
        return [*found, *card.findings] or reversal.wrong_rest(order, original, amount_minor)

    return Rule(("basic_reverse_tran.transaction_id", *needed), findings)


# The rules that are judged next to other faults.
RULES = (
    _of_payment("basic_reverse_tran.currency_id"),
    _of_payment("basic_reverse_tran.input_type"),
    _of_payment("acq_tran.acquirer_code"),
    _of_payment(*(f"basic_reverse_tran.{name}" for name in ("amount", "partial_reverse", "aux_data_input"))),
    _of_payment("card", "basic_reverse_tran.input_type"),
)


def _chosen_id(body: ReversePayment, caller: Caller, key: str | None) -> str | None:
    """Return the ID that follows from the caller's key, else the ID in the request, else None."""
    return derived_guid("reversal", "key", caller.agent_id, key) if key else body.own_id


def _ids_of_content(order: ReversalOrder, original: Transaction, agent: Agent) -> tuple[str, ...]:
    """Return the IDs that follow from the content and time of a request without a key; none when it has no time.

    The first one is the reversal's. An equal request may have the others, because it had another spelling.
    """
    spellings = reversal.spellings(order, original)
    identities = [reversal.content_identity(one, original, agent.id) for one in spellings]
    return tuple(derived_guid("reversal", *identity) for identity in identities if identity)


def _first_of(ids: Sequence[str], order: ReversalOrder, agent: Agent) -> Transaction | None:
    """Return the stored reversal under one of these IDs that the request repeats, if there is one."""
    found = map(transactions.get, ids)
    return next((one for one in found if one and order.repeats(one, agent.id)), None)


def _repeated(order: ReversalOrder, original: Transaction, agent: Agent, now: datetime) -> Transaction | None:
    """Return the payment's latest reversal if this request, which has no key, repeats it."""
    latest = transactions.get(original.reversals.requested_id) if original.reversals.requested_id else None
    return latest if latest and reversal.is_repeated(order, latest, agent.id, now) else None


def _checked_by_acquirer(checked: CheckedCard, order: ReversalOrder, original: Transaction) -> CheckedCard:
    """Return the card of the request with the findings of the acquirer, which checks the card of a return."""
    if checked.card is None or order.mode in CANCELS:
        return checked
    request = ReversalRequest("", original.id, original.amount_minor, original.currency, card=checked.card)
    return replace(checked, findings=(*checked.findings, *acquirers.refuse(original.acquirer, request)))


@dataclass(frozen=True)
class Found:
    """The records that a reversal changes, as they were read: its payment, and the receipt numbers of its agent."""

    payment: Transaction
    numbers: MonthNumbers | None


def _reverse(  # noqa: PLR0913, PLR0917  each argument is needed and independent
    chosen_id: str | None,
    order: ReversalOrder,
    card: CheckedCard,
    original: Transaction,
    loaded: Admitted,
    now: datetime,
) -> tuple[Transaction, bool]:
    """Store the reversal, reserve its amount of the payment, and request it from its acquirer.

    The decision uses the payment as it was read. If another reversal changes the payment meanwhile, read and decide
    again. `chosen_id` follows from the caller's key; None without a key.
    """
    agent = loaded.agent
    makes_events, country = _facts_of_merchant(original, loaded, now)
    numbers_key = receipt_numbers.key(original.client_id, agent.id, business_day(now, original.gmt))
    # Each content counts once, so a repeated attempt counts no message again.
    limited = cache(lambda content: within_limits(content, original.client_id, agent.id, now, country))

    def read_again() -> Found:
        payment, numbers = read_all([transactions.key(original.id), numbers_key])
        return Found(payment or original, numbers)

    def attempt(found: Found) -> tuple[Transaction, bool]:
        before = found.payment
        ids = (chosen_id,) if chosen_id else _ids_of_content(order, before, agent)
        amount_minor, repeated = _decide(order, before, card.findings, agent, now, ids)
        if repeated is not None:
            again = answer_again(repeated, now)
            return again if ids else replace(again, warnings=(REPEATED,)), True
        _check_by_acquirer(before, amount_minor)
        reversal_id = ids[0] if ids else new_guid()
        begun = reversal.begin(reversal_id, order, before, agent, amount_minor, now)
        begun = replace(begun, makes_events=makes_events)
        if begun.receipt.addresses:
            begun = replace(begun, receipt=limited(begun.receipt))
        identified = identify_reversal(begun, before, before.host) if before.host else begun
        try:
            return _reserve(found, identified, now, follows_latest=chosen_id is None), False
        except AlreadyExistsError:
            return replay_first(reversal_id, Repeatable(order, agent.id, before.currency), now), True

    transaction, is_replay = retry_with(Found(original, loaded.read(numbers_key)), attempt, read_again)
    return (transaction, True) if is_replay else (_request(transaction, order, card.card, now), False)


def _decide(  # noqa: PLR0913, PLR0917  each argument is needed and independent
    order: ReversalOrder, before: Transaction, findings: Findings, agent: Agent, now: datetime, ids: Sequence[str]
) -> tuple[int, Transaction | None]:
    """Return the minor units to reverse, and the stored reversal that the request repeats, if there is one.

    `ids` are those that the stored reversal may have; a request has none without a key and without a time.
    """
    if not ids and not findings and (repeated := _repeated(order, before, agent, now)):
        return 0, repeated
    try:
        amount_minor = reversal.decide(order, before, now, findings)
    except ServiceError:
        # An equal request may have stored the reversal meanwhile, under the same ID.
        if first := _first_of(ids, order, agent):
            return 0, first
        raise
    return amount_minor, _first_of(ids[1:], order, agent) if before.reversals.requested_id else None


def _check_by_acquirer(original: Transaction, amount_minor: int) -> None:
    """Raise the findings of the acquirer about the amount of a reversal."""
    if KINDS[original.input_type].needs_acquirer:
        request = ReversalRequest("", original.id, amount_minor, original.currency)
        if findings := acquirers.refuse(original.acquirer, request):
            raise invalid(*findings)


def _reserve(found: Found, reversal: Transaction, now: datetime, *, follows_latest: bool) -> Transaction:
    """Store a reversal with its number and receipts, and take its amount from the remainder of the payment."""
    numbered, count = receipt_numbers.number(reversal, found.numbers)
    receipts = map(outbox_store.put, receipts_for(numbered, now) if numbered.receipt.addresses else ())
    transactions.reserve(found.payment, numbered, count, *receipts, follows_latest=follows_latest)
    return numbered


def _facts_of_merchant(original: Transaction, loaded: Admitted, now: datetime) -> tuple[bool | None, str]:
    """Return whether the payment's merchant wants events of the reversal (True or None, as stored), and its country."""
    merchant = loaded.merchant_of(original.client_id)
    if merchant is None:
        return None, ""
    return wants_events(merchant, now) or None, merchant.country_code


def _request(transaction: Transaction, order: ReversalOrder, card: CardData | None, now: datetime) -> Transaction:
    """Send a stored reversal to its acquirer if it needs one; return the reversal after the answer."""
    if not transaction.is_pending:
        return transaction
    request = replace(
        acquirer_messages.reversal_request(transaction, is_repeat=False),
        card=card,
        input_type=reading_type(order.input_type, transaction.input_type),
        external_terminal_id=order.external_terminal_id,
        additional_fields=order.additional_fields,
    )
    return outcomes.require_attempted(outcomes.reverse(transaction, request, now))
