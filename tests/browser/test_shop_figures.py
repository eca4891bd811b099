"""The figures of the shop's page equal the interface's."""

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Route, expect

from chalicelib.gateways import files
from chalicelib.settings import settings
from chalicelib.store import transactions
from tests.browser.conftest import Visit
from tests.browser.shop import Shop, Store, a_store, total
from tests.support.http import get, post
from tests.support.transactions import a_payment


@pytest.fixture
def store(stage: str) -> Store:
    return a_store(stage)


@pytest.fixture
def shop(visit_at_a_desk: Visit, stage: str) -> Shop:
    return Shop(visit_at_a_desk, stage)


def test_the_figures_of_today_equal_those_of_the_interface(shop: Shop, store: Store) -> None:
    paid = [store.pay(amount) for amount in ("12.30", "0.01", "8000.00", "99.99")]
    store.give_back(paid[0], "2.30")
    store.pay("7.00", store.colleague)
    shop.sign_in(store.owner)
    rows = store.takings_of_today()

    assert shop.net == total(rows, "Net") == Decimal("8117.00")
    assert shop.amount_of("Taken") == total(rows, "Amount")
    assert shop.amount_of("Given back") == total(rows, "AmountReversed")


@pytest.mark.parametrize(
    ("hour", "words"),
    [
        (12, "R\u00a050.00 (33%) more than last Monday by 12:00 PM. Last Monday's total was R\u00a01,150.00."),
        (20, "R\u00a0943.00 (82%) less than last Monday. Last Monday's total was R\u00a01,150.00."),
        (9, "Last Monday's total was R\u00a01,150.00."),
    ],
)
def test_today_is_compared_by_whole_hours_of_business(hour: int, words: str, shop: Shop, store: Store) -> None:
    me = get(store.stage, "/api/v1/user/me", store.owner).body["Data"]
    row = {"AgentID": me["AgentID"], "AgentName": "Owner", "InputType": 10, "AcquirerCode": "CASH", "CurrencyID": "ZAR"}

    def of_an_hour(hour: int, net: int) -> dict[str, Any]:
        return row | {
            "Hour": hour,
            "Payments": 1,
            "Amount": net,
            "Reversals": 0,
            "AmountReversed": 0,
            "Net": f"{net}.00",
        }

    def answer(route: Route) -> None:
        is_today = '"From":"2026-11-23"' in (route.request.post_data or "")
        nets = {11: 200, 12: 7} if is_today else {10: 100, 11: 50, 12: 1000}
        route.fulfill(json={"ErrorCode": 0, "Takings": [of_an_hour(*net) for net in nets.items()]})

    now = datetime(2026, 11, 23, hour, 43, tzinfo=UTC) - timedelta(hours=me["GMT"])
    shop.page.clock.install(time=now)
    shop.page.route("**/report/takings", answer)
    shop.page.route(
        "**/user/me", lambda route: route.fulfill(json={"ErrorCode": 0, "Data": me | {"Today": "2026-11-23"}})
    )
    shop.sign_in(store.owner)

    expect(shop.page.locator(".compared")).to_have_text(words)


def test_a_day_without_payments_is_nothing_of_the_merchants_currency(shop: Shop, store: Store) -> None:
    shop.sign_in(store.owner)

    expect(shop.page.get_by_test_id("net")).to_have_attribute("data-amount", "0.00")
    expect(shop.page.get_by_test_id("net")).to_have_text("R\u00a00.00")


def test_days_and_the_day_report_say_the_same_as_today(shop: Shop, store: Store) -> None:
    store.give_back(store.pay("45.00"), "44.00")
    shop.sign_in(store.owner)
    net = shop.net
    shop.look_at("Days")
    assert Decimal(shop.page.get_by_test_id("net-of-period").get_attribute("data-amount") or "") == net
    shop.page.locator("tbody a").first.click()
    shop.wait_for("Day report")

    assert shop.amount_of("Net") == net == 1


