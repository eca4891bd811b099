"""The till in a browser: it sells with and without connection, and never loses or doubles a sale."""

import os
import signal
import subprocess
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Playwright, expect

from chalicelib import pages
from tests.browser.conftest import Visit, chromium
from tests.browser.till import SUBMIT, Line, Seller, Till, a_seller, carried_out_without_an_answer, never_arrives
from tests.support.accounts import PASSWORD
from tests.support.http import TILL, get

STORED = """() => new Promise((resolve) => {
  const opened = indexedDB.open("payments.till");
  opened.onsuccess = () => {
    const all = ["sales", "facts"].map((name) => opened.result.transaction(name).objectStore(name).getAll());
    all[1].onsuccess = () => resolve(JSON.stringify(all.map((one) => one.result)));
  };
})"""

BLOCKED = """for (const name of ["localStorage", "sessionStorage"])
  Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });"""


@pytest.fixture
def seller(stage: str) -> Seller:
    return a_seller(stage)


def test_a_cash_sale_takes_three_taps_beyond_its_digits_and_shows_the_change(till: Till) -> None:
    for key in "1234":
        till.button(key).click()
    expect(till.shown("amount")).to_have_attribute("data-amount", "12.34")
    till.button("Cash").click()
    expect(till.page.get_by_text("R\u00a012.34, rounded to R\u00a012.30")).to_be_visible()
    till.page.get_by_label("Received").fill("20")
    expect(till.shown("change")).to_have_attribute("data-amount", "7.70")
    till.button("Take payment").click()

    expect(till.shown("result")).to_have_attribute("data-state", "paid")
    expect(till.shown("change")).to_have_attribute("data-amount", "7.70")
    (paid,) = till.seller.payments()
    assert (paid["Amount"], paid["AmountCashGot"], paid["InputType"]) == (Decimal("12.30"), Decimal(20), 10)
    expect(till.shown("result")).to_contain_text(f"Number {paid['Invoice']}")
    till.button("New sale").click()
    expect(till.shown("amount")).to_have_attribute("data-amount", "0.00")


@pytest.mark.parametrize(
    ("tender", "kind"), [("Prepaid", 8), ("On account", 9), ("Card on another terminal", 7)], ids=str
)
def test_every_tender_is_taken_with_its_description_and_receipt(till: Till, tender: str, kind: int) -> None:
    till.page.get_by_label("Description").fill("Two cups")
    till.button("5").click()
    till.button("00").click()
    till.button(tender).click()
    if tender == "On account":
        expect(till.page.get_by_label("Customer's name")).to_be_focused()
        till.page.keyboard.type("Ned")
    till.page.get_by_label("Receipt to").fill("payer@example.com")
    till.button("Take payment").click()
    expect(till.shown("result")).to_have_attribute("data-state", "paid")
    expect(till.shown("result")).to_contain_text("Receipt to payer@example.com")

    (paid,) = till.seller.payments()
    facts = (paid["InputType"], paid["Amount"], paid["Description"].removeprefix("Ned · "), paid["ReceiptEmail"])
    assert facts == (kind, 5, "Two cups", "payer@example.com")


def test_a_tapped_note_stays_until_its_address_is_right(till: Till) -> None:
    for key in ("1", "00", "00"):
        till.button(key).click()
    till.button("Cash").click()
    till.page.get_by_label("Receipt to").fill("guest@mail")
    till.note("200.00").click()
    expect(till.page.get_by_label("Receipt to")).to_be_focused()
    till.page.get_by_label("Receipt to").fill("guest@mail.example")
    till.button("Take payment").click()

    expect(till.shown("change")).to_have_attribute("data-amount", "100.00")
    expect(till.shown("result")).to_contain_text("Receipt to guest@mail.example")


