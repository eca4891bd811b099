"""Taxes of payments and reversals, against an arithmetic of its own."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.taxes import Tax, TaxAmount, TaxedLine, named, needs_buyer, scaled, share_of, taxes_of

VAT = Tax(code="VAT15", name="VAT", rate=Decimal(15))
ZERO = Tax(code="VAT0", name="Zero-rated", rate=Decimal(0))
LEVY = Tax(code="Levy", name="Sugar levy", rate=Decimal("2.1"))
KNOWN = (VAT, ZERO, LEVY)
CODES = st.lists(st.sampled_from(["VAT15", "vat15", "VAT0", "LEVY", "OTHER"]), max_size=4).map(tuple)
LINES = st.lists(st.builds(TaxedLine, amount_minor=st.integers(-9_999, 99_999), codes=CODES), min_size=1, max_size=8)


def amounts(rows: tuple[TaxAmount, ...]) -> dict[str, tuple[int, int]]:
    return {row.code: (row.gross_minor, row.tax_minor) for row in rows}


@pytest.mark.parametrize(
    ("lines", "amount", "expected"),
    [
        ([(15950, "VAT15")], 15950, {"VAT15": (15950, 2080)}),
        ([(115, "vat15"), (115, "Vat15")], 230, {"VAT15": (230, 30)}),  # once for the code, not 15 for each line
        ([(1000, "VAT15 vat15")], 1000, {"VAT15": (1000, 130)}),  # a code twice
        ([(11710, "VAT15 LEVY")], 11710, {"VAT15": (11710, 1500), "Levy": (11710, 210)}),  # both are in the price
        ([(1000, "VAT15"), (500, "VAT0")], 1500, {"VAT15": (1000, 130), "VAT0": (500, 0)}),
        ([(1000, "VAT15"), (500, "NEW"), (250, "")], 1750, {"VAT15": (1000, 130)}),
        ([(1000, "VAT15"), (1000, "VAT0"), (1000, "LEVY")], 100, {"VAT15": (34, 4), "VAT0": (33, 0), "Levy": (33, 1)}),
        ([(1003, "VAT15")], 1000, {"VAT15": (1000, 130)}),  # cash is rounded
        ([(2000, "VAT15"), (-1000, "VAT0")], 1000, {"VAT15": (2000, 261), "VAT0": (-1000, 0)}),
        ([(1000, "VAT15"), (-1000, "VAT15"), (500, "")], 500, {}),
        ([(0, "VAT15"), (0, "VAT0")], 1, {}),  # nothing is in proportion to lines that are rounded to nothing
    ],
)
def test_taxes_of_lines(lines: list[tuple[int, str]], amount: int, expected: dict[str, tuple[int, int]]) -> None:
    taxed = [TaxedLine(minor, tuple(codes.split())) for minor, codes in lines]
    assert amounts(taxes_of(taxed, amount, KNOWN)) == expected


@pytest.mark.parametrize(("gross", "tax"), [(23, 3), (-23, -3), (4, 1), (-4, -1), (3, 0)])
def test_a_half_is_rounded_away_from_zero(gross: int, tax: int) -> None:
    """Of 23 cents 3 are tax, of 4 cents 0.52; of 3 cents 0.39."""
    [row] = taxes_of([TaxedLine(gross, ("VAT15",)), TaxedLine(100)], gross + 100, KNOWN)
    assert row.tax_minor == tax
    half = Tax(code="H", name="Half", rate=Decimal(100))
    assert [taxes_of([TaxedLine(n, ("H",)), TaxedLine(9)], 9 + n, [half])[0].tax_minor for n in (1, -1)] == [1, -1]


@given(lines=LINES, data=st.data())
def test_taxes_agree_with_another_arithmetic(lines: list[TaxedLine], data: st.DataObject) -> None:
    total = sum(line.amount_minor for line in lines)
    rows = taxes_of(lines, total, KNOWN)
    for tax in KNOWN:
        own = [line for line in lines if tax.code.lower() in {code.lower() for code in line.codes}]
        exact = Fraction(0)
        for line in own:
            rates = [one.rate for one in KNOWN if one.code.lower() in {code.lower() for code in line.codes}]
            exact += Fraction(line.amount_minor) * Fraction(tax.rate) / (100 + Fraction(sum(rates)))
        found = [row for row in rows if row.code == tax.code]
        assert [row.gross_minor for row in found] in ([], [sum(line.amount_minor for line in own)])
        assert all(abs(row.tax_minor - exact) <= Fraction(1, 2) for row in found)
    shuffled = data.draw(st.permutations(lines))
    assert taxes_of(shuffled, total, KNOWN) == rows


def test_the_largest_remainder_gains_and_of_equal_ones_the_first() -> None:
    assert scaled([100, 101, 102], 100) == [33, 33, 34]
    assert scaled([100, 100, 100], 100) == [34, 33, 33]


def test_an_invoice_names_its_buyer_above_the_limit_of_the_country() -> None:
    prices = (("ZAR", 500_000), ("ZAR", 500_001), ("USD", 1))

    assert [needs_buyer("ZA", *price) for price in prices] == [False, True, True]


@given(st.lists(st.integers(-9_999, 99_999), min_size=1, max_size=9), st.integers(1, 10**9))
def test_scaled_amounts_add_up(parts: list[int], total: int) -> None:
    result = scaled(parts, total)
    if sum(parts) > 0:
        assert sum(result) == total
        assert all(abs(one - Fraction(part * total, sum(parts))) < 1 for part, one in zip(parts, result, strict=True))
    else:
        assert result == ([0] * len(parts) if sum(parts) != total else parts)


@given(lines=LINES, data=st.data())
def test_shares_of_any_returns_add_up_to_the_payment(lines: list[TaxedLine], data: st.DataObject) -> None:
    """Returns without lines, and returns of a line at its full price, in any order until nothing is left."""
    total = sum(line.amount_minor for line in lines)
    if total <= 0:
        return
    whole = taxes_of(lines, total, KNOWN)
    codes = [row.code for row in whole]
    back = Counter[tuple[str, str]]()
    given_minor = 0
    while given_minor < total:
        part = data.draw(st.integers(1, total - given_minor))
        line = data.draw(st.sampled_from([None, *lines]))
        if line is not None and given_minor + part < total:
            rows = taxes_of([replace_amount(line, part)], part, whole)
        else:
            earlier = {f"{what}{codes.index(code)}": Decimal(amount) for (what, code), amount in back.items()}
            rows = share_of(whole, earlier, until_minor=given_minor + part, whole_minor=total)
        given_minor += part
        for row in rows:
            back["gross", row.code] += row.gross_minor
            back["tax", row.code] += row.tax_minor
    assert {row.code: (back["gross", row.code], back["tax", row.code]) for row in whole} == amounts(whole)


def test_amounts_are_named_by_the_place_of_their_tax_in_the_payment() -> None:
    whole = [TaxAmount(tax.code, tax.name, tax.rate, 100, 13) for tax in KNOWN]
    rows = [TaxAmount("Levy", "Sugar levy", Decimal("2.1"), 50, 1), TaxAmount("VAT0", "Zero-rated", Decimal(0), 7, 0)]

    assert named(rows, whole) == {"gross2": 50, "tax2": 1, "gross1": 7}


def replace_amount(line: TaxedLine, amount_minor: int) -> TaxedLine:
    return TaxedLine(amount_minor, line.codes)
