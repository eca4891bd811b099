"""A reversal: its transaction, the check of its card, and the recognition of a repeated request.

`domain.reversibility` decides which reversals are open.
"""

from collections.abc import Callable
from dataclasses import field, replace
from datetime import datetime, timedelta
from decimal import Decimal

from chalicelib.domain.agent import Agent
from chalicelib.domain.business_days import business_day, end_of_day, instant_of, to_local, zone_of
from chalicelib.domain.card import CardData, CardInput, Findings, expired, read
from chalicelib.domain.money import canonical, from_minor
from chalicelib.domain.payment import (
    APPROVED_TEXT,
    BY_DATA,
    BY_LINK,
    check_input_mode,
    fingerprint_of,
    invoice_of,
    minor,
)
from chalicelib.domain.reversibility import CANCELS, ReverseMode, refusal
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import (
    KINDS,
    AgentSnapshot,
    InputType,
    Original,
    Particulars,
    Phase,
    Pictures,
    Purchase,
    ReceiptAddresses,
    Result,
    Reversals,
    Transaction,
    language_of,
)
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid
from chalicelib.record import Record

Digest = Callable[[Secret], str]  # of a card number, as the payment stores it


class SentCard(Record):
    """The card of a request as it was sent. How it is to be read depends on the payment."""

    data: CardInput | None = None
    input_mode: int | None = None
    linked_card_id: int | None = None


def sent_card(data: CardInput, input_mode: int | None, linked_card_id: int | None) -> SentCard | None:
    """Return the card of a request; None when there is nothing in it, or zeros alone."""
    texts = (data.pan, data.exp, data.cvv2, data.reader_data)
    is_filled = any(text.reveal().strip("0 ") for text in texts if text)
    if not is_filled and linked_card_id is None:
        return None
    return SentCard(data if is_filled else None, input_mode, linked_card_id)


def check_card(
    sent: SentCard | None, original: Transaction, digest: Digest, now: datetime
) -> tuple[CardData | None, Findings]:
    """Return the card for the acquirer, read and checked as in a payment, and everything that is wrong with it."""
    if sent is None:
        return None, ()
    if original.card is None:
        return None, (Finding("card", Check.CONTRADICTION, "The payment was made without a card."),)
    if original.input_type is InputType.LINKED_CARD:
        return None, _check_linked(sent, original)
    card, findings = read(original.input_type, sent.data or CardInput())
    findings = (*check_input_mode(sent.input_mode, BY_DATA), *findings)
    if sent.linked_card_id is not None:
        message = "The payment was not made with a linked card."
        findings += (Finding("linked_card_id", Check.CONTRADICTION, message),)
    if card is None:
        return None, findings
    findings += expired(card, business_day(now, original.gmt))
    if digest(card.pan) != original.card_entry.digest:
        findings += (_other(_number_field(original.input_type)),)
    return card, findings


def _check_linked(sent: SentCard, original: Transaction) -> Findings:
    """Return the findings about the card of a linked-card payment: its ID alone names it."""
    findings = check_input_mode(sent.input_mode, BY_LINK)
    if sent.linked_card_id != original.card_entry.linked_id:
        findings += (_other("linked_card_id"),)
    if sent.data is not None:
        name = "card.pan" if sent.data.pan else "card.reader_data" if sent.data.reader_data else "card.exp"
        findings += (Finding(name, Check.CONTRADICTION, "The payment was made with a linked card."),)
    return findings


def _number_field(input_type: InputType) -> str:
    return "card.pan" if input_type is InputType.MANUAL_ENTRY else "card.reader_data"


def _other(name: str) -> Finding:
    return Finding(name, Check.CONTRADICTION, "It is not the card of the payment.")


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
        particulars=_particulars(order, original),
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


REPEAT_WINDOW = timedelta(seconds=120)  # in which an equal request without a key is taken for a repeated one
NO_TIME = "0001-01-01"  # how a client's time begins that was never set
FAILED = frozenset({Phase.DECLINED, Phase.REJECTED})


def content_identity(order: ReversalOrder, original: Transaction, agent_id: int) -> tuple[object, ...] | None:
    """Return what makes a request without a key the same reversal: its content and its own time; None without a time.

    The service derives its ID from it (contract, section 8).
    """
    time = (order.client_date_time or "").strip()
    if not time or time.startswith(NO_TIME):
        return None
    amount = "" if order.amount is None else canonical(order.amount)
    return ("content", agent_id, order.original_id, int(order.mode), amount, _one_writing(time, order, original))


def _one_writing(time: str, order: ReversalOrder, original: Transaction) -> str:
    """Return the one writing, in the merchant's zone, of a client's time; the text itself when it is no time."""
    try:
        return to_local(instant_of(time, zone_of(order.gmt, original.gmt)), original.gmt).isoformat()
    except (ValueError, OverflowError):
        return time


def is_repeated(order: ReversalOrder, original: Transaction, latest: Transaction, agent_id: int, now: datetime) -> bool:
    """Return whether a request without a key repeats the latest reversal of the payment, which then is its answer.

    A lost answer is far likelier than a second equal reversal within two minutes, and as long as the outcome of the
    first is unknown. One that failed gave nothing back, so repeating it is a new attempt.
    """
    if latest.phase in FAILED or latest.agent.id != agent_id:
        return False
    if not latest.is_pending and now >= latest.created_at + REPEAT_WINDOW:
        return False
    if latest.original.mode != order.mode or order.currency not in (None, latest.currency.code):
        return False
    if order.input_type not in (None, latest.input_type) or order.acquirer not in (None, latest.acquirer):
        return False
    if order.amount is None:
        return original.remaining_minor == 0
    return order.amount == from_minor(latest.amount_minor, latest.currency)


def _particulars(order: ReversalOrder, original: Transaction) -> Particulars:
    """Return the payment's carried-through fields, with those of the request where it has its own."""
    return replace(
        original.particulars,
        ext_id=None,
        offline_queue_id=None,
        latitude=order.latitude,
        longitude=order.longitude,
        receipt_email=order.receipt_email,
        receipt_phone=order.receipt_phone,
    )
