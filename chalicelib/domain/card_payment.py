"""Taking a payment by card: the transaction that is stored first, and the request to the acquirer."""

from collections.abc import Callable, Sequence
from datetime import date, datetime

from chalicelib.domain.acquirer import AuthorizationRequest
from chalicelib.domain.card import Findings, LinkedCard, expired, is_usable
from chalicelib.domain.payment import PaymentOrder, Till, amounts, begin
from chalicelib.domain.period import business_day
from chalicelib.domain.references import check_group
from chalicelib.domain.transaction import KINDS, CardEntry, Completion, InputType, Phase, Transaction
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid_references

BY_DATA, BY_LINK = 1, 2  # CardInputMode
WITHOUT_ACQUIRER = frozenset(kind.acquirer for kind in KINDS.values() if kind.acquirer)


Refuse = Callable[[str, AuthorizationRequest], Sequence[Finding]]


def with_card(  # noqa: PLR0913  each is a thing of its own
    order: PaymentOrder,
    till: Till,
    now: datetime,
    *,
    acquirers: Sequence[str],
    linked: LinkedCard | None,
    refuse: Refuse,
) -> tuple[Transaction, AuthorizationRequest]:
    """Return the transaction of a card payment, to be stored before the acquirer is called, and the request to it.

    `acquirers` are those of the stage that take this kind of payment, the default first; `linked` is the card the order
    names by its ID; `refuse` says what the acquirer of a code cannot take. Raises 202 with everything that is wrong,
    566 when the linked card is not the agent's to pay with, 569 when all that is wrong is an unknown terminal group.
    """
    today = business_day(now, till.merchant.gmt)
    if order.input_type is InputType.LINKED_CARD and order.linked_card_id is not None:
        linked = _usable(linked, till.agent.id, today)
    (amount_minor, _), findings = amounts(order, till.terminal)
    findings += order.card_findings
    findings += expired(order.card, today) if order.card else ()
    acquirer = order.acquirer or (linked.acquirer if linked else acquirers[0])
    findings += _check_acquirer(acquirer, acquirers, linked)
    findings += _check_online(order)
    findings += _check_chip(order)
    findings += check_group(order.terminal_group, till.merchant, till.terminal)
    request = _request(order, till, linked, amount_minor)
    findings += refuse(acquirer, request) if acquirer in acquirers else ()
    if findings:
        raise invalid_references(*findings)

    transaction = begin(
        order,
        till,
        now,
        phase=Phase.SENT,
        acquirer=acquirer,
        amount_minor=amount_minor,
        card=linked.details if linked else order.card and order.card.details,
        card_entry=CardEntry(linked_id=linked.id if linked else None, emv=order.card.emv if order.card else None),
        completion=Completion(single_step=order.single_step, signature_required=order.force_signature),
    )
    return transaction, request


def _request(order: PaymentOrder, till: Till, linked: LinkedCard | None, amount_minor: int) -> AuthorizationRequest:
    """Return the request to the acquirer, under the payment's own ID."""
    return AuthorizationRequest(
        reference=order.id,
        amount_minor=amount_minor,
        currency=till.terminal.currency,
        input_type=order.input_type,
        terminal=till.terminal.tid,
        merchant=till.terminal.back_retailer_id,
        card=order.card,
        link_id=linked.link_id if linked else None,
        single_step=order.single_step,
        external_terminal_id=order.external_terminal_id,
        allow_swipe_over_chip=order.allow_swipe_over_chip,
        additional_fields=order.additional_fields,
    )


def check_input_mode(sent: int | None, expected: int) -> Findings:
    """Return a finding when CardInputMode names the other way to give a card."""
    if sent in (None, expected):
        return ()
    return (Finding("card.input_mode", Check.CONTRADICTION, f"It is {expected} for this InputType."),)


def _usable(linked: LinkedCard | None, agent_id: int, today: date) -> LinkedCard:
    """Return the card when the agent may pay with it; a missing one, another's and a blocked one are answered alike."""
    if linked is None or not is_usable(linked, agent_id, today):
        raise ServiceError(ErrorCode.CARD_NOT_FOUND)
    return linked


def _check_acquirer(code: str, acquirers: Sequence[str], linked: LinkedCard | None) -> list[Finding]:
    if code in WITHOUT_ACQUIRER:
        return [Finding("acquirer", Check.CONTRADICTION, f"{code} takes no cards.")]
    if code not in acquirers:
        message = "The stage has no acquirer of this code."
        return [Finding("acquirer", Check.NOT_IN_DICTIONARY, message)]
    if linked and code != linked.acquirer:
        return [Finding("acquirer", Check.CONTRADICTION, f"The card is linked at {linked.acquirer}.")]
    return []


def _check_chip(order: PaymentOrder) -> list[Finding]:
    """Return a finding when the stripe of a card with a chip was read, unless the request allows it."""
    if order.allow_swipe_over_chip or order.card is None or not order.card.has_chip:
        return []
    message = "The card has a chip: insert it, or send AllowSwipeOverChip true."
    return [Finding("allow_swipe_over_chip", Check.CONTRADICTION, message)]


def _check_online(order: PaymentOrder) -> list[Finding]:
    if not order.offline:
        return []
    message = "A card payment is authorized online."
    return [Finding("offline", Check.CONTRADICTION, message)]
