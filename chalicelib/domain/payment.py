"""Taking a payment: a request becomes a transaction, and a request to an acquirer.

The module calls nothing but the given function, by which an acquirer refuses a request.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

from chalicelib.domain import money
from chalicelib.domain.acquirer import AuthorizationRequest
from chalicelib.domain.agent import Agent
from chalicelib.domain.answer_size import check_size, longest_text
from chalicelib.domain.business_days import business_day, end_of_day, instant_of, zone_of
from chalicelib.domain.card import CardData, Findings, LinkedCard, expired, is_usable
from chalicelib.domain.kinds import KINDS, NOT_SUPPORTED, OWN_ACQUIRERS, InputType, language_of
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.paid_lines import paid_money
from chalicelib.domain.permissions import is_enabled
from chalicelib.domain.phases import Phase
from chalicelib.domain.taxes import Tax, TaxedLine, needs_buyer, taxed_again, taxes_of
from chalicelib.domain.terminal import Terminal, canonical_mid
from chalicelib.domain.transaction import (
    AgentSnapshot,
    CardEntry,
    Completion,
    Particulars,
    Purchase,
    ReceiptAddresses,
    ReceiptContent,
    Result,
    Taxes,
    Transaction,
    Warned,
    discounts_of,
    price_of,
    snapshot_of,
    sums_of,
    wants_events,
)
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid_references, missing

PURCHASES = "basic_tran.aux_data_input.aux_data.purchases"  # in a finding: the path in the request
MOST_UNKNOWN = 20  # tax codes that a payment warns of
APPROVED_TEXT = "Approved"  # ResultMessage of a payment without an acquirer
OFFLINE_FOR = timedelta(days=366)  # a till must report an offline payment within a year
CLOCK_SKEW = timedelta(days=1)  # for tills with a wrong clock or zone


@dataclass(frozen=True)
class PaymentOrder:
    """A requested payment: parsed and typed, not yet decided. Amounts are exact decimals."""

    id: str  # in upper case; "" until one is chosen
    input_type: InputType
    amount: Decimal
    particulars: Particulars = field(default_factory=Particulars)
    currency: str | None = None
    acquirer: str | None = None
    terminal_group: Mapping[str, int | str] = field(default_factory=dict)  # its ID or code, by the request's field
    amount_cash_got: Decimal | None = None
    purchases: tuple[Purchase, ...] = ()
    taxes: Taxes | None = None
    receipt: ReceiptAddresses | None = None
    warnings: tuple[Warned, ...] = ()
    language: str | None = None  # the tag in the request; None: the merchant's
    single_step: bool = True
    offline: bool = False
    offline_invoice: str | None = None
    offline_paid: str | None = None
    gmt: int | None = None  # the zone of its times, in hours; None: the merchant's
    card: CardData | None = None  # only in memory; None when it is linked, or unreadable (see the findings)
    card_findings: tuple[Finding, ...] = ()
    linked_card_id: int | None = None
    force_signature: bool = False
    external_terminal_id: str | None = None
    allow_swipe_over_chip: bool = False
    additional_fields: str | None = None

    def repeats(self, stored: Transaction, agent_id: int) -> bool:
        """Return whether it has the content of a stored payment.

        Either request may leave out the currency or the acquirer that the service chose.
        """
        currency, acquirer = stored.currency.code, stored.acquirer
        if self.currency not in (None, currency) or self.acquirer not in (None, acquirer):
            return False
        spellings = product((currency, None), (acquirer, None))
        equal = (replace(self, currency=one, acquirer=other) for one, other in spellings)
        return stored.fingerprint in {fingerprint(order, agent_id) for order in equal}


@dataclass(frozen=True)
class PointOfSale:
    """The agent, merchant and terminal that take a payment."""

    agent: Agent
    merchant: Merchant
    terminal: Terminal
    taxes: tuple[Tax, ...] = ()  # that were in force when it was sold


def supported(input_type: int) -> InputType:
    """Return the kind of payment. Raise 312 for a kind of the interface that the service does not take."""
    if input_type in NOT_SUPPORTED:
        raise ServiceError(ErrorCode.KIND_NOT_SUPPORTED, f"InputType {input_type} is not supported.")
    return InputType(input_type)


def fingerprint_of(*content: object) -> str:
    """Return a shortened SHA-256 over the parts of a request: equal for equal parts. No part may be secret."""
    return hashlib.sha256("\x1f".join(map(str, content)).encode()).hexdigest()[:32]


def fingerprint(order: PaymentOrder, agent_id: int) -> str:
    """Return the fingerprint of a payment. It covers the business content, not the device or the time."""
    return fingerprint_of(
        agent_id,
        money.canonical(order.amount),
        order.currency or "",
        int(order.input_type),
        order.acquirer or "",
        order.particulars.ext_id or "",
        _card_of(order),
    )


def _card_of(order: PaymentOrder) -> str:
    """Return the masked number and the expiry of the card, or the ID of a linked card."""
    if order.card is not None:
        return f"{order.card.details.masked} {order.card.details.exp}"
    return "" if order.linked_card_id is None else f"linked:{order.linked_card_id}"


def features_off(order: PaymentOrder, agent: Agent, merchant: Merchant) -> list[str]:
    """Return the features that the payment needs and the agent lacks."""
    needed = [KINDS[order.input_type].feature, *(["offline"] if order.offline else [])]
    needed += [DISCOUNTS] if has_discount(order) else []
    return [one for one in needed if not is_enabled(one, agent.mobile_settings, merchant.mobile_settings)]


DISCOUNTS = "discounts"  # the feature


def has_discount(order: PaymentOrder) -> bool:
    """Return whether a line of the payment lowers its sum."""
    return any(line.price < 0 or line.discount for line in order.purchases)


def check_kind(order: PaymentOrder, agent: Agent, merchant: Merchant, acquirers: tuple[str, ...]) -> None:
    """Refuse a payment that this agent may not take (311), or that no acquirer of the stage takes (312).

    An offline sale without an acquirer is allowed, because the customer has paid.
    """
    kind = KINDS[order.input_type]
    was_paid = order.offline and not kind.needs_acquirer
    off = [] if was_paid else features_off(order, agent, merchant)
    if kind.feature in off:
        message = f"InputType {order.input_type:d} is not enabled for the agent."
        raise ServiceError(ErrorCode.KIND_NOT_ENABLED, message)
    if DISCOUNTS in off:
        raise ServiceError(ErrorCode.KIND_NOT_ENABLED, "Discounts are not enabled for the agent.")
    if kind.needs_acquirer and not acquirers:
        message = f"The stage has no acquirer that takes InputType {order.input_type:d}."
        raise ServiceError(ErrorCode.KIND_NOT_SUPPORTED, message)


def usable_terminal(order: PaymentOrder, merchant: Merchant, terminal: Terminal | None) -> Terminal:
    """Return the agent's terminal. Raise 315 when it has none, a blocked one, or cards and a lost number (MID)."""
    if terminal is None:
        raise ServiceError(ErrorCode.NO_USABLE_TERMINAL, "The agent has no terminal.")
    if not terminal.state:
        raise ServiceError(ErrorCode.NO_USABLE_TERMINAL, "The agent's terminal is blocked.")
    if KINDS[order.input_type].needs_acquirer and canonical_mid(terminal.back_retailer_id) in merchant.lost_mids:
        message = "Another merchant has the number at the bank of the agent's terminal."
        raise ServiceError(ErrorCode.NO_USABLE_TERMINAL, message)
    return terminal


