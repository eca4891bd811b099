"""Taking a payment: what a request becomes, decided without asking anybody."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from chalicelib.domain import money
from chalicelib.domain.agent import Agent
from chalicelib.domain.card import CardData
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.period import business_day, end_of_day
from chalicelib.domain.terminal import Terminal
from chalicelib.domain.transaction import KINDS, AgentSnapshot, InputType, Phase, Transaction
from chalicelib.errors import Check, Finding, invalid

APPROVED = "Approved"
OFFLINE_FOR = timedelta(days=366)  # a till without connection reports its payments within a year
CLOCK_SKEW = timedelta(days=1)  # of a till whose clock or zone is wrong


@dataclass(frozen=True)
class Order:
    """A payment as it was asked for: parsed and typed, not yet decided. Amounts are exact decimals."""

    id: str
    input_type: InputType
    amount: Decimal
    currency: str | None
    acquirer: str | None
    details: str
    amount_cash_got: Decimal | None = None
    purchases_total: Decimal | None = None
    description: str | None = None
    service_id: str | None = None
    client_product_code: str | None = None
    ext_id: str | None = None
    ext_tran_data: str | None = None
    latitude: Decimal | None = None
    longitude: Decimal | None = None
    receipt_email: str | None = None
    receipt_phone: str | None = None
    single_step: bool = True
    offline: bool = False
    offline_invoice: str | None = None
    offline_paid: str | None = None
    card: CardData | None = None  # in memory alone; None when it is linked, or unreadable: then there are problems
    card_problems: tuple[Finding, ...] = ()
    card_digest: str = ""  # what tells the card apart: a keyed digest of its number, or its linked ID
    linked_card_id: int | None = None
    force_signature: bool = False
    external_terminal_id: str | None = None
    allow_swipe_over_chip: bool = False
    additional_fields: str | None = None


@dataclass(frozen=True)
class Till:
    """Where a payment is taken: by whom, for whom, and on which terminal."""

    agent: Agent
    merchant: Merchant
    terminal: Terminal


def fingerprint_of(*content: object) -> str:
    """A short digest of the parts of a request: equal for equal parts."""
    return hashlib.sha256("\x1f".join(map(str, content)).encode()).hexdigest()[:32]


def fingerprint(order: Order, agent: Agent) -> str:
    """What makes a repeated ID the same payment: its business content, not the device or the time."""
    content = (
        agent.id,
        order.amount.normalize(),
        order.currency or "",
        int(order.input_type),
        order.acquirer or "",
        order.ext_id or "",
        order.card_digest,
    )
    return fingerprint_of(*content)


def without_acquirer(order: Order, agent: Agent, merchant: Merchant, terminal: Terminal, now: datetime) -> Transaction:
    """The transaction of a payment that needs no acquirer: it is approved as soon as it is kept.

    Raises 202 with everything that is wrong with it.
    """
    (amount_minor, got_minor), problems = amounts(order, terminal)
    problems += _own_acquirer(order)
    date, offline = _offline(order, now)
    problems += offline
    if problems:
        raise invalid(*problems)

    return begin(
        order,
        Till(agent, merchant, terminal),
        now,
        phase=Phase.APPROVED,
        acquirer=KINDS[order.input_type].acquirer or "",
        amount_minor=amount_minor,
        amount_cash_got_minor=got_minor,
        date=date,
        invoice=order.offline_invoice or invoice_of(order.id, now, merchant.gmt),
        result_code=0,
        result_message=APPROVED,
    )


def begin(order: Order, till: Till, now: datetime, **decided: Any) -> Transaction:
    """The transaction of a payment: what any kind of it has, and what was `decided` about this one."""
    agent, merchant, terminal = till.agent, till.merchant, till.terminal
    facts = {
        "id": order.id,
        "client_id": merchant.id,
        "taker": AgentSnapshot(agent.id, agent.email, agent.name, agent.phone),
        "terminal_id": terminal.id,
        "terminal_name": terminal.tid,
        "input_type": order.input_type,
        "currency": terminal.currency,
        "created_at": now,
        "deadline": end_of_day(now, merchant.gmt),
        "gmt": merchant.gmt,
        "fingerprint": fingerprint(order, agent),
        "invoice": invoice_of(order.id, now, merchant.gmt),
    }
    return Transaction(**{**facts, **_kept(order), **decided})


def _kept(order: Order) -> dict[str, Any]:
    """What is kept as it was sent."""
    names = (
        "details description service_id client_product_code ext_id ext_tran_data latitude longitude "
        "receipt_email receipt_phone single_step"
    )
    return {name: getattr(order, name) for name in names.split()}


def invoice_of(transaction_id: str, at: datetime, gmt: int) -> str:
    """The receipt number: the merchant's day and six digits of the ID, short enough to be read out."""
    digits = int(hashlib.sha256(transaction_id.encode()).hexdigest(), 16) % 10**6
    return f"{business_day(at, gmt):%y%m%d}{digits:06d}"