def test_with_text_of_twice_the_size_sum_change_and_connection_are_in_sight(till: Till) -> None:
    page = till.page
    fonts = page.context.new_cdp_session(page)

    def in_sight(*names: str) -> None:
        for name in names:
            expect(till.shown(name)).to_be_in_viewport(ratio=1)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0

    fonts.send("Page.enable")
    fonts.send("Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}})
    assert page.evaluate("document.querySelector('header').offsetHeight") < 150
    assert page.evaluate("document.getElementById('description').offsetWidth") > 200
    for key in ("1", "00", "00"):
        till.button(key).click()
    till.button("Cash").click()
    expect(page.get_by_label("Received")).to_be_focused()
    in_sight("connection", "amount")
    page.get_by_label("Receipt to").fill("guest@mail")
    page.context.set_offline(True)
    till.button("Take payment").click()
    expect(page.locator("#receipt-problem")).to_be_in_viewport()
    in_sight("amount")
    page.get_by_label("Receipt to").fill("")
    till.note("200.00").click()
    in_sight("connection", "change")
    till.button("Receipt").click()
    paper = page.locator("pre.receipt")
    assert paper.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0
    till.button("Sign out").click()
    in_sight("connection")
    till.button("New sale").click()
    in_sight("connection")


def test_no_sale_counts_before_the_other_terminal_has_answered(till: Till) -> None:
    for key in ("1", "00", "0"):
        till.button(key).click()
    till.button("Card on another terminal").click()
    expect(till.page.get_by_text("Type R\u00a010.00 on the other terminal")).to_be_visible()
    till.page.reload()  # whoever types there is asked again
    till.button("Declined").click()
    expect(till.shown("result")).to_have_attribute("data-state", "declined")
    till.page.reload()
    till.button("Card on another terminal").click()
    till.page.context.set_offline(True)
    till.button("Declined").click()
    expect(till.button("Pay another way")).to_be_focused()
    till.button("Pay another way").click()
    expect(till.shown("due")).to_have_attribute("data-amount", "10.00")
    expect(till.button("Card on another terminal")).to_be_in_viewport()
    till.page.context.set_offline(False)
    assert till.seller.payments() == []
    till.button("Card on another terminal").click()
    till.button("Take payment").click()
    expect(till.shown("result")).to_contain_text("Number")

    assert [(one["InputType"], one["Amount"]) for one in till.seller.payments()] == [(7, 10)]


def test_a_linked_card_pays_and_its_decline_is_shown(visit_by_phone: Visit, stage: str) -> None:
    till = Till(visit_by_phone.page, a_seller(stage))
    till.open()
    till.sign_in(TILL)
    for figures, state in (("1000", "paid"), ("1005", "declined"), ("1068", "unknown")):
        for key in figures:
            till.button(key).click()
        till.button("Linked card").click()
        till.page.get_by_label("1111").check()
        till.button("Take payment").click()
        expect(till.shown("result")).to_have_attribute("data-state", state)
        till.button("New sale").click()

    expect(till.sales().first).to_have_attribute("data-state", "paid")  # the service learned the lost outcome
    till.wait_until_sent()


def test_sales_without_connection_wait_and_are_sent_once_with_the_time_and_number_of_the_till(till: Till) -> None:
    till.page.context.set_offline(True)
    till.sell_and_see("waiting", figures="500")
    till.sell_and_see("waiting", figures="700", tender="On account")
    expect(till.shown("connection")).to_have_attribute("data-state", "offline")
    expect(till.shown("waiting")).to_have_text("2")
    expect(till.sales()).to_have_count(2)
    numbers = [row.locator("p.dim span").inner_text().removeprefix("Number ") for row in till.sales().all()]
    till.page.context.set_offline(False)
    till.wait_until_sent()

    taken = till.seller.payments()
    assert sorted(one["Invoice"] for one in taken) == sorted(numbers)
    assert {(one["Amount"], one["InputType"]) for one in taken} == {(5, 10), (7, 9)}
    assert all(one["OfflineQueueId"] for one in taken)
    expect(till.shown("connection")).to_have_attribute("data-state", "online")
    expect(till.sales().and_(till.page.locator('[data-state="paid"]'))).to_have_count(2)


def test_the_page_opens_and_sells_without_connection_after_a_reload(till: Till) -> None:
    till.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    till.page.context.set_offline(True)
    till.page.reload()
    till.sell_and_see("waiting")
    till.page.reload()
    expect(till.shown("waiting")).to_have_text("1")
    till.page.context.set_offline(False)
    till.wait_until_sent()

    assert len(till.seller.payments()) == 1


@pytest.mark.parametrize("fate", [never_arrives, carried_out_without_an_answer])
def test_a_sale_whose_answer_is_lost_is_taken_once(till: Till, fate: object) -> None:
    till.page.route(SUBMIT, fate, times=1)  # type: ignore[arg-type]
    till.sell()
    expect(till.shown("result")).to_have_attribute("data-state", "waiting")
    till.wait_until_sent()
    expect(till.shown("result")).to_have_attribute("data-state", "paid")  # the result changes with the answer

    (paid,) = till.seller.payments()
    assert paid["OfflineQueueId"] is None  # it is repeated as it was begun


def test_a_dead_server_stops_nobody_from_selling(visit_by_phone: Visit, seller: Seller) -> None:
    line = Line(seller.stage)
    till = Till(visit_by_phone.page, replace(seller, stage=line.url))
    till.begin()
    till.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    line.cut()
    till.sell_and_see("waiting", figures="300")
    expect(till.shown("connection")).to_have_attribute("data-state", "offline")
    till.page.reload()
    till.sell_and_see("waiting", figures="400")
    line.mend()
    till.wait_until_sent()
    expect(till.shown("connection")).to_have_attribute("data-state", "online")

    assert sorted(one["Amount"] for one in seller.payments()) == [3, 4]
    line.cut()


@pytest.mark.parametrize(
    ("currency", "amount"), [("KWD", "1.234"), ("JPY", "1234"), ("IQD", "1.234"), ("SLE", "12.34")]
)
def test_the_currency_and_its_decimals_are_the_services(
    visit_by_phone: Visit, stage: str, currency: str, amount: str
) -> None:
    till = Till(visit_by_phone.page, a_seller(stage, currency=currency))
    get(stage, "/api/v1/payment/AuthAccount", till.seller.login)  # so that the till's call is too soon
    till.begin()
    till.sell()
    expect(till.shown("amount")).to_have_attribute("data-amount", amount)
    till.button("New sale").click()
    till.page.reload()
    till.page.context.set_offline(True)
    till.sell_and_see("waiting")
    till.page.context.set_offline(False)
    till.wait_until_sent()

    taken = [(one["CurrencyID"], one["Amount"]) for one in till.seller.payments()]
    assert taken == [(currency, Decimal(amount))] * 2


def test_a_killed_browser_loses_no_sale(tmp_path: Path, playwright: Playwright, seller: Seller) -> None:
    def launched() -> tuple[BrowserContext, Page]:
        context = playwright.chromium.launch_persistent_context(tmp_path, executable_path=chromium())
        return context, context.pages[0]

    _, page = launched()
    till = Till(page, seller)
    till.begin()
    till.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    till.page.route("**/api/**", never_arrives)
    till.sell_and_see("waiting", figures="900")
    till.sell(figures="800")
    till.page.route(SUBMIT, lambda _: None)
    for process in subprocess.check_output(["pgrep", "-f", str(tmp_path)], text=True).split():  # noqa: S607
        if int(process) != os.getpid():
            os.kill(int(process), signal.SIGKILL)
    context, page = launched()
    again = Till(page, seller)
    again.open()
    sales = again.sales()
    expect(sales).to_have_count(2)
    for sale in sales.all():
        expect(sale).to_have_attribute("data-state", "paid")
    context.close()

    assert sorted(one["Amount"] for one in seller.payments()) == [8, 9]


def test_a_second_tab_says_that_the_till_is_open_and_sells_when_the_first_is_closed(till: Till) -> None:
    second = Till(till.page.context.new_page(), till.seller)
    second.open()
    expect(second.page.get_by_role("alert")).to_contain_text("another tab")
    till.sell_and_see("paid")
    till.page.close()

    second.sell_and_see("paid")
    assert len(till.seller.payments()) == 2


@pytest.mark.parametrize("page", ["app", "till"])
def test_a_browser_that_blocks_cookies_and_storage_is_told_so(visit_by_phone: Visit, stage: str, page: str) -> None:
    shown = visit_by_phone.page
    shown.add_init_script(BLOCKED)
    shown.goto(f"{stage}/{page}")

    expect(shown.get_by_role("alert")).to_contain_text("blocks cookies")
    assert visit_by_phone.violations() == []


@pytest.mark.parametrize("fault", ["open", "match"])
@pytest.mark.parametrize(
    "broken", ["throw new Error('broken')", "return new Promise(() => {})"], ids=["throws", "hangs"]
)
def test_a_broken_cache_of_the_service_worker_keeps_nobody_from_the_page(
    visit_by_phone: Visit, seller: Seller, monkeypatch: pytest.MonkeyPatch, fault: str, broken: str
) -> None:
    place = {"open": "CacheStorage.prototype", "match": "Cache.prototype"}[fault]
    text = f"const usual = {place}.{fault}; {place}.{fault} = function (...given) {{"
    text += f"if (self.registration.active) {broken}; return usual.apply(this, given); }};\n{pages.worker()}"
    monkeypatch.setattr(pages, "worker", lambda: text)
    till = Till(visit_by_phone.page, seller)
    till.begin()
    till.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    till.page.reload()

    till.sell_and_see("paid")


def test_a_new_version_takes_over_when_no_sale_is_being_made_and_keeps_the_queue(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    till.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    till.page.route("**/api/**", never_arrives)
    till.sell_and_see("waiting")
    till.button("7").click()
    text = pages.worker()
    monkeypatch.setattr(pages, "worker", lambda: text + "// of another version\n")
    till.page.evaluate("navigator.serviceWorker.getRegistration().then((one) => one.update())")
    till.page.wait_for_function("() => navigator.serviceWorker.getRegistration().then((one) => one.waiting !== null)")
    expect(till.shown("amount")).to_have_attribute("data-amount", "0.07")
    with till.page.expect_navigation():
        till.button("Delete").click()
    till.page.unroute("**/api/**")
    till.wait_until_sent()

    assert len(till.seller.payments()) == 1


def test_a_till_opens_no_shops_page_in_its_tab(till: Till) -> None:
    till.page.goto(till.page.url.partition("/till")[0] + "/app")

    expect(till.page.get_by_role("button", name="Sign in")).to_be_visible()


def test_no_password_no_key_and_no_address_of_a_sent_sale_is_on_the_device(till: Till) -> None:
    till.button("9").click()
    till.button("Prepaid").click()
    till.page.get_by_label("Receipt to").fill("payer@example.com")
    till.button("Take payment").click()
    expect(till.shown("result")).to_have_attribute("data-state", "paid")
    stored = till.page.evaluate(STORED) + till.page.evaluate("JSON.stringify([localStorage, sessionStorage])")

    assert [one for one in (PASSWORD, till.seller.account.key, "payer@example.com") if one in stored] == []


def test_each_screen_is_accessible_and_fits(visit_of_a_shop: Visit, seller: Seller) -> None:
    till = Till(visit_of_a_shop.page, seller)

    def looks_right() -> None:
        assert visit_of_a_shop.violations() == []
        assert visit_of_a_shop.overflow() <= 0

    till.open()
    expect(till.button("Sign in")).to_be_visible()
    looks_right()
    till.sign_in()
    till.button("5").click()
    looks_right()
    till.button("Cash").click()
    looks_right()
    till.button("Take payment").click()
    till.button("Receipt").click()
    expect(till.page.locator("pre.receipt")).to_be_visible()
    looks_right()
    expect(till.sales()).to_have_count(1)
    till.button("Receipt").click()
    till.button("Send receipt").click()
    looks_right()
    till.page.get_by_role("link", name="My day").click()
    till.page.get_by_label("Float").fill("100")
    looks_right()
    till.button("Open the drawer").click()
    expect(till.page.get_by_label("Counted")).to_be_visible()
    looks_right()
    assert visit_of_a_shop.complaints == []
    assert visit_of_a_shop.requests_elsewhere(seller.stage) == []
