"""Taxes of what is sold and given back, through HTTP."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain.acquirer import AcquirerAnswer
from chalicelib.domain.business_days import text_of
from tests.support.builders import PASSWORD, a_shop
from tests.support.cards import STEADY, a_card_body
from tests.support.cost import store_calls, write_units
from tests.support.export_files import rows_of
from tests.support.goods import TAXES, Goods, a_goods_shop, a_line, put_taxes, taxes_of
from tests.support.http import Reply
from tests.support.intercepted_calls import broken
from tests.support.transactions import a_guid

LINES = "BasicReverseTran.AuxDataInput.AuxData.Purchases"
COFFEES, CAKE, MILK = "2 x Coffee 25.00 vat15", "1 x Cake 45.90 VAT15", "3 x Milk 12.00 VAT0"


LINES_SOLD = "BasicTran.AuxDataInput.AuxData.Purchases"
EXTRA = {"Code": "EXTRA", "Name": "Extra", "Rate": 1}
DAY, HOUR, SECOND = (timedelta(**{unit: 1}) for unit in ("days", "hours", "seconds"))


@pytest.fixture
def goods(stage: str) -> Goods:
    return a_goods_shop(stage)


def test_a_payment_has_the_taxes_of_its_lines(goods: Goods) -> None:
    sold = goods.sell(COFFEES, CAKE, MILK).body["Transaction"]

    assert sold["TaxAmounts"] == [
        {"Code": "VAT15", "Name": "VAT", "Rate": 15, "Gross": Decimal("95.90"), "Tax": Decimal("12.51")},
        {"Code": "VAT0", "Name": "Zero-rated", "Rate": 0, "Gross": 36, "Tax": 0},
    ]
    assert goods.shown(sold["ID"])["TaxAmounts"] == sold["TaxAmounts"]


def test_a_payment_without_lines_has_the_taxes_that_it_names(goods: Goods) -> None:
    def pay(**body: Any) -> Any:
        basic = {"InputType": 10, "Amount": "159.50", **body.pop("BasicTran", {})}
        sent = {"BasicTran": basic, "TaxesModel": {"Taxes": ["vat15", "OTHER"]}, **body}
        return goods.shop.post("/api/v1/payment/submit", sent, goods.till).body["Transaction"]

    assert taxes_of(pay()) == {"VAT15": ("159.50", "20.80")}
    assert taxes_of(pay(TaxesModel=None)) is None
    line = {"Title": "Milk", "Price": "159.50", "Quantity": "1", "TaxCode": ["VAT0"]}
    assert taxes_of(pay(BasicTran={"AuxDataInput": {"AuxData": {"Purchases": [line]}}})) == {"VAT0": ("159.50", "0.00")}


def test_a_changed_rate_changes_no_stored_payment(goods: Goods) -> None:
    first = goods.sell(COFFEES).body["Transaction"]
    put_taxes(goods.shop, [{"Code": "VAT15", "Name": "VAT", "Rate": "15.5"}], version=1)
    second = goods.sell(COFFEES).body["Transaction"]
    back = goods.give_back(first["ID"], "1 x Coffee 25 IGNORED").body["Transaction"]

    assert goods.shown(first["ID"])["TaxAmounts"] == first["TaxAmounts"]
    assert taxes_of(second) == {"VAT15": ("50.00", "6.71")}
    assert taxes_of(back) == {"VAT15": ("25.00", "3.26")}
    rates = [(str(row["Rate"]), str(row["Gross"]), str(row["Tax"])) for row in goods.takings()["Taxes"]]
    assert rates == [("15", "25.00", "3.26"), ("15.5", "50.00", "6.71")]


def test_the_rates_are_those_of_the_time_of_the_sale(goods: Goods) -> None:
    began = outside.now()

    def sell(now: datetime, paid: datetime | None = None, code: str = "VAT15") -> Reply:
        line = {"AuxDataInput": {"AuxData": {"Purchases": [a_line(f"1 x Tea 115.00 {code}")]}}}
        offline = {"OfflineMode": True, "Paid": text_of(paid, 2), "Invoice": a_guid()} if paid else None
        with outside.given(now=lambda: now):
            return goods.sell(Amount="115.00", OfflineTran=offline, **line)

    lists = [{**TAXES[0], "Rate": 14}, EXTRA], [TAXES[0], EXTRA], TAXES[:1]
    for version, taxes in enumerate(lists, start=1):
        with outside.given(now=lambda at=began + version * DAY: at):
            put_taxes(goods.shop, taxes, version)
    now = began + 3 * DAY + HOUR
    in_force = {
        -5 * DAY: "15.00",  # before the first list, whose rate was 15
        HOUR: "15.00",
        DAY + HOUR: "14.12",
        2 * DAY + HOUR: "15.00",
    }
    found = {after: taxes_of(sell(now, began + after).body["Transaction"]) for after in in_force}
    assert found == {after: {"VAT15": ("115.00", tax)} for after, tax in in_force.items()}

    of_yesterdays_list = sell(now, code="EXTRA")
    assert taxes_of(of_yesterdays_list.body["Transaction"]) == {"EXTRA": ("115.00", "1.14")}
    assert of_yesterdays_list.body["Validations"] is None
    too_old = sell(now + DAY, code="EXTRA")
    assert taxes_of(too_old.body["Transaction"]) is None
    assert too_old.findings == [(f"{LINES_SOLD}[0].TaxCode[0]", 6)]
    assert taxes_of(sell(now + DAY, now, "EXTRA").body["Transaction"]) == {"EXTRA": ("115.00", "1.14")}


def test_a_tax_that_a_slow_clock_took_away_counts_by_its_last_rate(goods: Goods) -> None:
    began = outside.now()
    for version, (seconds, taxes) in enumerate([(2, [{**TAXES[0], "Rate": 14}]), (1, [])], start=1):
        with outside.given(now=lambda at=began + seconds * SECOND: at):
            put_taxes(goods.shop, taxes, version)
    with outside.given(now=lambda: began + HOUR):
        sold = goods.sell("1 x Tea 115.00 VAT15")

    assert taxes_of(sold.body["Transaction"]) == {"VAT15": ("115.00", "14.12")}


def test_a_code_that_was_never_known_is_carried_and_told_once(goods: Goods) -> None:
    sold = goods.sell("1 x Tea 10.00 NEW VAT15", "1 x Bun 10.00 NEW", "1 x Jam 10.00 OTHER")
    again = goods.sell(
        "1 x Tea 10.00 NEW VAT15", "1 x Bun 10.00 NEW", "1 x Jam 10.00 OTHER", ID=sold.body["TransactionID"]
    )
    whole = goods.shop.post(
        "/api/v1/payment/submit",
        {"BasicTran": {"InputType": 10, "Amount": "5"}, "TaxesModel": {"Taxes": ["VAT0", "NEW"]}},
        goods.till,
    )

    told = [(f"{LINES_SOLD}[0].TaxCode[0]", 6), (f"{LINES_SOLD}[2].TaxCode[0]", 6)]
    assert (sold.error, sold.findings, again.findings) == ((200, 0), told, told)
    assert {one["Type"] for one in sold.body["Validations"]} == {2}
    assert (whole.error, whole.findings) == ((200, 0), [("TaxesModel.Taxes[1]", 6)])


def test_a_shop_without_taxes_is_told_nothing_and_reports_all_its_money(stage: str) -> None:
    shop = a_shop(stage)
    agent = shop.agent(TerminalID=shop.terminal()["ID"])
    goods = Goods(shop, (agent["Email"], PASSWORD), agent["ID"])
    sold = goods.sell("1 x Tea 10.00 NEW")

    assert (sold.body["Validations"], sold.body["Transaction"]["TaxAmounts"]) == (None, None)
    [row] = goods.takings()["Taxes"]
    assert (row["Code"], row["Name"], row["Rate"], row["Gross"], row["Tax"]) == (None, None, None, 10, 0)


@pytest.mark.parametrize(
    ("line", "discount", "finding"),
    [
        ("2 x Tea 10.00", "20.01", 5),
        ("2 x Tea 10.00", "0.001", 7),
        ("2 x Tea 10.00", "-0.01", 5),
        ("2 x Tea 10.00", "ten", 3),
        ("1 x Off -1.00", "0.01", 5),
        ("2 x Tea 10.00", "20.00", None),
        ("2 x Tea 10.00", 0.5, None),
    ],
)
def test_a_discount_is_at_most_its_line(goods: Goods, line: str, discount: Any, finding: int | None) -> None:
    lines = [a_line("1 x Cake 45.90"), {**a_line(line), "Discount": discount}]
    reply = goods.sell(Amount="40.00", AuxDataInput={"AuxData": {"Purchases": lines}})

    assert reply.findings == ([(f"{LINES_SOLD}[1].Discount", finding)] if finding else [])


def test_discounts_lower_the_price_and_are_reported(goods: Goods) -> None:
    lines = [
        {**a_line("2 x Tea 10.00 VAT15"), "Discount": "5.00"},
        a_line("1 x Cake 45.90 VAT15"),
        a_line("1 x Off -0.90"),
    ]
    basic = {"AuxDataInput": {"AuxData": {"Purchases": lines}}}
    assert goods.sell(Amount="60.10", **basic).findings == [("BasicTran.Amount", 12)]
    sold = goods.sell(Amount="60.00", **basic).body["Transaction"]
    goods.give_back(sold["ID"], "1 x Tea 10")

    [row] = goods.takings()["Takings"]
    assert (row["Amount"], row["Discounts"], row["AmountReversed"]) == (60, Decimal("5.90"), Decimal("7.39"))
    assert taxes_of(sold) == {"VAT15": ("60.00", "7.83")}


def test_what_is_left_to_pay_is_reported_and_cash_that_is_rounded_is_not_left(goods: Goods) -> None:
    lines = [{**a_line("2 x Tea 50.00 VAT15"), "Discount": "0.50"}, a_line("1 x Cake 60.03")]
    basic = {"AuxDataInput": {"AuxData": {"Purchases": lines}}}
    deposit = goods.sell(Amount="59.50", **basic).body["Transaction"]
    rounded = goods.sell(Amount="159.50", **basic).body["Transaction"]
    goods.sell(Amount="7.00")
    goods.give_back(deposit["ID"], Amount="9.50")
    receipts = [goods.receipt(one["ID"]) for one in (deposit, rounded)]

    [row] = goods.takings()["Takings"]
    assert (row["Amount"], row["Discounts"], row["LeftToPay"]) == (226, 1, Decimal("100.03"))
    assert [one["LinesTotal"] for one in receipts] == [Decimal("159.53"), Decimal("159.50")]
    line = {"Title": "Tea", "Quantity": 2, "Price": 50, "Discount": Decimal("0.50"), "Amount": Decimal("99.50")}
    cake = {"Title": "Cake", "Quantity": 1, "Price": Decimal("60.03"), "Discount": None, "Amount": Decimal("60.03")}
    left = [[(one.pop("RemainingQuantity"), one.pop("RemainingAmount")) for one in got["Lines"]] for got in receipts]
    assert [one["Lines"] for one in receipts] == [[line, cake]] * 2
    assert left == [
        [(2, Decimal("31.18")), (1, Decimal("18.82"))],
        [(2, Decimal("99.48")), (1, Decimal("60.02"))],
    ]


def test_returns_by_line_and_by_amount_give_back_every_cent_of_tax(goods: Goods) -> None:
    sold = goods.sell(COFFEES, CAKE, MILK).body["Transaction"]
    by_line = goods.give_back(sold["ID"], "1 x Coffee 25", "2 x Milk 12.0").body["Transaction"]
    by_amount = goods.give_back(sold["ID"], Amount="10.00").body["Transaction"]
    receipts = [goods.receipt(one["ID"]) for one in (sold, by_line)]
    rest = goods.give_back(sold["ID"]).body["Transaction"]

    left, of_return = ([(one["RemainingQuantity"], one["RemainingAmount"]) for one in got["Lines"]] for got in receipts)
    assert left == [(1, Decimal("21.99")), (1, Decimal("40.36")), (1, Decimal("10.55"))]
    assert of_return == [(None, None)] * 2
    assert (by_line["Amount"], taxes_of(by_line)) == (49, {"VAT15": ("25.00", "3.26"), "VAT0": ("24.00", "0.00")})
    assert taxes_of(by_amount) == {"VAT15": ("8.55", "1.12"), "VAT0": ("1.45", "0.00")}
    for field in ("Gross", "Tax"):
        back = [sum(row[field] for row in one["TaxAmounts"]) for one in (by_line, by_amount, rest)]
        assert sum(back) == sum(row[field] for row in sold["TaxAmounts"])
    assert goods.takings()["Taxes"] == []


def test_the_last_return_by_line_gives_back_what_remains_of_each_tax(goods: Goods) -> None:
    lines = ["1 x Tea 1.04 VAT15", "1 x Bun 1.04 VAT15", "1 x Jam 1.04 VAT0"]
    sold = goods.sell(*lines).body["Transaction"]
    back = [goods.give_back(sold["ID"], line).body["Transaction"] for line in lines]

    assert sum(row["Tax"] for one in back for row in one["TaxAmounts"]) == Decimal("0.27")
    assert goods.takings()["Taxes"] == []


@pytest.mark.parametrize(
    ("lines", "basic", "findings"),
    [
        (["3 x Coffee 25"], {}, [(f"{LINES}[0].Quantity", 12)]),
        (["1 x Coffee 25", "2 x Coffee 25"], {}, [(f"{LINES}[1].Quantity", 12)]),
        (["1 x Cake 45.90", "1 x Coffee 24"], {}, [(f"{LINES}[1].Quantity", 12)]),
        (["1 x Coffee 25"], {"Amount": "24.89", "PartialReverse": True}, [("BasicReverseTran.Amount", 12)]),
        (["1 x Coffee 25"], {"PartialReverse": True}, []),
    ],
)
def test_no_line_gives_back_more_than_was_sold(
    goods: Goods, lines: list[str], basic: dict[str, Any], findings: list[tuple[str, int]]
) -> None:
    sold = goods.sell(COFFEES, CAKE).body["TransactionID"]
    reply = goods.give_back(sold, *lines, **basic)

    assert (reply.error, reply.findings) == ((400, 202), findings) if findings else ((200, 0), [])
    assert goods.shown(sold)["CountRvs"] == (0 if findings else 1)


def test_a_line_comes_to_what_a_return_by_amount_left_of_it(goods: Goods) -> None:
    sold = goods.sell(COFFEES, CAKE).body["TransactionID"]
    goods.give_back(sold, Amount="60.00")

    assert goods.give_back(sold, "2 x Coffee 25", "1 x Cake 45.90", Amount="36.00").error == (409, 304)
    assert goods.give_back(sold, "1 x Cake 45.90").body["Transaction"]["Amount"] == Decimal("17.18")
    assert goods.give_back(sold, "2 x Coffee 25").body["Transaction"]["Amount"] == Decimal("18.72")


def test_a_line_of_a_payment_that_is_reversed_in_full_is_refused_as_the_payment_is(goods: Goods) -> None:
    sold = goods.sell(CAKE).body["TransactionID"]
    goods.give_back(sold, "1 x Cake 45.90", ID=a_guid())

    assert goods.give_back(sold, "1 x Cake 45.90", ID=a_guid()).error == (409, 305)


def test_all_lines_of_a_rounded_sale_give_back_what_was_paid(goods: Goods) -> None:
    """Odoo's trackers: a rounded cash sale whose refund is rounded again."""
    sold = goods.sell("1 x Cake 45.93 VAT15", Amount="45.90").body["Transaction"]
    back = goods.give_back(sold["ID"], "1 x Cake 45.93", Amount="45.90").body["Transaction"]

    assert (back["Amount"], back["TaxAmounts"]) == (sold["Amount"], sold["TaxAmounts"])


