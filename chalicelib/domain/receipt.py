"""A receipt a merchant would hand out: what it says, decided once, then set as text, as HTML and as a short message.

Of a card it shows the brand and the last four digits: card schemes want no more on a cardholder's copy.
"""

import json
import textwrap
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, localcontext
from typing import Any

from chalicelib.domain import money
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.outbox import one_line
from chalicelib.domain.reversal import CANCELS
from chalicelib.domain.terminal import Terminal
from chalicelib.domain.transaction import EmvData, InputType, Phase, Transaction

GIVEN = frozenset({Phase.APPROVED, Phase.OWED, Phase.REVERSED, Phase.GIVEN_BACK})  # money moved: there is a receipt
WIDTH = 40  # of the text: what a receipt printer prints on a line
PRECISION = 64  # digits: no price times a quantity that a request may hold is rounded
SMS_LENGTH = 160  # one message of the network
MEANS = {
    InputType.MANUAL_ENTRY: "Card, keyed in",
    InputType.MAGNETIC_STRIPE: "Card, swiped",
    InputType.CHIP: "Card, chip",
    InputType.CONTACTLESS: "Card, contactless",
    InputType.LINKED_CARD: "Card on file",
    InputType.EXTERNAL_TERMINAL: "Other terminal",
    InputType.PREPAYMENT: "Prepaid",
    InputType.POSTPAID: "On account",
    InputType.CASH: "Cash",
}
Fact = tuple[str, str]


@dataclass(frozen=True)
class Line:
    """One purchase: what, how many at which price, and what they come to."""

    title: str
    detail: str
    amount: str


@dataclass(frozen=True)
class Slip:
    """Everything a receipt says, in the order it says it; no character in it can break a line or a header."""

    title: str
    merchant: str
    letterhead: tuple[str, ...]
    facts: tuple[Fact, ...]
    lines: tuple[Line, ...]
    totals: tuple[Fact, ...]  # the first of them is the one people look for
    payment: tuple[Fact, ...]
    notes: tuple[str, ...]
    short: str


def is_given(transaction: Transaction) -> bool:
    """There is a receipt of it: money was taken or given back. Of what was declined or is pending there is none."""
    return transaction.phase in GIVEN


def slip(transaction: Transaction, merchant: Merchant, terminal: Terminal) -> Slip:
    """What the receipt of a transaction says, with times in the merchant's zone."""
    with localcontext(prec=PRECISION):
        return _slip(transaction, merchant, terminal)


def _slip(transaction: Transaction, merchant: Merchant, terminal: Terminal) -> Slip:
    title = _title(transaction)
    amount = money.text(transaction.amount_minor, transaction.currency)
    name = one_line(merchant.name)
    letterhead = (merchant.address_de_jure or merchant.address_de_facto, merchant.phone)
    tax = (f"Tax no. {merchant.tax_id}",) if merchant.tax_id else ()
    notes = (
        transaction.description,
        "AUTHORISED, NOT YET COMPLETED" if transaction.phase is Phase.OWED else None,
        "Please keep this receipt.",
    )
    return Slip(
        title=title,
        merchant=name,
        letterhead=tuple(map(one_line, (*letterhead, *tax))),
        facts=_present(_facts(transaction, terminal)),
        lines=_lines(transaction),
        totals=_present(_totals(transaction, amount)),
        payment=_present(_payment(transaction)),
        notes=tuple(one_line(note) for note in notes if note),
        short=_short(transaction, name),
    )


def subject(paper: Slip) -> str:
    """The subject of the e-mail."""
    return f"{paper.title.capitalize()} from {paper.merchant}: {paper.totals[0][1]}"


def as_text(paper: Slip) -> str:
    """The receipt as plain text, no line wider than a receipt printer's."""
    heading = [paper.merchant.upper(), *paper.letterhead]
    rule = "-" * WIDTH
    blocks = [
        [line.center(WIDTH).rstrip() for text in heading for line in textwrap.wrap(text, WIDTH)],
        ["", paper.title.center(WIDTH).rstrip(), ""],
        _set(paper.facts),
        [rule] if paper.lines else [],
        [
            text
            for line in paper.lines
            for text in [*textwrap.wrap(line.title, WIDTH), *_pair(line.detail, line.amount)]
        ],
        [rule, *_set(paper.totals), rule, *_set(paper.payment), ""],
        [line.center(WIDTH).rstrip() for note in paper.notes for line in textwrap.wrap(note, WIDTH)],
    ]
    return "\n".join(line for block in blocks for line in block) + "\n"


def _set(facts: tuple[Fact, ...]) -> list[str]:
    return [line for label, value in facts for line in _pair(label, value)]


