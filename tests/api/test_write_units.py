"""What payments and their reversals write, in capacity units of DynamoDB."""

import json
from typing import Any

import pytest

from tests.support.cost import write_units
from tests.support.goods import Goods, a_goods_shop

CODES = [f"TAX{number:02d}" for number in range(12)]
TAXES = [{"Code": code, "Name": f"Tax {rate}", "Rate": 1 + rate} for rate, code in enumerate(CODES)]


def a_line(number: int, title: str, codes: list[str]) -> dict[str, Any]:
    return {"Title": f"{title} {number}", "Price": "1.00", "Quantity": "1", "TaxCode": codes}


FEW = [a_line(number, "Coffee", CODES[number : number + 1]) for number in range(3)]
EIGHT = [[*CODES, *CODES][number % 12 : number % 12 + 8] for number in range(100)]
HUNDRED = [a_line(number, "日" * 160, codes) for number, codes in enumerate(EIGHT)]
OF_LETTERS = [a_line(number, "x" * 500, codes) for number, codes in enumerate(EIGHT)]
LARGE: dict[str, Any] = {
    "ExtTransData": json.dumps({"order": "x" * 8000}),
    "Description": "日" * 1024,
    "ExtID": "order-" + "日" * 120,
}


def sold(goods: Goods, lines: list[dict[str, Any]] | None = None, **basic: Any) -> str:
    """Return the ID of a payment of R 100.00."""
    sent = {"AuxDataInput": {"AuxData": {"Purchases": lines}}} if lines else {}
    reply = goods.sell(**{"Amount": f"{len(lines) if lines else 100}.00", **sent, **basic})
    assert reply.error == (200, 0), reply.text
    payment: str = reply.body["TransactionID"]
    return payment


def units_of(goods: Goods, payment: str, *lines: dict[str, Any], amount: str | None = "0.10") -> float:
    """Return the write units of a reversal."""
    fields: dict[str, Any] = {"TransactionID": payment, "ReverseMode": 2}
    fields |= {"AuxDataInput": {"AuxData": {"Purchases": lines}}} if lines else {"Amount": amount}
    with write_units() as units:
        reply = goods.shop.post("/api/v1/payment/reverse", {"BasicReverseTran": fields}, goods.till)
    assert reply.error == (200, 0), reply.text
    return sum(number for _, number in units)


@pytest.mark.parametrize(
    ("lines", "basic"),
    [
        (FEW, {}),
        (HUNDRED, {}),
        (None, {"ExtTransData": LARGE["ExtTransData"]}),
        (None, {"Description": LARGE["Description"]}),
        (None, {"Description": "É" * 1024}),
        (OF_LETTERS, LARGE),
    ],
    ids=["few lines", "many lines", "data", "description", "capitals", "all"],
)
def test_a_reversal_writes_at_most_twice_what_one_of_a_small_payment_writes(
    stage_on_dynamodb_local: str, lines: list[dict[str, Any]] | None, basic: dict[str, Any]
) -> None:
    goods = a_goods_shop(stage_on_dynamodb_local, TAXES)
    small = units_of(goods, sold(goods, None, **({"ExtID": "1"} if "ExtID" in basic else {})))
    payment = sold(goods, lines, **basic)

    by_amount = [units_of(goods, payment, amount=amount) for amount in ("0.10", "0.20")]
    by_line = units_of(goods, payment, {**lines[-1], "Quantity": "0.5"}) if lines else 0

    assert max(*by_amount, by_line) <= 2 * small, (small, by_amount, by_line)


def test_a_reversal_of_half_of_a_hundred_lines_is_remembered_in_few_units(stage_on_dynamodb_local: str) -> None:
    goods = a_goods_shop(stage_on_dynamodb_local, TAXES)
    small = units_of(goods, sold(goods))
    payment = sold(goods, HUNDRED)

    costs = [units_of(goods, payment, amount="50.00"), units_of(goods, payment), units_of(goods, payment, HUNDRED[7])]

    assert max(costs) <= 2 * small, (small, costs)
