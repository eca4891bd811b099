"""Taxes of payments and reversals. Prices include their taxes. Pure functions, exact until they round each tax once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

# The price of a sale, in minor units with its taxes, up to which the law of a country lets a tax invoice leave out the
# buyer, and its currency. Countries that are not named have no such limit here.
# ZA: Value-Added Tax Act 89 of 1991, section 20(4) and (5): R 5,000, in the currency of the Republic.
WITHOUT_BUYER = {"ZA": ("ZAR", 500_000)}


def needs_buyer(country: str, currency: str, price_minor: int) -> bool:
    """Return whether a tax invoice of this country (alpha-2) must name the buyer, or may not be in this currency."""
    own, most_minor = WITHOUT_BUYER.get(country, (currency, price_minor))
    return currency != own or price_minor > most_minor


@dataclass(frozen=True)
class Tax:
    """A tax that prices include; `rate` is a percentage. Codes are compared without case."""

    code: str
    name: str
    rate: Decimal


@dataclass(frozen=True)
class TaxAmount:
    """A tax in an amount of money: `tax_minor` is contained in `gross_minor`, the part of the amount that has it."""

    code: str
    name: str
    rate: Decimal  # a percentage
    gross_minor: int
    tax_minor: int


@dataclass(frozen=True)
class TaxedLine:
    """The amount of a line, and the codes of its taxes as they were sent."""

    amount_minor: int
    codes: tuple[str, ...] = ()


def taxes_of(
    lines: Sequence[TaxedLine], amount_minor: int, known: Sequence[Tax] | Sequence[TaxAmount]
) -> tuple[TaxAmount, ...]:
    """Return the taxes of lines that were paid with an amount, in the order of the `known` taxes.

    Codes are compared without case; unknown ones do not count. Return none when every gross amount is zero.
    """
    rates = {tax.code.lower(): Fraction(tax.rate) for tax in known}
    gross_of = Counter[frozenset[str]]()
    for amount, line in zip(scaled([line.amount_minor for line in lines], amount_minor), lines, strict=True):
        gross_of[frozenset(rates.keys() & {code.lower() for code in line.codes})] += amount
    rows = []
    for tax in known:
        code = tax.code.lower()
        of_tax = {codes: gross for codes, gross in gross_of.items() if code in codes}
        if of_tax:
            exact = sum(gross * rates[code] / (100 + sum(map(rates.__getitem__, one))) for one, gross in of_tax.items())
            rows.append(TaxAmount(tax.code, tax.name, tax.rate, sum(of_tax.values()), _rounded(exact)))
    return tuple(rows) if any(row.gross_minor for row in rows) else ()


def scaled(amounts: Sequence[int], total: int) -> list[int]:
    """Return amounts that add up to `total`, in proportion, by the largest remainder; of equal ones the first gains.

    Amounts that add up to zero or less have no proportion: return zeros.
    """
    was = sum(amounts)
    if was == total:
        return list(amounts)
    if was <= 0:
        return [0] * len(amounts)
    parts = [divmod(amount * total, was) for amount in amounts]
    gaining = sorted(range(len(parts)), key=lambda number: -parts[number][1])[: total - sum(part for part, _ in parts)]
    return [part + (number in gaining) for number, (part, _) in enumerate(parts)]


def share_of(
    whole: Sequence[TaxAmount], given_back: Mapping[str, Decimal], *, until_minor: int, whole_minor: int
) -> tuple[TaxAmount, ...]:
    """Return the taxes that a reversal gives back: the share of all reversals in the payment's, less the earlier ones.

    `until_minor` is given back with this reversal, of `whole_minor`. So the last reversal takes all that remains of
    each tax. `given_back` is as `named` returns it.
    """
    part = Fraction(until_minor, whole_minor)
    rows = tuple(
        TaxAmount(
            *(tax.code, tax.name, tax.rate),
            gross_minor=_rounded(tax.gross_minor * part) - int(given_back.get(f"gross{number}", 0)),
            tax_minor=_rounded(tax.tax_minor * part) - int(given_back.get(f"tax{number}", 0)),
        )
        for number, tax in enumerate(whole)
    )
    return rows if any(row.gross_minor or row.tax_minor for row in rows) else ()


def named(rows: Sequence[TaxAmount], whole: Sequence[TaxAmount]) -> dict[str, Decimal]:
    """Return the amounts of taxes by name: gross0, tax0 for the first tax of the `whole` payment, and so on."""
    numbers = {tax.code: number for number, tax in enumerate(whole)}
    amounts = {f"gross{numbers[row.code]}": row.gross_minor for row in rows}
    amounts |= {f"tax{numbers[row.code]}": row.tax_minor for row in rows}
    return {name: Decimal(amount) for name, amount in amounts.items() if amount}


def _rounded(exact: Fraction | int) -> int:
    """Return the nearest whole number; a half goes away from zero."""
    nearest = int(abs(Fraction(exact)) + Fraction(1, 2))
    return nearest if exact >= 0 else -nearest