def test_a_declined_return_leaves_its_lines_and_taxes_to_the_next(goods: Goods) -> None:
    lines = {"AuxDataInput": {"AuxData": {"Purchases": [a_line(COFFEES), a_line(MILK)]}}}
    sale = a_card_body("86.00", STEADY, basic=lines)
    sold = goods.shop.post("/api/v1/payment/submit", sale, goods.till).body["TransactionID"]
    part = {"TransactionID": sold, "ReverseMode": 5, "AuxDataInput": {"AuxData": {"Purchases": [a_line(COFFEES)]}}}

    def give_back() -> Any:
        tran = {**part, "ID": a_guid()}
        return goods.shop.post("/api/v1/payment/reversecnp", {"BasicReverseTran": tran}, goods.till).body

    with broken(reverse=lambda *_: AcquirerAnswer(5, "Do not honour")):
        declined = give_back()
    again = give_back()

    assert (declined["ErrorCode"], again["ErrorCode"]) == (1005, 0)
    assert taxes_of(again["Transaction"]) == {"VAT15": ("50.00", "6.52")}
    assert goods.shown(sold)["AmountRvs"] == 50


def test_a_second_return_of_another_line_is_no_repeat(goods: Goods) -> None:
    sold = goods.sell(COFFEES, "1 x Tea 25 VAT15").body["TransactionID"]
    first, again, other = (goods.give_back(sold, f"1 x {title} 25") for title in ("Coffee", "Coffee", "Tea"))

    ids = [one.body["TransactionReverseID"] for one in (first, again, other)]
    assert (ids[0] == ids[1], ids[1] == ids[2]) == (True, False)


