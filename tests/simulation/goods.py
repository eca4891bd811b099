"""Goods with taxes, which some scenarios sell: the lines of payments and returns.

Every payment sells two coffees and a cake. Its amount decides their prices. Some returns name a coffee.
"""

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from zlib import crc32

from chalicelib.domain.taxes import Tax
from tests.support.shop_arithmetic import Line, Sold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.simulation.scenario_script import Act

TAXES = (Tax(code="VAT15", name="VAT", rate=Decimal(15)), Tax(code="Levy", name="Levy", rate=Decimal("2.1")))
# Taxes that the owner changes to: other rates, another order, a code more or less, another case, and none.
CHANGED = (
    (Tax(code="VAT15", name="VAT", rate=Decimal("15.5")), TAXES[1]),
    (TAXES[1], Tax(code="VAT15", name="VAT", rate=Decimal(16))),
    (Tax(code="vat15", name="VAT", rate=Decimal(15)),),
    (*TAXES, Tax(code="Other", name="Sugar", rate=Decimal("7.25"))),
    (),
)
CODES_OF_COFFEE, CODES_OF_CAKE = ("vat15",), ("VAT15", "LEVY", "OTHER")
COFFEES = 2  # in each payment
OFF_CAKE = 100  # the discount on a cake, in cents


def coffee(amount: int) -> int:
    """Return the price of a coffee in a payment of this amount: equal for amounts that differ by a cent."""
    return amount // 10 * 3


def lines_of(amount: int) -> dict[str, Any]:
    """Return the lines of a payment; its sum is the amount."""
    cake = amount - COFFEES * coffee(amount) + OFF_CAKE
    lines = _lines(("Coffee", coffee(amount), COFFEES, CODES_OF_COFFEE), ("Cake", cake, 1, CODES_OF_CAKE))
    lines["AuxData"]["Purchases"][1]["Discount"] = f"{OFF_CAKE / 100:.2f}"
    return lines


def sold(amount: int, rates: dict[str, Decimal]) -> Sold:
    """Return the same payment as another arithmetic has it."""
    cake = amount - COFFEES * coffee(amount)
    lines = (("Coffee", coffee(amount), COFFEES, CODES_OF_COFFEE), ("Cake", cake, 1, CODES_OF_CAKE))
    return Sold(
        [Line(title, price, Fraction(number), tuple(map(str.upper, codes))) for title, price, number, codes in lines],
        amount,
        rates,
    )


def returned_line(amount: int) -> dict[str, Any]:
    """Return the line of a return of this amount: one coffee."""
    return _lines(("Coffee", amount, 1, ()))


def _lines(*lines: tuple[str, int, int, tuple[str, ...]]) -> dict[str, Any]:
    return {
        "AuxData": {
            "Purchases": [
                {"Title": title, "Price": f"{price / 100:.2f}", "Quantity": str(quantity), "TaxCode": codes}
                for title, price, quantity, codes in lines
            ]
        }
    }


def sell_goods(acts: "Sequence[Act]") -> None:
    """Let all payments of a scenario sell goods, and about every second return of a part give back one coffee."""
    paid = {act.label: act.facts["amount"] for act in reversed(acts) if act.kind == "pay"}
    for act in acts:
        if act.kind in {"pay", "sign"}:
            act.facts["goods"] = True
        elif act.kind == "reverse" and act.facts["mode"] == "return" and act.facts.get("amount") and act.label in paid:
            wish = f"{act.facts.get('id')}{act.facts.get('time')}{act.facts['amount']}"
            if crc32(wish.encode()) % 2:
                act.facts.update(amount=coffee(paid[act.label]), coffee=True)
