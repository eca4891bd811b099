"""A shop that sells goods from its price list, over HTTP: what it sells and what it takes back, by line."""

from dataclasses import dataclass
from typing import Any

from tests.support import http
from tests.support.builders import PASSWORD, Shop, a_shop
from tests.support.http import Reply
from tests.support.transactions import a_body

TAXES: list[dict[str, Any]] = [
    {"Code": "VAT15", "Name": "VAT", "Rate": 15},
    {"Code": "VAT0", "Name": "Zero-rated", "Rate": 0},
]


@dataclass(frozen=True)
class Goods:
    """A shop with its price list, and the login of a till."""

    shop: Shop
    till: tuple[str, str]
    agent_id: int

    @property
    def stage(self) -> str:
        return self.shop.stage

    def another_till(self, **changes: Any) -> "Goods":
        return _with_till(self.shop, **changes)

    def sell(self, *lines: str, **basic: Any) -> Reply:
        """Sell lines, in cash unless the fields say otherwise. Without Amount, it is the sum of the lines."""
        purchases = [a_line(line) for line in lines]
        amount = sum(float(line["Price"]) * float(line["Quantity"]) for line in purchases)
        body = a_body(**{"Amount": f"{amount:.2f}", "AuxDataInput": {"AuxData": {"Purchases": purchases}}} | basic)
        return self.shop.post("/api/v1/payment/submit", body, self.till)

    def give_back(self, paid: str, *lines: str, **basic: Any) -> Reply:
        """Return lines of a payment, or a part of it without lines; the rest without both."""
        fields = {"TransactionID": paid, "ReverseMode": 2, **basic}
        if lines:
            fields["AuxDataInput"] = {"AuxData": {"Purchases": [a_line(line) for line in lines]}}
        return self.shop.post("/api/v1/payment/reverse", {"BasicReverseTran": fields}, self.till)

    def takings(self, **body: Any) -> Any:
        return self.shop.post("/api/v1/report/takings", body).body

    def shown(self, transaction_id: str) -> Any:
        return http.get(self.stage, f"/api/v1/payment/{transaction_id}", self.till).body["Transactions"][0]

    def receipt(self, transaction_id: str) -> Any:
        return http.get(self.stage, f"/api/v1/payment/receipt/{transaction_id}", self.till).body["Receipt"]


def a_line(text: str) -> dict[str, Any]:
    """Return the line of a text such as `2 x Coffee 25.00 VAT15`."""
    quantity, title, price, *codes = text.replace(" x ", " ").split()
    return {"Title": title, "Price": price, "Quantity": quantity, "TaxCode": codes}


def a_goods_shop(stage: str, taxes: list[dict[str, Any]] | None = None, **changes: Any) -> Goods:
    shop = a_shop(stage, **changes)
    put_taxes(shop, taxes or TAXES)
    return _with_till(shop)


def put_taxes(shop: Shop, taxes: list[dict[str, Any]], version: int = 0) -> None:
    reply = shop.post(f"{shop.path}/pricelist/update", {"Version": version, "Taxes": taxes, "Items": []})
    assert reply.error == (200, 0), reply.text


def _with_till(shop: Shop, **changes: Any) -> Goods:
    agent = shop.agent(**{"TerminalID": shop.terminal()["ID"], **changes})
    return Goods(shop, (agent["Email"], PASSWORD), agent["ID"])


def taxes_of(transaction: dict[str, Any]) -> dict[str, tuple[str, str]] | None:
    """Return Gross and Tax of each code, as texts."""
    rows = transaction["TaxAmounts"]
    return rows and {row["Code"]: (str(row["Gross"]), str(row["Tax"])) for row in rows}