def sold_at(order: PaymentOrder, merchant: Merchant) -> datetime | None:
    """Return the time of an offline payment, a local time of the request's zone; None without a readable one."""
    if not order.offline or order.offline_paid is None:
        return None
    try:
        return instant_of(order.offline_paid, zone_of(order.gmt, merchant.gmt))
    except (ValueError, OverflowError):
        return None


def only_its_money(order: PaymentOrder, pos: PointOfSale) -> tuple[PaymentOrder, list[Finding]]:
    """Return an offline sale without what contradicts its money or its merchant, and the findings about these parts.

    Its money was taken, so only a fault in its money refuses it.
    """
    currency, findings = pos.terminal.currency, list[Finding]()
    if of_goods := wrong_purchases(order, currency, pos.terminal.country_code):
        findings += [replace(one, field=PURCHASES) if one.field == "amount" else one for one in of_goods]
        order = replace(order, purchases=())
    if of_cash := _cash_got(order, currency, 0)[1]:
        findings += of_cash
        order = replace(order, amount_cash_got=None)
    if of_group := check_group(order.terminal_group, pos.merchant, pos.terminal):
        findings += of_group
        order = replace(order, terminal_group={})
    while name := longest_text(order.particulars, order.offline_invoice):
        findings.append(Finding(name, Check.TOO_LONG, ""))
        order = replace(order, particulars=replace(order.particulars, **{name: None}))
    return order, findings


