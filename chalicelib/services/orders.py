"""What a request to pay asks for, in the domain's terms, and whether this agent may ask for it here."""

import uuid
from decimal import Decimal
from typing import Any

from chalicelib.domain import card
from chalicelib.domain.account_configuration import is_enabled
from chalicelib.domain.agent import Agent
from chalicelib.domain.card import CardData, CardInput
from chalicelib.domain.effective_settings import effective
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.payment import Order
from chalicelib.domain.secret import Secret
from chalicelib.domain.terminal import Terminal
from chalicelib.domain.transaction import KINDS, NOT_SUPPORTED, InputType
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid
from chalicelib.gateways import acquirers
from chalicelib.gateways.secrets import keyed_digest
from chalicelib.schemas.payment_request import AcqTran, Card, OfflineTran, SubmitPayment
from chalicelib.store import terminals
from chalicelib.store.table import read

BY_DATA, BY_LINK = 1, 2  # CardInputMode


def order_of(body: SubmitPayment) -> Order:
    """The request in the domain's terms."""
    basic = body.basic_tran
    if basic.input_type in NOT_SUPPORTED:
        raise ServiceError(ErrorCode.KIND_NOT_SUPPORTED, f"InputType {basic.input_type} is not supported.")
    input_type = InputType(basic.input_type)
    offline = basic.offline_tran if basic.offline_tran.offline_mode else OfflineTran()
    where = offline.offline_location or body.location
    purchases = basic.purchases
    read_card, problems = _card_of(input_type, body.card or Card())
    linked = body.card.linked_card_id if body.card and input_type is InputType.LINKED_CARD else None
    return Order(
        id=(basic.id or str(uuid.uuid4())).upper(),
        input_type=input_type,
        amount=basic.amount,
        currency=basic.currency_id,
        details=body.details,
        amount_cash_got=basic.amount_cash_got,
        purchases_total=sum((line.price * line.quantity for line in purchases), Decimal()) if purchases else None,
        description=basic.description,
        service_id=basic.service_id,
        client_product_code=body.client_product_code,
        ext_id=basic.ext_id,
        ext_tran_data=basic.ext_trans_data,
        latitude=where.latitude if where else None,
        longitude=where.longitude if where else None,
        receipt_email=next(iter(body.receipt.all_emails), None),
        receipt_phone=next(iter(body.receipt.all_phones), None),
        offline=bool(offline.offline_mode),
        offline_invoice=offline.invoice,
        offline_paid=offline.paid,
        card=read_card,
        card_problems=problems,
        card_digest=_digest(read_card, linked),
        linked_card_id=linked,
        **_wishes(body.acq_tran),
    )


def _wishes(sent: AcqTran) -> dict[str, Any]:
    """What the client wants of the acquirer."""
    return {
        "acquirer": sent.acquirer_code,
        "single_step": sent.single_step_auth_mode is not False,
        "force_signature": bool(sent.force_signature_requirement),
        "external_terminal_id": sent.external_terminal_id,
        "allow_swipe_over_chip": bool(sent.allow_swipe_over_chip),
        "additional_fields": sent.additional_acquiring_fields,
    }


def _card_of(input_type: InputType, sent: Card) -> tuple[CardData | None, tuple[Finding, ...]]:
    """The card of a payment that has one, in memory alone, and what is wrong with how it was sent."""
    if KINDS[input_type].acquirer is not None:
        return None, ()
    if input_type is InputType.LINKED_CARD:
        missing = Finding("linked_card_id", Check.REQUIRED, "It is required for this InputType.")
        return None, (*_mode(sent, BY_LINK), *(() if sent.linked_card_id is not None else (missing,)))
    data = sent.card_data_input.sent() if sent.card_data_input else CardInput()
    found, problems = card.read(input_type, data)
    return found, _mode(sent, BY_DATA) + problems


def _mode(sent: Card, expected: int) -> tuple[Finding, ...]:
    if sent.card_input_mode in (None, expected):
        return ()
    message = f"It is {expected} for this InputType."
    return (Finding("card_input_mode", Check.CONTRADICTION, message),)


def _digest(found: CardData | None, linked_card_id: int | None) -> str:
    """What tells one card from another without showing it."""
    if found is not None:
        return keyed_digest(Secret(f"pan:{found.pan.reveal()}"))
    return "" if linked_card_id is None else f"linked:{linked_card_id}"


def terminal_of(agent: Agent, terminal: Terminal | None) -> Terminal:
    """The agent's terminal as it is now; read again when the agent was moved since the authorizer looked."""
    if agent.terminal_id is None:
        raise ServiceError(ErrorCode.TERMINAL_NOT_FOUND, "The agent has no terminal.")
    if terminal is None or terminal.id != agent.terminal_id:
        terminal = read(terminals.key(agent.terminal_id))
    if terminal is None:
        raise ServiceError(ErrorCode.TERMINAL_NOT_FOUND)
    if not terminal.state:
        raise ServiceError(ErrorCode.TERMINAL_NOT_FOUND, "The terminal is blocked.")
    return terminal


def check_kind(order: Order, agent: Agent, merchant: Merchant) -> None:
    """The kind of payment is one this agent may take, and somebody takes it."""
    kind = KINDS[order.input_type]
    if not is_enabled(kind.feature, effective(agent.mobile_settings, merchant.mobile_settings)):
        message = f"InputType {order.input_type:d} is not enabled for the agent."
        raise ServiceError(ErrorCode.KIND_NOT_ENABLED, message)
    if kind.acquirer is None and not acquirers.codes():
        raise ServiceError(ErrorCode.KIND_NOT_SUPPORTED, "The stage has no acquirer for cards.")


def check_group(body: SubmitPayment, merchant: Merchant) -> None:
    """A terminal group that is named is one of the merchant's."""
    code = ErrorCode.GROUP_NOT_FOUND
    wrong = []
    if body.terminal_group_id is not None and body.terminal_group_id not in {group.id for group in merchant.groups}:
        wrong.append(Finding("terminal_group_id", code.code, code.message))
    if body.terminal_group_code is not None and body.terminal_group_code not in {
        group.code for group in merchant.groups
    }:
        wrong.append(Finding("terminal_group_code", code.code, code.message))
    if wrong:
        raise invalid(*wrong)
