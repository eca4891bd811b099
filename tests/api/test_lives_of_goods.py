"""Lives of sales over HTTP: discounts, rounded cash, parts paid, returns by line and by amount, in any order.

Another arithmetic says what each return gives back, what remains, and what the reports say at the end."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from tests.support.export_files import rows_of
from tests.support.goods import Goods, a_goods_shop
from tests.support.shop_arithmetic import Line, Sold, half_up
from tests.support.transactions import a_guid

RATES = {"VAT15": Decimal(15), "VAT0": Decimal(0), "LEVY": Decimal("2.1")}
CODES = [("VAT15",), ("VAT0",), (), ("VAT15", "LEVY"), ("vat15",)]
CURRENCIES = {
    "ZAR": ("710", 2, 10),
    "JPY": ("392", 0, 1),
    "KWD": ("414", 3, 1),
    "CHF": ("756", 2, 5),
    "SEK": ("752", 2, 100),
}


class Shop:
    """A shop that sells and takes back in cash in one currency, and what its reports must say."""

    def __init__(self, stage: str, currency: str, seed: int) -> None:
        number, self.digits, self.coin = CURRENCIES[currency]
        self.currency = currency
        taxes = [{"Code": code, "Name": code, "Rate": str(rate)} for code, rate in RATES.items()]
        goods = a_goods_shop(stage, taxes)
        self.goods: Goods = goods.another_till(TerminalID=goods.shop.terminal(Currency=number)["ID"])
        self.chance = Random(seed)  # noqa: S311  no secret: a seed to find a life by
        self.taken = Counter[str]()
        self.taxes = Counter[tuple[str | None, int]]()

    def text(self, minor: int) -> str:
        return f"{Decimal(minor).scaleb(-self.digits):f}"

    def minor(self, amount: Any) -> int:
        return int(Decimal(str(amount)).scaleb(self.digits))

    def count(self, row: dict[str, tuple[int, int]], lines: list[tuple[int, tuple[str, ...]]], sign: int) -> None:
        """Add a payment (1) or a reversal (-1) to what the report of taxes must say."""
        for code, amounts in row.items():
            for place, minor in enumerate(amounts):
                self.taxes[code, place] += sign * minor
        self.taxes[None, 0] += sign * sum(money for money, codes in lines if not codes)

    def sell(self) -> tuple[str, Sold, list[dict[str, Any]]]:
        lines = []
        for number in range(self.chance.randint(1, 4)):
            codes, price = self.chance.choice(CODES), self.chance.randint(1, 9000)
            line = Line(f"Item {number}", price, Fraction(self.chance.randint(1, 9)), codes)
            line.discount = self.chance.choice([0, 0, half_up(Fraction(line.minor, 10)), line.minor // 3])
            lines.append(line)
        worth = sum(one.minor - one.discount for one in lines)
        less = self.chance.randint(0, worth // 3)
        if less and self.chance.random() < 0.4:
            like = self.chance.choice(lines)
            less = min(less, sum(one.minor - one.discount for one in lines if one.codes == like.codes)) or 1
            lines.append(Line("Off", -less, Fraction(1), like.codes))
            worth -= less
        amount = self.chance.choice([worth, worth - worth % self.coin or worth, max(worth // 2, 1)])
        purchases = [
            {
                "Title": one.title,
                "Price": self.text(one.price),
                "Quantity": str(int(one.quantity)),
                "TaxCode": list(one.codes),
                **({"Discount": self.text(one.discount)} if one.discount else {}),
            }
            for one in lines
        ]
        basic = {"Amount": self.text(amount), "AuxDataInput": {"AuxData": {"Purchases": purchases}}}
        reply = self.goods.sell(CurrencyID=self.currency, **basic)
        assert reply.error == (200, 0), reply.text
        for one in lines:
            one.codes = tuple(map(str.upper, one.codes))
        sold = Sold(lines, amount, RATES)
        row = {code: (sold.gross_of_sale[code], sold.tax_left[code]) for code in sold.tax_left}
        if not any(gross for gross, _ in row.values()):
            row, sold.tax_left = {}, {}
        assert self.shown(reply.body["Transaction"]) == row
        self.taken["Amount"] += amount
        self.taken["Discounts"] += sum(one.discount for one in lines) - sum(one.minor for one in lines if one.price < 0)
        self.count(row, [(one.money, one.codes) for one in lines], 1)
        for one in lines:
            one.quantity = one.quantity if one.price > 0 else Fraction(0)
        return reply.body["TransactionID"], sold, purchases

    def shown(self, transaction: dict[str, Any]) -> dict[str, tuple[int, int]]:
        rows = transaction["TaxAmounts"] or []
        return {one["Code"]: (self.minor(one["Gross"]), self.minor(one["Tax"])) for one in rows}

    def give_back(self, paid: str, sold: Sold, purchases: list[dict[str, Any]]) -> None:
        open_lines = [number for number, one in enumerate(sold.lines) if one.quantity and one.money]
        basic: dict[str, Any] = {"ID": a_guid()}
        if open_lines and self.chance.random() < 0.7:
            number = self.chance.choice(open_lines)
            quantity = self.chance.randint(1, int(sold.lines[number].quantity))
            money = sold.by_line(number, Fraction(quantity))
            line = {**purchases[number], "Quantity": str(quantity), "TaxCode": ["LEVY"], "Discount": None}
            basic["AuxDataInput"] = {"AuxData": {"Purchases": [line]}}
            if sum(money):
                sold.lines[number].quantity -= quantity
        else:
            amount = self.chance.randint(1, sold.left)
            money = sold.by_amount(amount)
            basic |= {"Amount": self.text(amount), "PartialReverse": None}
        reply = self.goods.give_back(paid, **basic)
        if not sum(money):
            assert reply.findings == [("BasicReverseTran.Amount", 5)]
            return
        lines = [(part, one.codes) for part, one in zip(money, sold.lines, strict=True)]
        row = sold.give_back(money)
        assert reply.error == (200, 0), reply.text
        assert self.minor(reply.body["Transaction"]["Amount"]) == sum(money)
        assert self.shown(reply.body["Transaction"]) == row
        self.taken["AmountReversed"] += sum(money)
        self.count(row, lines, -1)


@pytest.mark.parametrize(("currency", "seed"), [(one, seed) for seed, one in enumerate(CURRENCIES)])
def test_what_a_shop_gives_back_and_reports_agrees_with_another_arithmetic(
    stage: str, currency: str, seed: int
) -> None:
    shop = Shop(stage, currency, seed)
    for _ in range(6):
        paid, sold, purchases = shop.sell()
        for _ in range(shop.chance.randint(0, 6)):
            if sold.left:
                shop.give_back(paid, sold, purchases)
        shown = shop.goods.shown(paid)
        assert shop.minor(shown["AmountEff"]) == sold.left

    report = shop.goods.takings()
    for name in ("Amount", "Discounts", "AmountReversed"):
        assert sum(shop.minor(row[name]) for row in report["Takings"]) == shop.taken[name]
    found = {
        (row["Code"], at): shop.minor(row[name]) for row in report["Taxes"] for at, name in enumerate(("Gross", "Tax"))
    }
    assert {key: minor for key, minor in found.items() if minor} == {key: n for key, n in shop.taxes.items() if n}
    again = sum(shop.taxes[code, 0] for code in (*RATES, None)) - shop.taken["Amount"] + shop.taken["AmountReversed"]
    assert again == 0 or shop.taxes["LEVY", 0] == again  # a line with two taxes counts in both
    rows = rows_of(shop.goods.shop.post("/api/v1/report/export", {}).body["Url"])
    assert sum(shop.minor(row["Amount"]) for row in rows) == shop.taken["Amount"] - shop.taken["AmountReversed"]
    assert sum(shop.minor(row["Discounts"] or 0) for row in rows) == shop.taken["Discounts"]
    taxes = sum(minor for (_, at), minor in shop.taxes.items() if at)
    assert sum(shop.minor(row["TaxTotal"] or 0) for row in rows) == taxes