def without_acquirer(order: PaymentOrder, pos: PointOfSale, now: datetime) -> Transaction:
    """Return the transaction of a payment without an acquirer: it is approved as soon as it is stored.

    Raise 202 with every problem, or 569 when the only problem is an unknown terminal group.
    """
    (amount_minor, got_minor), findings = amounts(order, pos.terminal)
    findings += (*wrong_acquirer(order), *order.card_findings)
    paid_at, of_offline = _offline(order, pos.merchant, now)
    findings += of_offline
    findings += check_group(order.terminal_group, pos.merchant, pos.terminal)
    if findings:
        raise invalid_references(*findings)

    return begin(
        order,
        pos,
        now,
        phase=Phase.APPROVED,
        acquirer=KINDS[order.input_type].acquirer or "",
        amount_minor=amount_minor,
        amount_cash_got_minor=got_minor,
        date=paid_at,
        invoice=order.offline_invoice or "",
        result=Result(code=0, message=APPROVED_TEXT),
    )


def begin(order: PaymentOrder, pos: PointOfSale, now: datetime, **decided: Any) -> Transaction:
    """Return the transaction of a payment: the common fields plus `decided`. Raise 202 when it fits no answer."""
    agent, merchant, terminal = pos.agent, pos.merchant, pos.terminal
    lines = _taxed_lines(order, pos, decided["amount_minor"])
    taxes = taxes_of(lines, pos.taxes)
    facts = {
        "id": order.id,
        "client_id": merchant.id,
        "agent": AgentSnapshot(agent.id, agent.email, agent.name, agent.phone),
        "terminal_id": terminal.id,
        "terminal_name": terminal.tid,
        "input_type": order.input_type,
        "currency": terminal.currency,
        "created_at": now,
        "deadline": end_of_day(now, merchant.gmt),
        "gmt": merchant.gmt,
        "invoice": "",  # the store gives the number
        "fingerprint": fingerprint(order, agent.id),
        "particulars": order.particulars,
        "tax_amounts": taxes,
        "taxed_again_minor": taxed_again(lines, taxes) or None,
        "discounts_minor": discounts_of(order.purchases, terminal.currency) or None,
        "tax_invoice": False if taxes and _needs_buyer(order, pos, decided["amount_minor"]) else None,
        "receipt": ReceiptContent(
            purchases=order.purchases,
            taxes=order.taxes,
            addresses=order.receipt,
            language=language_of(order.language or merchant.language),
        ),
        "merchant": snapshot_of(merchant, terminal.back_retailer_id),
        "completion": Completion(single_step=order.single_step),
        "warnings": (*order.warnings, *_unknown_taxes(order, pos)),
        "makes_events": wants_events(merchant, now) or None,
    }
    begun = Transaction(**{**facts, **decided})
    check_size(begun)
    return begun


def tax_codes(order: PaymentOrder) -> dict[str, str]:
    """Return the path of each tax code in the request, once: those of its lines, else those of the whole payment."""
    place = "BasicTran.AuxDataInput.AuxData.Purchases"
    lists = {f"{place}[{n}].TaxCode": one.tax_codes for n, one in enumerate(order.purchases)}
    lists = lists or {"TaxesModel.Taxes": order.taxes.codes if order.taxes else ()}
    codes = [(code, f"{place}[{n}]") for place, all_of in lists.items() for n, code in enumerate(all_of)]
    return dict(reversed(codes))