def amounts(order: Order, terminal: Terminal) -> tuple[tuple[int, int | None], list[Finding]]:
    """The amount and the cash received in minor units, and what is wrong with them."""
    problems: list[Finding] = []
    if order.currency not in (None, terminal.currency.code):
        message = f"The terminal takes {terminal.currency.code}."
        problems.append(Finding("currency", Check.CONTRADICTION, message))
        return (0, None), problems
    amount_minor = minor("amount", order.amount, terminal.currency, problems)
    got_minor = _cash_got(order, terminal.currency, amount_minor, problems)
    if order.purchases_total is not None and order.amount > order.purchases_total:
        message = f"The purchases come to {order.purchases_total:f} only."
        problems.append(Finding("amount", Check.CONTRADICTION, message))
    return (amount_minor, got_minor), problems


def _cash_got(order: Order, currency: money.Currency, amount_minor: int, problems: list[Finding]) -> int | None:
    name = "amount_cash_got"
    if order.input_type is not InputType.CASH:
        if order.amount_cash_got is not None:
            problems.append(Finding(name, Check.CONTRADICTION, "Cash is received in a cash payment only."))
        return None
    if order.amount_cash_got is None:
        return amount_minor
    got_minor = minor(name, order.amount_cash_got, currency, problems)
    if got_minor and got_minor < amount_minor:
        problems.append(Finding(name, Check.CONTRADICTION, "Less cash was received than is to be paid."))
    return got_minor


def minor(name: str, amount: Decimal, currency: money.Currency, problems: list[Finding]) -> int:
    """Minor units, or 0 and one more problem with the field `name`."""
    try:
        return money.to_minor(amount, currency)
    except money.TooManyDecimalsError:
        message = f"{currency.code} has {currency.digits} decimals."
        problems.append(Finding(name, Check.TOO_MANY_DECIMALS, message))
    except money.OutOfRangeError:
        message = f"The amount is above zero and at most {money.from_minor(money.MAX_MINOR, currency):f}."
        problems.append(Finding(name, Check.OUT_OF_RANGE, message))
    return 0


def _own_acquirer(order: Order) -> list[Finding]:
    own = KINDS[order.input_type].acquirer
    if order.acquirer in (None, own):
        return []
    return [Finding("acquirer", Check.CONTRADICTION, f"InputType {order.input_type} goes with {own}.")]


def _offline(order: Order, now: datetime) -> tuple[datetime | None, list[Finding]]:
    """When an offline payment was taken; a time without a zone is UTC."""
    if not order.offline or order.offline_paid is None:
        return None, []
    name = "offline_paid"
    try:
        paid = datetime.fromisoformat(order.offline_paid)
        paid = (paid if paid.tzinfo else paid.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None, [Finding(name, Check.FORMAT, "A time such as 2026-01-31T12:00:00 is expected.")]
    if not now - OFFLINE_FOR <= paid <= now + CLOCK_SKEW:
        return None, [Finding(name, Check.OUT_OF_RANGE, "An offline payment was taken within the last year.")]
    return paid, []