def test_the_day_report_names_the_first_and_the_last_number_of_a_till(shop: Shop, store: Store) -> None:
    for _ in range(3):
        store.pay()
    shop.sign_in(store.owner, "#/day-report")
    shop.wait_for("Day report")
    shop.look_at("Payments")
    numbers = []
    for row in (shop.page.locator("[data-id]").last, shop.page.locator("[data-id]").first):
        row.click()
        numbers.append(shop.page.locator("dt:text-is('Number') + dd").inner_text())
        shop.page.go_back()
    shop.look_at("Days")
    shop.look_at("Day report")

    assert [
        shop.page.locator(f"dt:text-is('{name} number') + dd").inner_text() for name in ("First", "Last")
    ] == numbers
    expect(shop.page.get_by_role("heading", name="(3)")).to_be_visible()
    expect(shop.page.get_by_text("No number between the first and the last is missing.")).to_be_visible()


@pytest.mark.parametrize(("width", "who", "drawers"), [(360, "till", 1), (360, "owner", 2), (1280, "owner", 2)])
def test_the_day_report_has_the_drawers(width: int, who: str, drawers: int, shop: Shop, store: Store) -> None:
    paid = store.pay("45.00")
    store.give_back(paid, "4.00")
    basic = {"TransactionID": paid, "ReverseMode": 2, "Amount": "1.00", "PartialReverse": True}
    assert post(store.stage, "/api/v1/payment/reverse", {"BasicReverseTran": basic}, store.owner).error == (200, 0)
    count = {"Float": "500.00", "Counted": "540.50", "Note": "x" * 512}
    assert post(store.stage, "/api/v1/report/drawer", count, store.till).error == (200, 0)
    shop.page.set_viewport_size({"width": width, "height": 900})

    shop.sign_in(getattr(store, who), "#/day-report")
    shop.wait_for("Day report")

    section = shop.page.locator("section", has=shop.page.get_by_role("heading", name="Drawers"))
    assert section.locator("dl").count() == drawers  # the owner gave cash back too
    amounts = [
        one.get_attribute("data-amount") for one in section.locator("dl", has_text="500.00").locator(".money").all()
    ]
    assert amounts == ["500.00", "41.00", "541.00", "540.50", "-0.50", "1.00"]
    expect(section.get_by_text("Cash given back by others")).to_be_visible()
    expect(section.get_by_text("Then R\u00a0540.00 should be in it.")).to_be_visible()
    expect(section.get_by_text("More cash was given back here than was taken.")).to_have_count(drawers - 1)
    assert shop.visit.overflow() <= 0


def test_the_day_report_shows_the_taxes_of_the_day(shop: Shop, store: Store) -> None:
    taxes: list[dict[str, Any]] = [
        {"Code": "VAT15", "Name": "VAT", "Rate": 15},
        {"Code": "LEVY-ON-CARRIER5", "Name": "Levyoncarrierbagsandotherkindsofwrapping", "Rate": "0.125"},
    ]
    reply = post(
        store.stage,
        f"/api/v1/merchant/{store.client_id}/pricelist/update",
        {"Version": 0, "Taxes": taxes, "Items": []},
        store.owner,
    )
    assert reply.error == (200, 0), reply.text
    purchases = [
        {"Title": "Cake", "Price": "100.00", "Quantity": 1, "TaxCode": ["VAT15"]},
        {"Title": "Bag", "Price": "59.50", "Quantity": 1, "TaxCode": ["VAT15", "LEVY-ON-CARRIER5"]},
    ]
    paid = store.pay("159.50", AuxDataInput={"AuxData": {"Purchases": purchases}})
    store.give_back(paid, "59.50")
    day = get(store.stage, "/api/v1/user/me", store.owner).body["Data"]["Today"]
    body = {"Period": {"From": day, "To": day}}
    answered = post(store.stage, "/api/v1/report/takings", body, store.owner).body["Taxes"]
    shop.sign_in(store.owner, "#/day-report")
    shop.wait_for("Day report")

    table = shop.page.get_by_role("table", name="Taxes, ZAR")
    expect(table.get_by_role("rowheader")).to_have_text(
        [f"{taxes[1]['Name']} 0.125\u00a0% LEVY-ON-CARRIER5", "VAT 15\u00a0% VAT15", "Total"]
    )
    amounts = [Decimal(one.get_attribute("data-amount") or "") for one in table.locator(".money").all()]
    assert amounts == [*(row[name] for row in answered for name in ("Gross", "Tax")), total(answered, "Tax")]
    for other in ("Days", "A week"):
        shop.look_at(other)
        assert [Decimal(one.get_attribute("data-amount") or "") for one in table.locator(".money").all()] == amounts
    shop.look_at("Day report")
    assert shop.visit.violations() == []
    for is_paper, width in ((False, 360), (True, 700), (True, 280)):
        shop.page.emulate_media(media="print" if is_paper else "screen")
        shop.page.set_viewport_size({"width": width, "height": 900})
        assert shop.visit.overflow() <= 0