def _unknown_taxes(order: PaymentOrder, pos: PointOfSale) -> list[Warned]:
    """Return a warning for each tax code that the merchant, who has taxes, never had. It is carried and not counted."""
    known = {tax.code.lower() for tax in (*pos.taxes, *pos.merchant.taxes)}
    unknown = [path for code, path in tax_codes(order).items() if known and code.lower() not in known]
    return [Warned(path, Check.NOT_IN_DICTIONARY) for path in unknown[::-1][:MOST_UNKNOWN]]


def _taxed_lines(order: PaymentOrder, pos: PointOfSale, amount_minor: int) -> list[TaxedLine]:
    """Return the paid money of each line with its codes. A payment without lines is one line."""
    if not order.purchases:
        return [TaxedLine(amount_minor, order.taxes.codes if order.taxes else ())]
    money = paid_money(order.purchases, amount_minor, pos.terminal.currency)
    return [TaxedLine(part, one.tax_codes) for part, one in zip(money, order.purchases, strict=True)]


def _needs_buyer(order: PaymentOrder, pos: PointOfSale, amount_minor: int) -> bool:
    currency, is_cash = pos.terminal.currency, order.input_type is InputType.CASH
    price_minor = price_of(order.purchases, amount_minor, currency, is_cash=is_cash)
    return needs_buyer(pos.merchant.country_code, currency.code, price_minor)


def amounts(order: PaymentOrder, terminal: Terminal) -> tuple[tuple[int, int | None], list[Finding]]:
    """Return the amount and the cash received in minor units, with the findings about them."""
    if findings := check_currency(order.currency, terminal):
        return (0, None), findings
    amount_minor, of_amount = minor("amount", order.amount, terminal.currency)
    got_minor, of_cash = _cash_got(order, terminal.currency, amount_minor)
    of_purchases = wrong_purchases(order, terminal.currency, terminal.country_code)
    return (amount_minor, got_minor), [*of_amount, *of_cash, *of_purchases]


def check_currency(code: str | None, terminal: Terminal) -> list[Finding]:
    """Return a finding when the payment has another currency than the terminal."""
    if code in (None, terminal.currency.code):
        return []
    return [Finding("currency", Check.CONTRADICTION, f"The terminal takes {terminal.currency.code}.")]


def wrong_purchases(order: PaymentOrder, currency: money.Currency, country: str | None = None) -> Findings:
    """Return the findings about discounts, else one when the amount is above the sum. Cash is rounded up to a coin."""
    if not order.purchases:
        return ()
    if findings := tuple(_wrong_discounts(order, currency)):
        return findings
    sum_minor = max(sums_of(order.purchases, currency))
    is_rounded = order.input_type is InputType.CASH and sum_minor > 0
    coin = money.smallest_coin(currency, country) if is_rounded else 1
    if order.amount <= money.from_minor(sum_minor + coin - 1, currency):
        return ()
    message = f"The sum of the purchases is only {money.from_minor(sum_minor, currency):f}."
    return (Finding("amount", Check.CONTRADICTION, message),)


def _wrong_discounts(order: PaymentOrder, currency: money.Currency) -> Iterator[Finding]:
    """Yield a finding for each discount that is above its line, or has more decimals than the currency."""
    for number, one in enumerate(order.purchases):
        place, line_minor = f"{PURCHASES}[{number}].discount", max(money.rounded(one.total, currency), 0)
        if one.discount and money.from_minor(money.rounded(one.discount, currency), currency) != one.discount:
            yield Finding(place, Check.TOO_MANY_DECIMALS, f"{currency.code} has {currency.digits} decimals.")
        elif one.discount and one.discount > (most := money.from_minor(line_minor, currency)):
            yield Finding(place, Check.OUT_OF_RANGE, f"The line comes to {most:f}.")


