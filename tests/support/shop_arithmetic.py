"""What a shop takes and gives back for lines of goods: an arithmetic apart from the service's, with fractions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import floor


def half_up(exact: Fraction) -> int:
    """Round a number that is not below zero."""
    return floor(exact + Fraction(1, 2))


def shared(amount: int, weights: Sequence[int]) -> list[int]:
    """Share an amount by largest remainder, one unit after another to who lacks most."""
    exact = [Fraction(amount * weight, sum(weights)) for weight in weights]
    parts = [floor(one) for one in exact]
    while sum(parts) < amount:
        lacks = [one - part for one, part in zip(exact, parts, strict=True)]
        parts[lacks.index(max(lacks))] += 1
    return parts


@dataclass
class Line:
    """A sold line: the price of a piece in minor units; `quantity` and `money` are what remains of it."""

    title: str
    price: int
    quantity: Fraction
    codes: tuple[str, ...] = ()
    discount: int = 0
    money: int = 0

    @property
    def minor(self) -> int:
        """Return its sum without a discount, while all of it remains."""
        return half_up(self.price * self.quantity) if self.price > 0 else -half_up(-self.price * self.quantity)


@dataclass
class Sold:
    """A payment of lines with an amount, and what was given back of it."""

    lines: list[Line]
    amount: int
    rates: dict[str, Decimal]
    tax_left: dict[str, int] = field(default_factory=dict)
    gross_of_sale: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Spread at most one line below zero over its like, else over all; scale to the amount; compute the taxes."""
        sums = [max(one.minor - one.discount, 0) for one in self.lines]
        for one in self.lines:
            if one.minor < 0:
                like = [n if other.codes == one.codes else 0 for n, other in zip(sums, self.lines, strict=True)]
                less = shared(-one.minor, like if any(like) else sums)
                sums = [n - part for n, part in zip(sums, less, strict=True)]
        for one, money in zip(self.lines, shared(self.amount, sums), strict=True):
            one.money = money
        for code in self.rates:
            own = [one for one in self.lines if code in one.codes]
            if own:
                self.gross_of_sale[code] = sum(one.money for one in own)
                self.tax_left[code] = half_up(sum((self._tax(code, one) for one in own), Fraction()))

    def _tax(self, code: str, line: Line) -> Fraction:
        rates = [self.rates[one] for one in line.codes if one in self.rates]
        return one_tax(line.money, self.rates[code], rates)

    @property
    def left(self) -> int:
        """Return the money that remains."""
        return sum(one.money for one in self.lines)

    def give_back(self, money: Sequence[int]) -> dict[str, tuple[int, int]]:
        """Take money from each line, and return gross and tax of each code that has any of it."""
        rows = {}
        for code in self.tax_left:
            gross = sum(one.money for one in self.lines if code in one.codes)
            back = sum(part for part, one in zip(money, self.lines, strict=True) if code in one.codes)
            if back:
                rows[code] = back, half_up(Fraction(self.tax_left[code] * back, gross))
                self.tax_left[code] -= rows[code][1]
        for one, part in zip(self.lines, money, strict=True):
            one.money -= part
        return rows

    def by_amount(self, amount: int) -> list[int]:
        """Return what an amount takes of each line."""
        return shared(amount, [one.money for one in self.lines])

    def by_line(self, number: int, quantity: Fraction) -> list[int]:
        """Return what a quantity of a line takes of each line."""
        line = self.lines[number]
        worth = half_up(line.money * quantity / line.quantity)
        return [worth if one is line else 0 for one in self.lines]


def one_tax(money: int, rate: Decimal, rates: Sequence[Decimal]) -> Fraction:
    """Return the exact tax in the money of a line with several taxes in its price."""
    net = Fraction(money) / (1 + Fraction(sum(rates)) / 100)
    return net * Fraction(rate) / 100
