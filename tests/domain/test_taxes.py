"""Taxes of payments and reversals, against an arithmetic of its own."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.returned_lines import taxes_back
from chalicelib.domain.taxes import (
    FormerTax,
    Tax,
    TaxAmount,
    TaxedLine,
    in_force,
    needs_buyer,
    needs_former,
    taxed_again,
    taxes_of,
)
from tests.support.shop_arithmetic import one_tax

VAT = Tax(code="VAT15", name="VAT", rate=Decimal(15))
ZERO = Tax(code="VAT0", name="Zero-rated", rate=Decimal(0))
LEVY = Tax(code="Levy", name="Sugar levy", rate=Decimal("2.1"))
KNOWN = (VAT, ZERO, LEVY)
CODES = st.lists(st.sampled_from(["VAT15", "vat15", "VAT0", "LEVY", "OTHER"]), max_size=4).map(tuple)
LINES = st.lists(st.builds(TaxedLine, money_minor=st.integers(0, 99_999), codes=CODES), min_size=1, max_size=8)


def amounts(rows: tuple[TaxAmount, ...]) -> dict[str, tuple[int, int]]:
    return {row.code: (row.gross_minor, row.tax_minor) for row in rows}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([(15950, "VAT15")], {"VAT15": (15950, 2080)}),
        ([(115, "vat15"), (115, "Vat15")], {"VAT15": (230, 30)}),  # once for the code, not 15 for each line
        ([(1000, "VAT15 vat15")], {"VAT15": (1000, 130)}),  # a code twice
        ([(11710, "VAT15 LEVY")], {"VAT15": (11710, 1500), "Levy": (11710, 210)}),  # both are in the price
        ([(1000, "VAT15"), (500, "VAT0")], {"VAT15": (1000, 130), "VAT0": (500, 0)}),
        ([(1000, "VAT15"), (500, "NEW"), (250, "")], {"VAT15": (1000, 130)}),
        ([(0, "VAT15"), (500, "")], {}),
    ],
)
def test_taxes_of_lines(lines: list[tuple[int, str]], expected: dict[str, tuple[int, int]]) -> None:
    taxed = [TaxedLine(minor, tuple(codes.split())) for minor, codes in lines]
    assert amounts(taxes_of(taxed, KNOWN)) == expected


@pytest.mark.parametrize(("gross", "tax"), [(23, 3), (4, 1), (3, 0)])
def test_a_half_is_rounded_up(gross: int, tax: int) -> None:
    """Of 23 cents 3 are tax, of 4 cents 0.52; of 3 cents 0.39."""
    [row] = taxes_of([TaxedLine(gross, ("VAT15",)), TaxedLine(100)], KNOWN)
    assert row.tax_minor == tax


@given(lines=LINES, data=st.data())
def test_taxes_agree_with_another_arithmetic(lines: list[TaxedLine], data: st.DataObject) -> None:
    rows = taxes_of(lines, KNOWN)
    for tax in KNOWN:
        own = [line for line in lines if tax.code.lower() in {code.lower() for code in line.codes}]
        exact = Fraction(0)
        for line in own:
            rates = [one.rate for one in KNOWN if one.code.lower() in {code.lower() for code in line.codes}]
            exact += one_tax(line.money_minor, tax.rate, rates)
        found = [row for row in rows if row.code == tax.code]
        assert [row.gross_minor for row in found] in ([], [sum(line.money_minor for line in own)])
        assert all(abs(row.tax_minor - exact) <= Fraction(1, 2) for row in found)
    taxed_once = sum(line.money_minor for line in lines if {code.lower() for code in line.codes} - {"other"})
    assert sum(row.gross_minor for row in rows) - taxed_again(lines, KNOWN) == taxed_once
    shuffled = data.draw(st.permutations(lines))
    assert taxes_of(shuffled, KNOWN) == rows


def test_an_invoice_names_its_buyer_above_the_limit_of_the_country() -> None:
    prices = (("ZAR", 500_000), ("ZAR", 500_001), ("USD", 1))

    assert [needs_buyer("ZA", *price) for price in prices] == [False, True, True]


def test_a_return_has_its_share_of_the_tax_that_is_left_and_the_last_one_all_of_it() -> None:
    whole = [TaxAmount("VAT15", "VAT", Decimal(15), 1000, 130), TaxAmount("VAT0", "Zero", Decimal(0), 500, 0)]
    left = [TaxedLine(600, ("VAT15",)), TaxedLine(500, ("vat0",)), TaxedLine(100)]

    def back(*money: int) -> dict[str, tuple[int, int]]:
        returned = [TaxedLine(part, line.codes) for part, line in zip(money, left, strict=True)]
        return amounts(taxes_back(whole, left, returned, [77, 0]))

    assert back(100, 0, 0) == {"VAT15": (100, 13)}
    assert back(600, 500, 100) == {"VAT15": (600, 77), "VAT0": (500, 0)}
    assert back(0, 0, 100) == {}


AT = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)
DAY = timedelta(days=1)
OLD = FormerTax("VAT15", "VAT", AT, Decimal(14))
FIRST = FormerTax("vat15", "VAT", AT - 30 * DAY, Decimal(13))
GONE = FormerTax("EXTRA", "Extra", AT, Decimal(1))
ABSENT = FormerTax("extra", "", AT - 30 * DAY)


@pytest.mark.parametrize(
    ("when", "rates"),
    [
        (-31 * DAY, {"vat15": 13}),  # before a code was added
        (-30 * DAY, {"vat15": 14, "extra": 1}),
        (-timedelta(seconds=1), {"vat15": 14, "extra": 1}),
        (timedelta(), {"vat15": 15, "extra": 1}),
        (DAY - timedelta(seconds=1), {"vat15": 15, "extra": 1}),  # a till may have the former list
        (DAY, {"vat15": 15}),
    ],
)
def test_the_taxes_of_a_sale_are_those_of_its_time(when: timedelta, rates: dict[str, int]) -> None:
    found = {one.code.lower(): one.rate for one in in_force([VAT], [GONE, FIRST, ABSENT, OLD], AT + when)}

    assert found == rates
    is_other = when < timedelta() or (when < DAY and "extra" in rates)
    assert needs_former([VAT], AT, ["vat15", "EXTRA"], AT + when) is is_other
    assert needs_former([VAT], AT, ["Vat15"], AT + when) is (when < timedelta())
    assert not needs_former([VAT], None, ["EXTRA"], AT + when)