def _pair(label: str, value: str) -> list[str]:
    """A label at the left edge and its value at the right one, on lines of its own where it is too long."""
    if len(label) + 1 + len(value) <= WIDTH:
        return [label + value.rjust(WIDTH - len(label))]
    return [label, *(line.rjust(WIDTH) for line in textwrap.wrap(value, WIDTH))]


def _title(transaction: Transaction) -> str:
    if not transaction.is_reversal:
        return "RECEIPT"
    return "CANCEL" if transaction.reverse_mode in CANCELS else "RETURN"


def _present(facts: list[tuple[str, str | None]]) -> tuple[Fact, ...]:
    return tuple((label, one_line(value)) for label, value in facts if value)


def _facts(transaction: Transaction, terminal: Terminal) -> list[tuple[str, str | None]]:
    return [
        ("Receipt no.", transaction.invoice),
        ("Original receipt no.", transaction.original_invoice),
        ("Date", _when(transaction)),
        ("Terminal (TID)", transaction.terminal_name),
        ("Merchant (MID)", terminal.back_retailer_id),
        ("Served by", transaction.taker.name),
    ]


def _when(transaction: Transaction) -> str:
    at = (transaction.date or transaction.created_at) + timedelta(hours=transaction.gmt)
    return f"{at:%Y-%m-%d %H:%M} (UTC{transaction.gmt:+d})"


def _totals(transaction: Transaction, amount: str) -> list[tuple[str, str | None]]:
    label = {"RECEIPT": "PAID", "CANCEL": "CANCELLED", "RETURN": "RETURNED"}[_title(transaction)]
    goods = sum((price * quantity for _, price, quantity in _purchases(transaction)), Decimal())
    differs = goods and goods != money.from_minor(transaction.amount_minor, transaction.currency)
    got = None if transaction.is_reversal else transaction.amount_cash_got_minor
    return [
        (f"{label} {transaction.currency.code}", amount),
        ("Purchases come to", _exact(goods, transaction) if differs else None),
        ("Cash received", None if got is None else money.text(got, transaction.currency)),
        ("Change", None if got is None else money.text(got - transaction.amount_minor, transaction.currency)),
    ]


def _payment(transaction: Transaction) -> list[tuple[str, str | None]]:
    card, emv = transaction.card, transaction.emv or EmvData()
    return [
        ("Returned by" if transaction.is_reversal else "Paid by", MEANS[transaction.input_type]),
        (card.brand if card else "", f"************{card.last4}" if card and card.last4 else None),
        ("Approval code", transaction.approval_code),
        ("RRN", transaction.rrn),
        ("Application", emv.apn),
        ("AID", emv.aid),
        ("TVR", emv.tvr),
        ("TSI", emv.tsi),
        ("Transaction", transaction.id),
    ]


def _lines(transaction: Transaction) -> tuple[Line, ...]:
    return tuple(
        Line(one_line(title), f"  {quantity.normalize():f} x {_exact(price, transaction)}", _exact(sum_, transaction))
        for title, price, quantity in _purchases(transaction)
        for sum_ in (price * quantity,)
    )


def _purchases(transaction: Transaction) -> list[tuple[str, Decimal, Decimal]]:
    """Title, price and quantity of what was bought, as the request had it."""
    details = json.loads(transaction.details, parse_float=Decimal, parse_int=Decimal)
    found: Any = details.get("BasicReverseTran" if transaction.is_reversal else "BasicTran") or {}
    for name in ("AuxDataInput", "AuxData", "Purchases"):
        found = found.get(name) or {}
    return [(line["Title"], Decimal(line["Price"]), Decimal(line["Quantity"])) for line in found]


def _exact(amount: Decimal, transaction: Transaction) -> str:
    """An amount that was not rounded: with the decimals of the currency, or more where it has more."""
    cut = amount.quantize(Decimal(1).scaleb(-transaction.currency.digits))
    return f"{cut if cut == amount else amount.normalize():,f}"


def _short(transaction: Transaction, merchant: str) -> str:
    """The receipt in one SMS: the currency by its code, because a sign would halve what a message holds."""
    currency = transaction.currency
    verb = {"RECEIPT": "paid", "CANCEL": "cancelled", "RETURN": "returned"}[_title(transaction)]
    amount = f"{currency.code} {money.from_minor(transaction.amount_minor, currency):f}"
    last4 = transaction.card.last4 if transaction.card else None
    means = f"card ..{last4}" if last4 else MEANS[transaction.input_type].lower()
    facts = f": {verb} {amount}, {means}, {_when(transaction)}, receipt {one_line(transaction.invoice)}"
    return merchant[: max(SMS_LENGTH - len(facts), 10)] + facts[: SMS_LENGTH - 10]
