"""Receipts: their content, and their words in each language. The other modules write it as text, HTML and SMS."""

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal, localcontext
from functools import cache
from pathlib import Path

from chalicelib.domain import money
from chalicelib.domain.business_days import to_local
from chalicelib.domain.phases import MONEY_TAKEN, Phase
from chalicelib.domain.printed_text import one_line
from chalicelib.domain.reversal import CANCELS
from chalicelib.domain.transaction import (
    PRECISION,
    EmvData,
    InputType,
    Purchase,
    Taxes,
    Transaction,
    language_of,
    sums_of,
)
from chalicelib.record import Record

FOLDER = Path(__file__).with_name("languages")
Words = Mapping[str, str]


@cache
def words_of(language: str) -> Words:
    """Return the words of a language by key; English for a language without a file."""
    words: Words = json.loads((FOLDER / f"{language_of(language)}.json").read_text(encoding="utf-8"))
    return words


def number(amount: Decimal, words: Words, *, grouped: bool = True) -> str:
    """Return an exact number in the language's form: 1,234.50 or 1 234,50."""
    text = f"{amount:,f}" if grouped else f"{amount:f}"
    marks = {",": words["group_mark"], ".": words["decimal_mark"]}
    return "".join(marks.get(character, character) for character in text)


def time(at: datetime, zone_hours: int, words: Words) -> str:
    """Return a local time in the language's form: 14 Mar 2026, 11:26 (UTC+2)."""
    month = words[f"month_{at.month}"]
    return words["time"].format(day=at.day, month=month, year=at.year, clock=f"{at:%H:%M}", zone=f"{zone_hours:+d}")


WITH_RECEIPT = MONEY_TAKEN | {Phase.REVERSAL_APPROVED}  # in these phases money moved
Fact = tuple[str, str]


class Line(Record):
    """One line of a purchase: its title, its quantity and price, its total, and its tax codes."""

    title: str
    detail: str
    amount: str
    taxes: str


class Receipt(Record):
    """The content of a receipt, in order. No character in it can break a line or a header."""

    language: str
    subject: str  # the e-mail's subject
    title: str
    merchant: str
    logo_key: str | None  # the name of the merchant's picture in object storage
    letterhead: tuple[str, ...]
    facts: tuple[Fact, ...]
    lines: tuple[Line, ...]
    totals: tuple[Fact, ...]  # the first is the total that people look for
    payment: tuple[Fact, ...]
    notes: tuple[str, ...]


def has_receipt(transaction: Transaction) -> bool:
    """Return whether money moved. A declined or pending transaction has no receipt."""
    return transaction.phase in WITH_RECEIPT


def receipt_of(transaction: Transaction) -> Receipt:
    """Return the receipt of a transaction in its language, with times in the merchant's zone."""
    with localcontext(prec=PRECISION):
        return _receipt(transaction, words_of(transaction.receipt.language))


def _receipt(transaction: Transaction, words: Words) -> Receipt:
    merchant = transaction.merchant
    title = words[f"{kind_of(transaction)}_title"]
    name = one_line(merchant.name)
    totals = _present(_totals(transaction, words))
    tax_id = words["tax_id"].format(number=merchant.tax_id) if merchant.tax_id else None
    notes = (
        transaction.particulars.description,
        words["not_completed"] if transaction.phase is Phase.AWAITING_COMPLETION else None,
        words["keep"],
    )
    return Receipt(
        language=transaction.receipt.language,
        subject=words["subject"].format(title=title, merchant=name, amount=totals[0][1]),
        title=title.upper(),
        merchant=name,
        logo_key=merchant.logo_key,
        letterhead=_each_on_one_line(merchant.address, merchant.phone, tax_id),
        facts=_present(_facts(transaction, words)),
        lines=tuple(_line(purchase, transaction, words) for purchase in transaction.receipt.purchases),
        totals=totals,
        payment=_present(_payment(transaction, words)),
        notes=_each_on_one_line(*notes),
    )


def kind_of(transaction: Transaction) -> str:
    """Return payment, cancel or return, the prefix of its words' keys."""
    if not transaction.is_reversal:
        return "payment"
    return "cancel" if transaction.original.mode in CANCELS else "return"