@pytest.mark.parametrize("width", [320, 1280])
def test_a_week_stands_beside_the_week_before(width: int, shop: Shop, store: Store) -> None:
    now = datetime.now(UTC)
    for days, amount_minor in ((7, 100_000), (8, 1_000), (13, 500), (14, 7)):
        at = now - timedelta(days=days)
        transactions.record(a_payment(client_id=store.client_id, created_at=at, amount_minor=amount_minor))
    store.give_back(store.pay("200.00"), "50.00")
    shop.page.set_viewport_size({"width": width, "height": 800})
    shop.sign_in(store.owner, "#/days")
    shop.look_at("A week")

    rows = [
        [one.get_attribute("data-amount") for one in row.locator(".money").all()]
        for row in shop.page.locator("tr.week").all()
    ]
    assert rows[:2] == [["150.00", "1000.00", "-850.00"], ["0.00", "10.00", "-10.00"]]
    assert rows[-2:] == [["0.00", "5.00", "-5.00"], ["150.00", "1015.00", "-865.00"]]
    expect(shop.page.get_by_role("columnheader", name="The week before")).to_be_visible()
    expect(shop.page.locator(".chart rect:is(.now, .before)")).to_have_count(4)
    assert shop.visit.overflow() <= 0
    shop.page.get_by_role("link", name="7 days earlier").click()
    expect(shop.page.get_by_test_id("net-of-week")).to_have_attribute("data-amount", "1015.00")


def test_an_exported_file_sums_to_the_figure_of_the_page(shop: Shop, store: Store) -> None:
    store.give_back(store.pay("20.00", Description="=1+1"), "5.00")
    store.pay("0.10")
    shop.sign_in(store.owner)
    net = shop.net
    shop.look_at("Payments")
    shop.page.route(f"{files.origin()}/**", _from_the_bucket)
    shop.button("Export").click()
    with shop.page.expect_download() as downloaded:
        shop.button("Export").click()

    rows = list(csv.DictReader(io.StringIO(downloaded.value.path().read_text(encoding="utf-8-sig"))))
    assert sum(Decimal(row["Amount"]) for row in rows) == net == Decimal("15.10")


def taken_before(store: Store) -> str:
    """Store a payment of the day before yesterday, and return its day."""
    at = datetime.now(UTC) - timedelta(days=2)
    transactions.record(a_payment(client_id=store.client_id, created_at=at))
    return f"{at + timedelta(hours=2):%Y-%m-%d}"


def choose(shop: Shop, form: str) -> None:
    """Open the dialog of the export, and choose a format."""
    shop.button("Export").click()
    shop.page.get_by_label("Format").select_option(form)


def exported(shop: Shop) -> str:
    """Click the button of the dialog and return the file."""
    with shop.page.expect_download() as downloaded:
        shop.button("Export").click()
    return downloaded.value.path().read_text(encoding="utf-8")


