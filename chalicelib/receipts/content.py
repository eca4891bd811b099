"""Receipts: their content, and their words in each language. The other modules write it as text, HTML and SMS."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

from chalicelib.domain import money
from chalicelib.domain.business_days import to_local
from chalicelib.domain.kinds import KINDS, language_of, name_in
from chalicelib.domain.phases import Phase
from chalicelib.domain.printed_text import one_line
from chalicelib.domain.reversibility import CANCELS
from chalicelib.domain.taxes import TaxAmount, half_up
from chalicelib.domain.transaction import PRECISION, EmvData, Purchase, Taxes, Transaction, sums_of

FOLDER = Path(__file__).with_name("languages")
Words = Mapping[str, str]


@cache
def words_of(language: str) -> Words:
    """Return the words of a language by key, and the names of the kinds; English for a language without a file."""
    known = language_of(language)
    kinds = {f"kind_{number:d}": name_in(known, kind.names) for number, kind in KINDS.items()}
    words: Words = json.loads((FOLDER / f"{known}.json").read_text(encoding="utf-8"))
    return {**words, **kinds}


def number(amount: Decimal, words: Words, *, grouped: bool = True) -> str:
    """Return an exact number in the language's form: 1,234.50 or 1 234,50."""
    text = f"{amount:,f}" if grouped else f"{amount:f}"
    marks = {",": words["group_mark"], ".": words["decimal_mark"]}
    return "".join(marks.get(character, character) for character in text)


def time(at: datetime, zone_hours: int, words: Words) -> str:
    """Return a local time in the language's form: 14 Mar 2026, 11:26 (UTC+2)."""
    month = words[f"month_{at.month}"]
    return words["time"].format(day=at.day, month=month, year=at.year, clock=f"{at:%H:%M}", zone=f"{zone_hours:+d}")


Fact = tuple[str, str]


@dataclass(frozen=True)
class Line:
    """One line of a purchase: its title, its quantity and price, its total, its discount, and its tax codes."""

    title: str
    detail: str
    amount: str
    discount: Fact | None
    taxes: str


@dataclass(frozen=True)
class Receipt:
    """The content of a receipt, in order. No character in it can break a line or a header."""

    language: str
    subject: str  # the e-mail's subject
    title: str
    copy: str | None  # the word for a copy, below the title
    merchant: str
    logo_key: str | None  # the name of the merchant's picture in object storage
    letterhead: tuple[str, ...]
    facts: tuple[Fact, ...]
    lines: tuple[Line, ...]
    totals: tuple[Fact, ...]  # the first is the total that people look for
    taxes: tuple[Fact, ...]  # the name and rate of each tax, and its amounts
    payment: tuple[Fact, ...]
    notes: tuple[str, ...]


def receipt_of(transaction: Transaction, *, is_copy: bool = False) -> Receipt:
    """Return the receipt of a transaction in its language, with times in the merchant's zone."""
    with localcontext(prec=PRECISION):
        return _receipt(transaction, words_of(transaction.receipt.language), is_copy=is_copy)


def _receipt(transaction: Transaction, words: Words, *, is_copy: bool) -> Receipt:
    merchant = transaction.merchant
    title = words[f"{document_of(transaction)}_title"]
    name = one_line(merchant.name)
    totals = _present(_totals(transaction, words))
    tax_id = words["tax_id"].format(number=merchant.tax_number) if merchant.tax_number else None
    notes = (
        transaction.particulars.description,
        words["not_completed"] if transaction.phase is Phase.AWAITING_COMPLETION else None,
        merchant.note,
        words["keep"],
    )
    return Receipt(
        language=transaction.receipt.language,
        subject=words["subject"].format(title=title, merchant=name, amount=totals[0][1]),
        title=title if transaction.is_invoiced else title.upper(),  # an invoice has the words of the law
        copy=words["copy"] if is_copy else None,
        merchant=name,
        logo_key=merchant.logo_key,
        letterhead=_each_on_one_line(merchant.address, merchant.phone, tax_id),
        facts=_present(_facts(transaction, words)),
        lines=_lines(transaction, words),
        totals=totals,
        taxes=tuple(taxes_in(transaction, words, partial(_amount, transaction=transaction, words=words))),
        payment=_present(_payment(transaction, words)),
        notes=_each_on_one_line(*notes),
    )


def document_of(transaction: Transaction) -> str:
    """Return invoice, credit, payment, cancel or return, the prefix of its words' keys."""
    if not transaction.is_invoiced:
        return kind_of(transaction)
    return "credit" if transaction.is_reversal else "invoice"