def test_a_key_that_returned_another_line_is_refused(goods: Goods) -> None:
    sold = goods.sell(COFFEES, "1 x Tea 25 VAT15").body["TransactionID"]
    names = {"ID": a_guid()}
    first, again, other = (goods.give_back(sold, f"1 x {title} 25", **names) for title in ("Coffee", "Coffee", "Tea"))

    assert [one.error for one in (first, again, other)] == [(200, 0), (200, 0), (422, 302)]
    assert first.body["TransactionReverseID"] == again.body["TransactionReverseID"]


def test_lines_of_a_payment_without_lines_come_to_its_amount(goods: Goods) -> None:
    sold = goods.sell(Amount="30.00", AuxDataInput=None).body["TransactionID"]

    assert goods.give_back(sold, "1 x Coffee 25", Amount="24.00").findings == [("BasicReverseTran.Amount", 12)]
    assert goods.give_back(sold, "1 x Coffee 25").body["Transaction"]["Amount"] == 25


def test_a_name_that_reads_like_two_taxes_counts_apart(goods: Goods) -> None:
    both = [{"Code": "A", "Name": "x", "Rate": 1}, {"Code": "B", "Name": "y", "Rate": 2}]
    for version, (taxes, code) in enumerate(
        [([{"Code": "A", "Name": "x 1 B y", "Rate": 2}], "A"), (both, "A B")], start=1
    ):
        put_taxes(goods.shop, taxes, version=version)
        goods.sell(f"1 x Tea 103.00 {code}")

    assert sorted((one["Name"], one["Rate"]) for one in goods.takings()["Taxes"]) == [
        ("x", 1),
        ("x 1 B y", 2),
        ("y", 2),
    ]


