"""Taxes of payments and reversals. Prices include their taxes. Pure functions, exact until they round each tax once."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

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
class FormerTax:
    """A tax that a price list took away or changed at a time. Without a rate: there was no such tax until then."""

    code: str
    name: str
    until: datetime
    rate: Decimal | None = None


TILL_KNOWS_FOR = timedelta(days=1)  # a till may still have the former list


def needs_former(known: Sequence[Tax], changed_at: datetime | None, codes: Iterable[str], at: datetime) -> bool:
    """Return whether the taxes of a sale at a time may be others than the known ones, which changed last at a time."""
    if changed_at is None or at >= changed_at + TILL_KNOWS_FOR:
        return False
    return at < changed_at or not {code.lower() for code in codes} <= {tax.code.lower() for tax in known}


def in_force(known: Sequence[Tax], former: Iterable[FormerTax], at: datetime) -> tuple[Tax, ...]:
    """Return the taxes that counted at a time, also one taken away in the day before it. Before all, the first ones."""
    found = {tax.code.lower(): tax for tax in known}
    for one in sorted(former, key=lambda one: one.until, reverse=True):
        code = one.code.lower()
        if one.until > at:
            found.pop(code, None)
        if one.rate is not None and one.until > at - TILL_KNOWS_FOR:
            found.setdefault(code, Tax(one.code, one.name, one.rate))
    return tuple(found.values())


@dataclass(frozen=True)
class TaxAmount:
    """A tax in an amount of money: `tax_minor` is contained in `gross_minor`, the part of the amount that has it."""

    code: str
    name: str
    rate: Decimal  # a percentage
    gross_minor: int
    tax_minor: int
    IS_ROW: ClassVar = True  # it is stored as one text


@dataclass(frozen=True)
class TaxedLine:
    """The money of a line in minor units, and the codes of its taxes as they were sent."""

    money_minor: int
    codes: tuple[str, ...] = ()

    def counted(self, known: Iterable[Tax | TaxAmount]) -> frozenset[str]:
        """Return the codes of its taxes among the known ones, in lower case."""
        return frozenset(tax.code.lower() for tax in known) & {code.lower() for code in self.codes}


def taxes_of(lines: Sequence[TaxedLine], known: Sequence[Tax]) -> tuple[TaxAmount, ...]:
    """Return the taxes in the money of lines, in the order of the `known` taxes.

    Codes are compared without case; unknown ones do not count. Return none when every gross amount is zero.
    """
    rates = {tax.code.lower(): Fraction(tax.rate) for tax in known}
    gross_of = Counter[frozenset[str]]()
    for line in lines:
        gross_of[line.counted(known)] += line.money_minor
    rows = []
    for tax in known:
        code = tax.code.lower()
        of_tax = {codes: gross for codes, gross in gross_of.items() if code in codes}
        if of_tax:
            exact = sum(gross * rates[code] / (100 + sum(map(rates.__getitem__, one))) for one, gross in of_tax.items())
            rows.append(TaxAmount(tax.code, tax.name, tax.rate, sum(of_tax.values()), half_up(exact)))
    return tuple(rows) if any(row.gross_minor for row in rows) else ()


def taxed_again(lines: Iterable[TaxedLine], known: Sequence[Tax | TaxAmount]) -> int:
    """Return the money that counts once more in the gross amounts: a line with two taxes counts in both."""
    return sum(line.money_minor * max(len(line.counted(known)) - 1, 0) for line in lines)


def half_up(exact: Fraction | int) -> int:
    """Return the nearest whole number; a half goes away from zero."""
    nearest = int(abs(Fraction(exact)) + Fraction(1, 2))
    return nearest if exact >= 0 else -nearest