def wrong_cash(order: PaymentOrder) -> Findings:
    """Return a finding when cash is received in another kind of payment, or less than is to be paid."""
    name, got = "amount_cash_got", order.amount_cash_got
    if got is None:
        return ()
    if order.input_type is not InputType.CASH:
        return (Finding(name, Check.CONTRADICTION, "Cash is received in a cash payment only."),)
    if got < order.amount and not _is_without_cents(got, order.amount):
        return (Finding(name, Check.CONTRADICTION, "Less cash was received than is to be paid."),)
    return ()


def _is_without_cents(got: Decimal, amount: Decimal) -> bool:
    """Return whether the cash is the amount without its cents. The specification has a whole number there."""
    return got == int(amount) < amount


def _cash_got(order: PaymentOrder, currency: money.Currency, amount_minor: int) -> tuple[int | None, Findings]:
    got = order.amount_cash_got
    if order.input_type is not InputType.CASH or got is None or _is_without_cents(got, order.amount):
        return amount_minor if order.input_type is InputType.CASH else None, wrong_cash(order)
    got_minor, findings = minor("amount_cash_got", got, currency)
    return got_minor, findings or wrong_cash(order)


def minor(name: str, amount: Decimal, currency: money.Currency) -> tuple[int, Findings]:
    """Return minor units; for a wrong amount, 0 and a finding about the field."""
    try:
        return money.to_minor(amount, currency), ()
    except money.TooManyDecimalsError:
        message = f"{currency.code} has {currency.digits} decimals."
        return 0, (Finding(name, Check.TOO_MANY_DECIMALS, message),)
    except money.OutOfRangeError:
        message = f"The amount is above zero and at most {money.from_minor(money.MAX_MINOR, currency):f}."
        return 0, (Finding(name, Check.OUT_OF_RANGE, message),)


def wrong_acquirer(order: PaymentOrder) -> Findings:
    """Return a finding when a kind of payment with an acquirer code of its own names another one."""
    own = KINDS[order.input_type].acquirer
    if own is None or order.acquirer in (None, own):
        return ()
    return (Finding("acquirer", Check.CONTRADICTION, f"InputType {order.input_type} goes with {own}."),)


def _offline(order: PaymentOrder, merchant: Merchant, now: datetime) -> tuple[datetime | None, list[Finding]]:
    """Return the time of an offline payment, with the findings about it. Without Paid it is `now`."""
    if not order.offline:
        return None, []
    if order.offline_paid is None:
        return now, []
    name = "offline_paid"
    paid = sold_at(order, merchant)
    if paid is None:
        return None, [Finding(name, Check.FORMAT, "A time such as 2026-01-31T12:00:00 is expected.")]
    if paid > now + CLOCK_SKEW:
        return None, [Finding(name, Check.OUT_OF_RANGE, "The time is in the future: check the till's clock and GMT.")]
    if paid < now - OFFLINE_FOR:
        return None, [Finding(name, Check.OUT_OF_RANGE, "An offline payment was taken within the last year.")]
    return paid, []


BY_DATA, BY_LINK = 1, 2  # CardInputMode


Refuse = Callable[[str, AuthorizationRequest], Sequence[Finding]]