@pytest.mark.parametrize("field", ["Code", "Name", "Rate"])
def test_taxes_that_differ_in_one_field_count_apart(goods: Goods, field: str) -> None:
    before = {"Code": "VAT", "Name": "VAT", "Rate": 15}
    for version, tax in enumerate([before, {**before, field: {"Rate": 14}.get(field, "OTHER")}], start=1):
        put_taxes(goods.shop, [tax], version=version)
        goods.sell(f"1 x Tea 115.00 {tax['Code']}")

    assert [row["Gross"] for row in goods.takings()["Taxes"]] == [115, 115]


def test_a_line_is_given_back_once_by_tills_at_once(goods: Goods) -> None:
    sold = goods.sell("5 x Coffee 25.10 VAT15", "1 x Cake 45.90").body["TransactionID"]

    def give_back(_: int) -> Reply:
        return goods.give_back(sold, "1 x Coffee 25.1", ID=a_guid())

    with ThreadPoolExecutor(8) as tills:
        replies = list(tills.map(give_back, range(8)))
    done = [one.body["Transaction"] for one in replies if one.status == 200]

    assert len(done) == 5
    assert {one.findings[0][1] for one in replies if one.status == 400} == {12}
    assert sum(row["Tax"] for one in done for row in one["TaxAmounts"]) == Decimal("16.37")
    rest = goods.give_back(sold).body["Transaction"]
    assert (rest["Amount"], taxes_of(rest)) == (Decimal("45.90"), None)