def time_of(transaction: Transaction, words: Words) -> str:
    """Return the time of the transaction, in the merchant's zone."""
    return time(to_local(transaction.date or transaction.created_at, transaction.gmt), transaction.gmt, words)


def _each_on_one_line(*texts: str | None) -> tuple[str, ...]:
    return tuple(one_line(text) for text in texts if text)


def _present(facts: list[tuple[str, str | None]]) -> tuple[Fact, ...]:
    return tuple((label, one_line(value)) for label, value in facts if value)


def _facts(transaction: Transaction, words: Words) -> list[tuple[str, str | None]]:
    return [
        (words["number"], transaction.invoice),
        (words["original_number"], transaction.original.invoice),
        (words["date"], time_of(transaction, words)),
        (words["tid"], transaction.terminal_name),
        (words["mid"], transaction.merchant.mid),
        (words["agent"], transaction.agent.name),
    ]


def _totals(transaction: Transaction, words: Words) -> list[tuple[str, str | None]]:
    lines_minor, goods_minor = sums_of(transaction.receipt.purchases, transaction.currency)
    difference = transaction.amount_minor - lines_minor if transaction.receipt.purchases else 0
    is_rounding = _is_rounding(transaction, lines_minor, goods_minor)
    goods_minor = max(lines_minor, goods_minor)
    got = None if transaction.is_reversal else transaction.amount_cash_got_minor
    taxes = transaction.receipt.taxes or Taxes()
    return [
        (
            words[f"{kind_of(transaction)}_total"].format(currency=transaction.currency.code),
            _amount(transaction.amount_minor, transaction, words),
        ),
        (words["purchases"], _number(goods_minor, transaction, words) if difference and not is_rounding else None),
        (words["rounding"], _number(difference, transaction, words) if difference and is_rounding else None),
        (words["cash"], None if got is None else _amount(got, transaction, words)),
        (words["change"], None if got is None else _amount(got - transaction.amount_minor, transaction, words)),
        (words["taxes"], ", ".join(taxes.codes)),
        (words["tax_scheme"], taxes.scheme),
    ]


def _is_rounding(transaction: Transaction, *sums_minor: int) -> bool:
    """Return whether the amount is the sum of the lines but for rounding, in cash to a coin."""
    coin = money.smallest_coin(transaction.currency) if transaction.input_type is InputType.CASH else 1
    return min(sums_minor) - coin < transaction.amount_minor < max(sums_minor) + coin


def _payment(transaction: Transaction, words: Words) -> list[tuple[str, str | None]]:
    card, emv = transaction.card, transaction.card_entry.emv or EmvData()
    return [
        (words[f"{kind_of(transaction)}_by"], words[f"kind_{transaction.input_type:d}"]),
        (card.brand if card else "", f"************{card.last4}" if card and card.last4 else None),
        (words["approval_code"], transaction.result.approval_code),
        (words["rrn"], transaction.result.rrn),
        (words["application"], emv.apn),
        (words["aid"], emv.aid),
        (words["tvr"], emv.tvr),
        (words["tsi"], emv.tsi),
        (words["transaction"], transaction.id),
    ]


def _line(purchase: Purchase, transaction: Transaction, words: Words) -> Line:
    quantity = number(purchase.quantity.normalize(), words)
    return Line(
        title=one_line(purchase.title),
        detail=f"  {quantity} x {_exact(purchase.price, transaction, words)}",
        amount=_number(money.rounded(purchase.total, transaction.currency), transaction, words),
        taxes=one_line(words["tax_code"].format(codes=", ".join(purchase.tax_codes))) if purchase.tax_codes else "",
    )


def _amount(amount_minor: int, transaction: Transaction, words: Words) -> str:
    """Return an amount with the sign of its currency: R 12.30."""
    return f"{transaction.currency.sign} {_number(amount_minor, transaction, words)}"


def _number(amount_minor: int, transaction: Transaction, words: Words) -> str:
    """Return an amount without the sign of its currency: 12.30."""
    return number(money.from_minor(amount_minor, transaction.currency), words)


def _exact(amount: Decimal, transaction: Transaction, words: Words) -> str:
    """Return an unrounded unit price, with at least the currency's decimals."""
    cut = amount.quantize(Decimal(1).scaleb(-transaction.currency.digits))
    return number(cut if cut == amount else amount.normalize(), words)