def taxes_in(transaction: Transaction, words: Words, amount: Callable[[int], str]) -> Iterator[Fact]:
    """Yield each tax of a merchant with a tax number: its name and rate, and its amounts, written by `amount`."""
    for tax in _printed_taxes(transaction):
        if tax.gross_minor or tax.tax_minor:
            amounts = words["tax_amounts"].format(gross=amount(tax.gross_minor), tax=amount(tax.tax_minor))
            yield _named(tax, words), amounts


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
    document = document_of(transaction)
    return [
        (words.get(f"{document}_number", words["number"]), transaction.invoice),
        (words.get(f"{document}_original_number", words["original_number"]), transaction.original.invoice),
        (words["date"], time_of(transaction, words)),
        (words["tid"], transaction.terminal_name),
        (words["mid"], transaction.merchant.mid),
        (words["agent"], transaction.agent.name),
    ]


def _totals(transaction: Transaction, words: Words) -> list[tuple[str, str | None]]:
    purchases, amount_minor, currency = transaction.receipt.purchases, transaction.amount_minor, transaction.currency
    lines_minor, _ = sums_of(purchases, currency)
    difference = amount_minor - lines_minor if purchases else 0
    price_minor = transaction.price_minor
    is_rounding = price_minor == amount_minor
    got = None if transaction.is_reversal else transaction.amount_cash_got_minor
    taxes = transaction.receipt.taxes or Taxes()
    counted = {tax.code.lower() for tax in _printed_taxes(transaction)}
    off = () if transaction.is_reversal else purchases
    discounts = [money.rounded(one.discount, currency) for one in off if one.discount]
    return [
        (
            words[f"{kind_of(transaction)}_total"].format(currency=transaction.currency.code),
            _amount(transaction.amount_minor, transaction, words),
        ),
        (words["purchases"], _number(price_minor, transaction, words) if difference and not is_rounding else None),
        (words["discounts"], _number(-sum(discounts), transaction, words) if len(discounts) > 1 else None),
        (words["rounding"], _number(difference, transaction, words) if difference and is_rounding else None),
        (words["cash"], None if got is None else _amount(got, transaction, words)),
        (words["change"], None if got is None else _amount(got - transaction.amount_minor, transaction, words)),
        (words["taxes"], ", ".join(code for code in taxes.codes if code.lower() not in counted)),
        (words["tax_scheme"], taxes.scheme),
    ]


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


def _printed_taxes(transaction: Transaction) -> Sequence[TaxAmount]:
    """Return the taxes to print: without a tax number a seller may charge none."""
    return transaction.tax_amounts if transaction.merchant.tax_number else ()


def _named(tax: TaxAmount, words: Words) -> str:
    """Return the name and rate of a tax: VAT 15 %."""
    return words["tax"].format(name=one_line(tax.name), rate=number(tax.rate.normalize(), words))


def _lines(transaction: Transaction, words: Words) -> tuple[Line, ...]:
    lines = zip(transaction.receipt.purchases, _taxes_of_lines(transaction, words), strict=True)
    return tuple(_line(purchase, taxes, transaction, words) for purchase, taxes in lines)


def _line(purchase: Purchase, taxes: str, transaction: Transaction, words: Words) -> Line:
    quantity, sum_minor = number(purchase.quantity.normalize(), words), purchase.sum_in(transaction.currency)
    # A returned line shows what is given back of it.
    price_minor = sum_minor if transaction.is_reversal else money.rounded(purchase.total, transaction.currency)
    return Line(
        title=one_line(purchase.title),
        detail=f"{quantity} x {_exact(purchase.price, transaction, words)}",
        amount=_number(price_minor, transaction, words),
        discount=_discount(price_minor, price_minor - sum_minor, transaction, words),
        taxes=taxes,
    )


def _discount(price_minor: int, less_minor: int, transaction: Transaction, words: Words) -> Fact | None:
    """Return the discount on a line, with its percentage when it is a whole one."""
    if not less_minor:
        return None
    percent = half_up(Fraction(100 * less_minor, price_minor))
    is_percentage = half_up(Fraction(price_minor * percent, 100)) == less_minor
    label = words["discount"] + (f" {percent} %" if is_percentage else "")
    return label, _number(-less_minor, transaction, words)


def _taxes_of_lines(transaction: Transaction, words: Words) -> list[str]:
    """Return a text for each line: its counted taxes, unless all lines have the same, and the codes of the others."""
    purchases = transaction.receipt.purchases
    if transaction.is_reversal and transaction.tax_invoice is not None:
        return ["" for _ in purchases]  # a returned line has the taxes of the sold one, and its own codes mean nothing
    counted = {tax.code.lower(): _named(tax, words) for tax in _printed_taxes(transaction)}
    names = [[name for code, name in counted.items() if code in map(str.lower, one.tax_codes)] for one in purchases]
    if all(one == names[0] for one in names):
        names = [[] for _ in purchases]
    texts = []
    for purchase, known in zip(purchases, names, strict=True):
        others = ", ".join(code for code in purchase.tax_codes if code.lower() not in counted)
        texts.append(one_line(", ".join([*known, *([words["tax_code"].format(codes=others)] if others else [])])))
    return texts


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
