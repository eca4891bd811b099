"""The figures of the shop's page equal the interface's."""

import csv
import io
import re
import zlib
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Route, expect

from chalicelib.gateways import files
from chalicelib.settings import settings
from tests.browser.conftest import Visit
from tests.browser.shop import Shop, Store, a_store, total
from tests.support.giving import Give
from tests.support.http import get, post


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


@pytest.mark.parametrize(("width", "who"), [(320, "till"), (320, "owner"), (1280, "owner")])
def test_the_day_report_has_the_drawers(width: int, who: str, shop: Shop, store: Store, give: Give) -> None:
    drawers = 1 if who == "till" else 3
    give(now=lambda: datetime.now(UTC) - timedelta(days=40))
    left_open = {"Action": "open", "Float": "300.00", "Note": "Left open"}
    assert post(store.stage, "/api/v1/report/drawer", left_open, store.colleague).error == (200, 0)
    give(now=lambda: datetime.now(UTC))
    paid = store.pay("40.00")
    steps: list[dict[str, Any]] = [
        {"Action": "open", "Float": "500.00"},
        {"Action": "out", "Amount": "100.00", "Note": "x" * 512},
        {"Action": "close", "Counted": "440.50"},
    ]
    for step in steps:
        assert post(store.stage, "/api/v1/report/drawer", step, store.till).error == (200, 0)
        if step["Action"] == "open":
            store.give_back(store.pay("45.00"), "4.00")
    basic = {"TransactionID": paid, "ReverseMode": 2, "Amount": "1.00", "PartialReverse": True}
    assert post(store.stage, "/api/v1/payment/reverse", {"BasicReverseTran": basic}, store.owner).error == (200, 0)
    shop.page.set_viewport_size({"width": width, "height": 900})

    shop.sign_in(getattr(store, who), "#/day-report")
    shop.wait_for("Day report")

    section = shop.page.locator("section", has=shop.page.get_by_role("heading", name="Drawers", exact=True))
    assert section.locator("dl").count() == drawers  # what the till and the owner moved without a drawer, too
    amounts = [
        one.get_attribute("data-amount") for one in section.locator("dl", has_text="500.00").locator(".money").all()
    ]
    assert amounts == ["500.00", "45.00", "4.00", "0.00", "100.00", "441.00", "440.50", "-0.50"]
    expect(section.get_by_text("No open drawer held this cash.")).to_have_count(drawers - 1)
    earlier = shop.page.locator("section", has=shop.page.get_by_role("heading", name="Drawers opened earlier"))
    expect(earlier.get_by_text("Not counted yet, open since")).to_have_count(int(who == "owner"))
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
    of_rows = [(row["Gross"], row["Gross"] - row["Tax"], row["Tax"]) for row in answered]
    assert amounts == [*(amount for row in of_rows for amount in row), total(answered, "Tax")]  # a line has both
    for other in ("Days", "A week"):
        shop.look_at(other)
        assert [Decimal(one.get_attribute("data-amount") or "") for one in table.locator(".money").all()] == amounts
    shop.look_at("Day report")
    assert shop.visit.violations() == []
    for is_paper, width in ((False, 320), (True, 700), (True, 280)):
        shop.page.emulate_media(media="print" if is_paper else "screen")
        shop.page.set_viewport_size({"width": width, "height": 900})
        assert shop.visit.overflow() <= 0


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


@pytest.mark.parametrize("size", [{"width": "80mm", "height": "200mm"}, {"format": "A4"}], ids=str)
def test_a_long_report_has_no_empty_page_and_its_total_once(size: dict[str, str], shop: Shop, store: Store) -> None:
    def for_many_days(route: Route) -> None:
        reply = route.fetch()
        (row,) = reply.json()["Takings"]
        rows = [{**row, "Day": f"2026-0{month}-{day}"} for month in (5, 7) for day in range(10, 32)]
        route.fulfill(response=reply, json={**reply.json(), "Takings": rows})

    store.pay("10.00")
    shop.sign_in(store.owner)
    shop.page.route("**/report/takings", for_many_days)
    shop.open("#/days?from=2026-05-01&to=2026-12-31")
    shop.page.locator(".made").wait_for()
    printed = shop.page.pdf(**size)  # type: ignore[arg-type]
    texts = [
        zlib.decompress(_object(printed, int(found)))
        for found in re.findall(rb"/Type\s*/Page\b.*?/Contents (\d+) 0 R", printed, re.DOTALL)
    ]

    assert len(texts) == len(re.findall(rb"/Type\s*/Page\b", printed)) > 1
    assert all(re.search(rb"\bT[jJ]\b", one) for one in texts)
    shop.page.emulate_media(media="print")
    assert shop.page.locator("tfoot").evaluate("(foot) => getComputedStyle(foot).display") == "table-row-group"


def _object(pdf: bytes, number: int) -> bytes:
    """Return the compressed content of an object of a file."""
    found = re.search(rb"\b%d 0 obj.*?stream\r?\n(.*?)\r?\nendstream" % number, pdf, re.DOTALL)
    assert found
    return found[1]
