"""The money of lines, and returns in any order and in any pieces, against an arithmetic of its own."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.kinds import InputType
from chalicelib.domain.money import Currency
from chalicelib.domain.paid_lines import paid_money, spread
from chalicelib.domain.returned_lines import by_amount, by_lines, remaining_lines, taxes_given_back
from chalicelib.domain.taxes import Tax, TaxedLine, taxes_of
from chalicelib.domain.transaction import Purchase, Reversals, Transaction
from chalicelib.errors import Check
from tests.support.shop_arithmetic import Line, Sold
from tests.support.transactions import a_payment

RAND, YEN, DINAR = Currency("ZAR", "710", 2), Currency("JPY", "392", 0), Currency("KWD", "414", 3)
RATES = {"VAT15": Decimal(15), "VAT0": Decimal(0), "LEVY": Decimal("2.1")}
TAXES = [Tax(code, code, rate) for code, rate in RATES.items()]
CODES = st.sampled_from([(), ("VAT15",), ("VAT0",), ("VAT15", "LEVY"), ("LEVY",)])


def a_purchase(minor: int, codes: tuple[str, ...] = (), quantity: int = 1, **changes: Any) -> Purchase:
    return Purchase("Tea", Decimal(minor) / 100, Decimal(quantity), codes, **changes)


@pytest.mark.parametrize(
    ("lines", "amount", "money"),
    [
        ([(1000, "A"), (500, "B")], 1500, [1000, 500]),
        ([(1000, "A"), (1000, "B"), (-500, "B")], 1500, [1000, 500, 0]),  # off its own kind
        ([(1000, "A"), (500, "A"), (-100, "")], 1400, [933, 467, 0]),  # of no kind: off all
        ([(1000, "A"), (100, "B"), (-300, "B")], 800, [800, 0, 0]),  # more than its own kind: off the others
        ([(100, "A"), (100, "A"), (100, "A"), (-100, "A")], 200, [66, 67, 67, 0]),
        ([(1, ""), (1, ""), (-1, ""), (-1, "")], 0, [0, 0, 0, 0]),  # never below zero
        ([(100, ""), (100, ""), (100, "")], 100, [34, 33, 33]),  # of equal remainders the first
        ([(1003, "A")], 1000, [1000]),
        ([(0, "A"), (0, "A")], 1, [1, 0]),  # each line is rounded to nothing, all together are not
    ],
)
def test_the_paid_money_of_lines(lines: list[tuple[int, str]], amount: int, money: list[int]) -> None:
    purchases = [a_purchase(minor, tuple(codes.split())) for minor, codes in lines]
    assert paid_money(purchases, amount, RAND) == money


def test_a_discount_is_of_its_line_alone() -> None:
    purchases = [a_purchase(2500, quantity=3, discount=Decimal("7.50")), a_purchase(1000)]
    assert paid_money(purchases, 7750, RAND) == [6750, 1000]


@given(st.lists(st.integers(0, 999), min_size=1, max_size=9), st.integers(0, 9999), st.data())
def test_what_is_spread_adds_up_and_no_part_is_above_its_most(
    weights: list[int], amount: int, data: st.DataObject
) -> None:
    most = [data.draw(st.integers(0, 2 * weight)) for weight in weights]
    parts = spread(amount, weights, most)

    room = sum(limit for limit, weight in zip(most, weights, strict=True) if weight)
    assert sum(parts) == min(amount, room)
    assert all(0 <= part <= limit for part, limit in zip(parts, most, strict=True))
    assert sum(spread(amount, weights)) == (amount if any(weights) else 0)


@st.composite
def sales(draw: st.DrawFn) -> tuple[Transaction, Sold]:
    """A payment of up to six lines, one of them perhaps below zero, in part or in full; and the same as arithmetic."""
    currency = draw(st.sampled_from([RAND, YEN, DINAR]))
    lines = []
    for number in range(draw(st.integers(1, 6))):
        price, quantity, codes = draw(st.integers(0, 5000)), draw(st.integers(1, 7)), draw(CODES)
        discount = draw(st.sampled_from([0, price * quantity // 10, price * quantity]))
        lines.append(Line(f"Item {number}", price, Fraction(quantity), codes, discount))
    worth = [one.minor - one.discount for one in lines]
    codes = draw(CODES)
    like = [one for one, line in zip(worth, lines, strict=True) if line.codes == codes]
    most = sum(like) if any(like) else sum(worth)
    if most and draw(st.booleans()):
        less = draw(st.integers(1, most))
        lines.append(Line("Off", -less, Fraction(1), codes))
        worth.append(-less)
    if sum(worth) <= 0:
        lines, worth = [Line("Tea", 100, Fraction(1))], [100]
    amount = draw(st.one_of(st.just(sum(worth)), st.integers(1, sum(worth))))
    purchases = _purchases(lines, currency)
    money = paid_money(purchases, amount, currency)
    taxed = [TaxedLine(part, one.tax_codes) for part, one in zip(money, purchases, strict=True)]
    payment = a_payment(amount_minor=amount, currency=currency, purchases=purchases, tax_amounts=taxes_of(taxed, TAXES))
    return payment, Sold(lines, amount, RATES)


def _purchases(lines: list[Line], currency: Currency) -> tuple[Purchase, ...]:
    unit = Decimal(1).scaleb(-currency.digits)
    return tuple(
        Purchase(one.title, one.price * unit, Decimal(int(one.quantity)), one.codes, one.discount * unit or None)
        for one in lines
    )


@given(sales(), st.data())
def test_a_sale_and_its_returns_in_any_order_agree_with_another_arithmetic(sale: Any, data: st.DataObject) -> None:
    payment, sold = sale
    remaining = remaining_lines(payment)
    assert [one.money_minor for one in remaining] == [one.money for one in sold.lines]
    assert {one.code: one.gross_minor for one in payment.tax_amounts} == (
        sold.gross_of_sale if any(sold.gross_of_sale.values()) else {}
    )
    assert {one.code: one.tax_minor for one in payment.tax_amounts} == (sold.tax_left if payment.tax_amounts else {})
    if not payment.tax_amounts:
        sold.tax_left = {}
    while payment.remaining_minor:
        remaining = remaining_lines(payment)
        with_quantity = [number for number, one in enumerate(sold.lines) if one.quantity and one.price >= 0]
        is_by_line = bool(with_quantity) and data.draw(st.booleans())
        if is_by_line:
            number = data.draw(st.sampled_from(with_quantity))
            quantity = data.draw(st.integers(1, int(sold.lines[number].quantity)))
            wanted = replace(payment.receipt.purchases[number], quantity=Decimal(quantity), tax_codes=(), discount=None)
            expected = sold.by_line(number, Fraction(quantity))
            sold.lines[number].quantity -= quantity
            returned = by_lines([wanted], None, remaining, payment)
            assert not returned.findings
            assert returned.quantities[number] == quantity
        else:
            amount = data.draw(st.integers(1, payment.remaining_minor))
            expected = sold.by_amount(amount)
            returned = by_amount(amount, remaining)
        taxes = taxes_given_back(payment, remaining, returned.money)
        assert list(returned.money) == expected
        assert {one.code: (one.gross_minor, one.tax_minor) for one in taxes} == sold.give_back(expected)
        payment = after(payment, returned.money, returned.quantities, {one.code: one.tax_minor for one in taxes})
        assert payment.remaining_minor == sold.left >= 0
        if not any(one.quantity for one in sold.lines if one.price >= 0) and not data.draw(st.booleans()):
            break
    assert all(one.money >= 0 for one in sold.lines)
    assert payment.remaining_minor or not any(sold.tax_left.values())


def after(payment: Transaction, money: Any, quantities: Any, taxes: dict[str, int]) -> Transaction:
    """Return the payment after a reversal, whose sums are in a mapping as the store has them."""
    back = dict(payment.reversals.given_back or {})
    numbers = {one.code: number for number, one in enumerate(payment.tax_amounts)}
    parts = [(f"money{number}", Decimal(part)) for number, part in enumerate(money)]
    parts += [(f"line{number}", part) for number, part in enumerate(quantities)]
    parts += [(f"tax{numbers[code]}", Decimal(part)) for code, part in taxes.items()]
    for name, part in parts:
        back[name] = back.get(name, Decimal()) + part
    taken = payment.reversals.amount_minor + sum(money)
    return replace(payment, reversals=Reversals(amount_minor=taken, given_back=back))


def a_sale(*purchases: Purchase, amount: int, kind: InputType = InputType.CASH) -> Transaction:
    return a_payment(amount_minor=amount, purchases=purchases, input_type=kind)


CUP, JAR = Purchase("Cup", Decimal("9.98"), Decimal(3)), Purchase("Jar", Decimal(20), Decimal(1))


@pytest.mark.parametrize(
    ("wanted", "amount", "kind", "money"),
    [
        ([replace(CUP, quantity=Decimal(1))], None, InputType.CASH, [998, 0]),
        ([replace(CUP, quantity=Decimal(1))], 1000, InputType.CASH, [1000, 0]),
        ([replace(CUP, quantity=Decimal(1))], 990, InputType.CASH, [990, 0]),
        ([replace(CUP, quantity=Decimal(1))], 1008, InputType.CASH, None),  # a coin more
        ([replace(CUP, quantity=Decimal(1))], 1000, InputType.PREPAID, None),  # rounded in cash alone
        ([CUP], 3000, InputType.CASH, [2994, 6]),  # more than its money: the rest comes from the other line
        ([CUP, JAR], 100, InputType.PREPAID, [60, 40]),  # all that remains, for less: as by amount
        ([replace(CUP, quantity=Decimal(2)), CUP], None, InputType.CASH, None),  # five of three
        ([replace(CUP, price=Decimal(1))], None, InputType.CASH, None),
    ],
)
def test_lines_come_to_their_money_and_only_cash_is_rounded(
    wanted: list[Purchase], amount: int | None, kind: InputType, money: list[int] | None
) -> None:
    payment = a_sale(CUP, JAR, amount=4994, kind=kind)
    returned = by_lines(wanted, amount, remaining_lines(payment), payment)

    assert (None if returned.findings else list(returned.money)) == money
    assert {one.code for one in returned.findings} <= {Check.CONTRADICTION}


def test_a_quantity_goes_on_from_one_equal_line_to_the_next() -> None:
    cheap = replace(CUP, quantity=Decimal(2), discount=Decimal("9.96"))
    payment = a_sale(cheap, JAR, CUP, amount=1000 + 2000 + 2994)
    returned = by_lines([CUP], None, remaining_lines(payment), payment)

    assert list(map(int, returned.quantities)) == [2, 0, 1]
    assert list(returned.money) == [1000, 0, 998]
    assert returned.lines == (replace(CUP, discount=Decimal("9.96")),)


def test_pieces_of_little_money_never_give_back_more_than_was_paid() -> None:
    """A hundred sweets at 0.50, for which 20.00 were paid, one at a time."""
    payment = a_sale(Purchase("Sweet", Decimal("0.50"), Decimal(100)), amount=2000)
    back = []
    for _ in range(100):
        one = replace(payment.receipt.purchases[0], quantity=Decimal(1))
        returned = by_lines([one], None, remaining_lines(payment), payment)
        back.append(returned.amount_minor)
        payment = after(payment, returned.money, returned.quantities, {})

    assert (sum(back), set(back), payment.remaining_minor) == (2000, {20}, 0)