def with_card(  # noqa: PLR0913  each argument is needed and independent
    order: PaymentOrder,
    pos: PointOfSale,
    now: datetime,
    *,
    acquirers: Sequence[str],
    linked: LinkedCard | None,
    refuse: Refuse,
) -> tuple[Transaction, AuthorizationRequest]:
    """Return the transaction of a card payment, to store before the acquirer is called, and the acquirer's request.

    `acquirers` are the stage's acquirers for this kind of payment, the default first. `linked` is the card that the
    order names by its ID. `refuse` returns the findings of the acquirer with a given code. Raise 202 with every
    problem, 566 when the agent may not pay with the linked card, 569 when the only problem is an unknown terminal
    group.
    """
    today = business_day(now, pos.merchant.gmt)
    if order.input_type is InputType.LINKED_CARD and order.linked_card_id is not None:
        linked = _usable(linked, pos.agent.id, today)
    (amount_minor, _), findings = amounts(order, pos.terminal)
    findings += wrong_card(order, today)
    acquirer = order.acquirer or (linked.acquirer if linked else acquirers[0])
    findings += check_acquirer(acquirer, acquirers, linked)
    findings += wrong_way(order)
    findings += wrong_swipe(order)
    findings += check_group(order.terminal_group, pos.merchant, pos.terminal)
    request = _request(order, pos, linked, amount_minor)
    findings += refuse(acquirer, request) if acquirer in acquirers else ()
    if findings:
        raise invalid_references(*findings)

    transaction = begin(
        order,
        pos,
        now,
        phase=Phase.SENT,
        acquirer=acquirer,
        amount_minor=amount_minor,
        card=linked.details if linked else order.card and order.card.details,
        card_entry=CardEntry(linked_id=linked.id if linked else None, emv=order.card.emv if order.card else None),
        completion=Completion(single_step=order.single_step, signature_required=order.force_signature),
    )
    return transaction, request


def _request(
    order: PaymentOrder, pos: PointOfSale, linked: LinkedCard | None, amount_minor: int
) -> AuthorizationRequest:
    return AuthorizationRequest(
        reference=order.id,
        amount_minor=amount_minor,
        currency=pos.terminal.currency,
        input_type=order.input_type,
        terminal=pos.terminal.tid,
        merchant=pos.terminal.back_retailer_id,
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
    """Return the card if the agent may pay with it. A missing, foreign or blocked card gets the same answer."""
    if linked is None or not is_usable(linked, agent_id, today):
        raise ServiceError(ErrorCode.CARD_NOT_FOUND)
    return linked


def wrong_card(order: PaymentOrder, today: date) -> Findings:
    """Return the findings about the card, and one if it is no longer good on the merchant's day."""
    return (*order.card_findings, *(expired(order.card, today) if order.card else ()))


def check_acquirer(code: str, acquirers: Sequence[str], linked: LinkedCard | None) -> list[Finding]:
    """Return a finding when no acquirer of a card payment has the code, or another one has linked the card."""
    if code in OWN_ACQUIRERS:
        return [Finding("acquirer", Check.CONTRADICTION, f"{code} takes no cards.")]
    if code not in acquirers:
        message = "The stage has no acquirer of this code."
        return [Finding("acquirer", Check.NOT_IN_DICTIONARY, message)]
    if linked and code != linked.acquirer:
        return [Finding("acquirer", Check.CONTRADICTION, f"The card is linked at {linked.acquirer}.")]
    return []


def wrong_swipe(order: PaymentOrder) -> list[Finding]:
    """Return a finding when the stripe of a chip card was read and the request does not allow it."""
    if order.allow_swipe_over_chip or order.card is None or not order.card.has_chip:
        return []
    message = "The card has a chip: insert it, or send AllowSwipeOverChip true."
    return [Finding("allow_swipe_over_chip", Check.CONTRADICTION, message)]


def wrong_way(order: PaymentOrder) -> list[Finding]:
    """Return a finding when a card payment is said to be taken offline."""
    is_wrong = order.offline and KINDS[order.input_type].needs_acquirer
    return [Finding("offline", Check.CONTRADICTION, "A card payment is authorized online.")] if is_wrong else []


def check_group(requested: Mapping[str, int | str], merchant: Merchant, terminal: Terminal) -> list[Finding]:
    """Return a finding for each field (name: ID or code of a group) that does not name this terminal's group."""
    findings = []
    own = next((group.code for group in merchant.groups if group.id == terminal.group_id), terminal.group_id)
    for name, number_or_code in requested.items():
        group = next((one for one in merchant.groups if number_or_code in (one.id, one.code)), None)
        if group is None:
            findings.append(missing(name, ErrorCode.GROUP_NOT_FOUND))
        elif group.id != terminal.group_id:
            findings.append(Finding(name, Check.CONTRADICTION, f"The agent's terminal is in the group {own}."))
    return findings
