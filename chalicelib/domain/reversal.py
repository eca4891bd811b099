"""A reversal: what a request for one becomes, decided on the payment it reverses."""

from dataclasses import field, replace
from datetime import datetime, timedelta
from decimal import Decimal

from chalicelib.domain.agent import Agent
from chalicelib.domain.card import Findings
from chalicelib.domain.language import language_of
from chalicelib.domain.money import canonical, from_minor
from chalicelib.domain.payment import APPROVED_TEXT, fingerprint_of, invoice_of, minor
from chalicelib.domain.period import end_of_day
from chalicelib.domain.purchase import Purchase
from chalicelib.domain.reversal_card import SentCard
from chalicelib.domain.reversibility import CANCELS, ReverseMode, refusal
from chalicelib.domain.transaction import (
    KINDS,
    AgentSnapshot,
    Original,
    Phase,
    Pictures,
    ReceiptAddresses,
    Result,
    Reversals,
    Transaction,
)
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid
from chalicelib.record import Record

TIME_TO_FINISH = timedelta(hours=1)  # at the least, before the Deadline of a reversal


class ReversalOrder(Record):
    """A reversal as requested: parsed and typed, not yet decided."""

    original_id: str
    mode: ReverseMode
    raw_request: str
    amount: Decimal | None = None
    currency: str | None = None
    input_type: int | None = None
    partial: bool | None = None
    id: str | None = None
    idempotency_key: str | None = None
    client_date_time: str | None = None
    gmt: int | None = None  # the zone of its times, in hours; None: the merchant's
    receipt_email: str | None = None
    receipt_phone: str | None = None
    receipt: ReceiptAddresses | None = None
    language: str | None = None  # a tag, as sent; None: the payment's
    purchases: tuple[Purchase, ...] = ()
    endpoint: str | None = None  # the one that was used
    acquirer: str | None = None
    card: SentCard | None = None  # in memory alone
    external_terminal_id: str | None = None
    additional_fields: str | None = field(default=None, repr=False)
    force_signature: bool = False
    latitude: Decimal | None = None
    longitude: Decimal | None = None


def fingerprint(order: ReversalOrder, agent_id: int) -> str:
    """Return what makes a repeated ID the same reversal."""
    amount = "" if order.amount is None else canonical(order.amount)
    return fingerprint_of("reversal", agent_id, order.original_id, int(order.mode), amount, order.currency or "")


def check(order: ReversalOrder, original: Transaction) -> tuple[int, list[Finding]]:
    """Return the minor units to reverse, all that remains when no amount is named, and what contradicts the payment."""
    findings: list[Finding] = []
    if order.currency not in (None, original.currency.code):
        findings.append(Finding("currency", Check.CONTRADICTION, f"It was paid in {original.currency.code}."))
    if order.input_type not in (None, original.input_type):
        message = f"It was paid with InputType {original.input_type:d}."
        findings.append(Finding("input_type", Check.CONTRADICTION, message))
    if order.acquirer not in (None, original.acquirer):
        findings.append(Finding("acquirer", Check.CONTRADICTION, f"It was paid at {original.acquirer}."))
    amount_minor = original.remaining_minor
    if order.amount is None:
        if order.partial:
            findings.append(Finding("amount", Check.REQUIRED, "A partial reversal names its amount."))
    else:
        amount_minor = minor("amount", order.amount, original.currency, findings)
    return amount_minor, findings


def decide(order: ReversalOrder, original: Transaction, now: datetime, card_findings: Findings = ()) -> int:
    """Return what this reversal takes from the payment, in minor units, or raise its refusal.

    `card_findings` are what is wrong with the card that was sent with it.
    """
    amount_minor, findings = check(order, original)
    if findings or card_findings:
        raise invalid(*findings, *card_findings)
    partial = amount_minor < original.amount_minor
    refused = refusal(original, order.mode, now, partial=partial, endpoint=order.endpoint)
    if refused:
        raise ServiceError(refused.error, refused.message)
    remains = f"{from_minor(original.remaining_minor, original.currency):f} {original.currency.code}"
    if amount_minor > original.remaining_minor:
        raise ServiceError(ErrorCode.EXCEEDS_REMAINDER, f"Only {remains} remain of the payment.")
    if order.partial is False and amount_minor != original.remaining_minor:
        message = f"PartialReverse is false, and {remains} remain."
        raise invalid(Finding("amount", Check.CONTRADICTION, message))
    return amount_minor


def begin(  # noqa: PLR0913, PLR0917  each is a thing of its own
    name: str, order: ReversalOrder, original: Transaction, agent: Agent, amount_minor: int, now: datetime
) -> Transaction:
    """Return the reversal `name`: approved at once, or in progress when an acquirer has to be called."""
    needs_acquirer = KINDS[original.input_type].acquirer is None
    in_progress = Phase.CANCELLING if order.mode in CANCELS else Phase.RETURNING
    return replace(
        original,
        id=name,
        agent=AgentSnapshot(agent.id, agent.email, agent.name, agent.phone),
        phase=in_progress if needs_acquirer else Phase.REVERSAL_APPROVED,
        amount_minor=amount_minor,
        created_at=now,
        deadline=end_of_day(now + TIME_TO_FINISH, original.gmt),
        fingerprint=fingerprint(order, agent.id),
        invoice=invoice_of(name, now, original.gmt),
        raw_request=order.raw_request,
        particulars=replace(
            original.particulars,
            ext_id=None,
            offline_queue_id=None,
            latitude=order.latitude,
            longitude=order.longitude,
            receipt_email=order.receipt_email,
            receipt_phone=order.receipt_phone,
        ),
        receipt=replace(
            original.receipt,
            purchases=order.purchases,
            addresses=order.receipt,
            language=language_of(order.language or original.receipt.language),
        ),
        result=Result(
            code=None if needs_acquirer else 0,
            message=None if needs_acquirer else APPROVED_TEXT,
            pin_mode=original.result.pin_mode,
        ),
        completion=replace(original.completion, signature_required=order.force_signature),
        original=Original(original.id, original.invoice, int(order.mode), amount_minor < original.amount_minor),
        reversals=Reversals(),
        card_entry=replace(original.card_entry, digest=None),
        amount_cash_got_minor=None,
        date=None,
        pictures=Pictures(),
        auto_cancel_id=None,
    )