def test_a_journal_has_the_days_that_are_over_and_the_bookkeepers_names(shop: Shop, store: Store) -> None:
    day = taken_before(store)
    store.pay("99.99")  # today
    shop.sign_in(store.owner, "#/payments")
    shop.wait_for("Payments")
    shop.page.route(f"{files.origin()}/**", _from_the_bucket)
    choose(shop, "hledger")

    assert exported(shop).endswith(
        f"{day} ({day}-ZAR-CASH) Takings by CASH\n"
        "    Assets:Cash  12.30 ZAR  ; 1 payment\n    Income:Sales  -12.30 ZAR  ; 1 payment\n"
    )
    choose(shop, "hledger")
    shop.page.get_by_text("Accounts", exact=True).click()
    shop.page.get_by_label("Cash", exact=True).fill("Assets:Till;")
    shop.button("Export").click()
    expect(shop.page.get_by_text("This is not in the right form.")).to_be_visible()
    shop.page.get_by_label("Cash", exact=True).fill("Assets:Till")
    assert "\n    Assets:Till  12.30 ZAR" in exported(shop)


def test_the_page_asks_for_the_codes_of_xero_and_keeps_them(shop: Shop, store: Store) -> None:
    taken_before(store)
    shop.sign_in(store.owner, "#/payments")
    shop.wait_for("Payments")
    shop.page.route(f"{files.origin()}/**", _from_the_bucket)
    choose(shop, "Xero")
    shop.button("Export").click()
    expect(shop.page.get_by_text("This is needed.")).to_have_count(3)
    names = {"Sales": "200", "Cash": "800", "Tax rate": "Tax Exempt"}
    for name, code in names.items():
        shop.page.get_by_label(name, exact=True).fill(code)
    expected = [("800", "12.30"), ("200", "-12.30")]

    for _ in range(2):
        rows = csv.DictReader(io.StringIO(exported(shop), newline=""))
        assert [(row["*AccountCode"], row["*Amount"]) for row in rows] == expected
        shop.page.reload()
        shop.wait_for("Payments")
        choose(shop, "Xero")


def test_today_alone_is_no_journal_yet(shop: Shop, store: Store) -> None:
    day = datetime.now(UTC) + timedelta(hours=2)
    shop.sign_in(store.owner, f"#/payments?from={day:%Y-%m-%d}")
    shop.wait_for("Payments")
    choose(shop, "beancount")
    shop.button("Export").click()

    expect(shop.page.get_by_role("alert")).to_have_text(
        "Choose days that are over. Today's takings can be exported tomorrow."
    )


def _from_the_bucket(route: Route) -> None:
    """Answer with what is stored: the bucket of these tests is in the process and not on the network."""
    bucket = settings().bucket
    key = unquote(urlsplit(route.request.url).path).removeprefix(f"/{bucket}").lstrip("/")
    stored = files._client().get_object(Bucket=bucket, Key=key)  # noqa: SLF001  the client of the process
    headers = {"Content-Type": stored["ContentType"], "Content-Disposition": stored["ContentDisposition"]}
    route.fulfill(body=stored["Body"].read(), headers=headers)


@pytest.mark.parametrize("width", [280, 700])  # pixels of what 80 mm and A4 leave
@pytest.mark.parametrize(("view", "heading"), [("day-report", "Report of"), ("week", "A week"), ("days", "Days")])
def test_a_report_fits_the_paper(view: str, heading: str, width: int, shop: Shop, store: Store) -> None:
    store.give_back(store.pay("123456.00"), "1.00")
    shop.sign_in(store.owner, f"#/{view}")
    shop.page.locator(".made").wait_for()
    shop.page.emulate_media(media="print")
    shop.page.set_viewport_size({"width": width, "height": 900})

    expect(shop.page.get_by_role("navigation")).to_have_count(0)
    expect(shop.page.get_by_role("heading", name=heading)).to_be_visible()
    assert shop.visit.overflow() <= 0
