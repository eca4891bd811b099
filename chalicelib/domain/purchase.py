"""Purchases: the lines of what was bought, as a receipt prints them."""

from collections.abc import Iterable
from decimal import Decimal, localcontext

from chalicelib.record import Record

PRECISION = 64  # digits: no price times a quantity that a request may hold is rounded


class Purchase(Record):
    """One line of what was bought; `price` is of one piece."""

    title: str
    price: Decimal
    quantity: Decimal
    tax_codes: tuple[str, ...] = ()

    @property
    def total(self) -> Decimal:
        """Return the exact price of the line."""
        with localcontext(prec=PRECISION):
            return self.price * self.quantity


class Taxes(Record):
    """The taxes of a whole payment, as the till named them."""

    codes: tuple[str, ...] = ()
    scheme: str | None = None


def total_of(purchases: Iterable[Purchase]) -> Decimal:
    """Return the exact sum of the lines."""
    with localcontext(prec=PRECISION):
        return sum((purchase.total for purchase in purchases), Decimal())