@pytest.mark.parametrize(
    ("number", "currency", "unit"), [("710", "ZAR", ".00"), ("392", "JPY", ""), ("048", "BHD", "")]
)
def test_an_export_has_the_taxes_of_the_money_that_moved(stage: str, number: str, currency: str, unit: str) -> None:
    taxes = [*TAXES, {"Code": "-Levy", "Name": "Levy", "Rate": "0.125"}]
    goods = a_goods_shop(stage, taxes)
    goods = goods.another_till(TerminalID=goods.shop.terminal(Currency=number)["ID"])
    sold = goods.sell(
        f"2 x Coffee 2500{unit} vat15", f"1 x Cake 4590{unit} VAT15", f"3 x Milk 1200{unit} VAT0", CurrencyID=currency
    )
    paid = sold.body["Transaction"]
    others = [
        goods.give_back(paid["ID"], f"1 x Coffee 2500{unit}"),
        goods.give_back(paid["ID"], Amount=f"10{unit}"),
        goods.give_back(paid["ID"]),
        goods.sell(f"1 x Bag 500{unit} -LEVY", CurrencyID=currency),
        goods.sell(f"1 x Bag 500{unit}", CurrencyID=currency),
    ]
    goods.sell(f"3 x Coffee 2500{unit} VAT15", CurrencyID=currency)
    rows = {row["ID"]: row for row in rows_of(goods.shop.post("/api/v1/report/export", {}).body["Url"])}

    for one in (paid, *(other.body["Transaction"] for other in others)):
        row, taxes = rows[one["ID"]], one["TaxAmounts"] or []
        sign = -1 if row["Kind"] == "reversal" else 1
        amounts = [(sign * tax["Tax"] + 0, sign * tax["Gross"] + 0) for tax in taxes]
        texts = [
            f"{tax['Code']} {tax['Rate']} % {part} of {of}" for tax, (part, of) in zip(taxes, amounts, strict=True)
        ]
        assert row["TaxText"].removeprefix("'") == "; ".join(texts)
        assert row["TaxTotal"] == (str(sum(part for part, _ in amounts)) if taxes else "")
    assert rows[others[3].body["TransactionID"]]["TaxText"].startswith("'-Levy 0.125 % ")
    assert {row["Currency"] for row in rows.values()} == {currency}
    net = sum(Decimal(row["TaxTotal"] or 0) for row in rows.values())
    assert net == sum(row["Tax"] for row in goods.takings()["Taxes"]) != 0


def test_taxes_cost_no_call_and_no_unit_of_a_sale(stage: str) -> None:
    goods, plain = a_goods_shop(stage), a_goods_shop(stage)

    def cost(shop: Goods, code: str) -> tuple[list[str], float]:
        shop.sell(f"1 x Coffee 25.00 {code}")
        with store_calls() as calls, write_units() as units:
            shop.sell(f"1 x Coffee 25.00 {code}")
        return calls, sum(number for _, number in units)

    (calls, units), (plain_calls, plain_units) = cost(goods, "VAT15"), cost(plain, "NONE")
    assert (calls, units) == (plain_calls, plain_units)
