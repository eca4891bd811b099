"""The till in a browser: it sells with and without connection, and never loses or doubles a sale."""

import json
import os
import signal
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Playwright, Route, expect

from chalicelib import pages
from chalicelib.domain.agent import Features
from chalicelib.domain.permissions import Right
from tests.browser.conftest import Visit, chromium
from tests.browser.till import (
    SUBMIT,
    Line,
    Seller,
    Till,
    a_seller,
    carried_out_without_an_answer,
    never_arrives,
)
from tests.support.accounts import PASSWORD, Account, an_account
from tests.support.http import SYSTEM, TILL, get

STORED = """() => new Promise((resolve) => {
  const opened = indexedDB.open("payments.till");
  opened.onsuccess = () => {
    const all = ["sales", "facts"].map((name) => opened.result.transaction(name).objectStore(name).getAll());
    all[1].onsuccess = () => resolve(JSON.stringify(all.map((one) => one.result)));
  };
})"""
FULL_STORAGE = """() => {
  IDBObjectStore.prototype.add = () => { throw new DOMException("full", "QuotaExceededError"); };
}"""


@pytest.fixture
def seller(stage: str) -> Seller:
    return a_seller(stage)


@pytest.fixture
def till(visit_by_phone: Visit, seller: Seller) -> Till:
    """The till with its agent signed in."""
    till = Till(visit_by_phone.page, seller)
    till.begin()
    return till


def test_a_cash_sale_takes_three_taps_beyond_its_digits_and_shows_the_change(till: Till) -> None:
    for key in "1234":
        till.button(key).click()
    expect(till.shown("amount")).to_have_attribute("data-amount", "12.34")
    till.button("Cash").click()
    till.page.get_by_label("Received").fill("20")
    expect(till.shown("change")).to_have_attribute("data-amount", "7.66")
    till.button("Take payment").click()

    expect(till.shown("result")).to_have_attribute("data-state", "paid")
    expect(till.shown("change")).to_have_attribute("data-amount", "7.66")
    (paid,) = till.seller.payments()
    assert (paid["Amount"], paid["AmountCashGot"], paid["InputType"]) == (Decimal("12.34"), Decimal(20), 10)
    expect(till.shown("result")).to_contain_text(f"Number {paid['Invoice']}")
    till.button("New sale").click()
    expect(till.shown("amount")).to_have_attribute("data-amount", "0.00")


def test_the_amount_is_typed_on_a_keyboard_too_and_less_cash_is_refused(till: Till) -> None:
    till.page.keyboard.type("50000x")
    till.page.keyboard.press("Backspace")
    expect(till.shown("amount")).to_have_attribute("data-amount", "50.00")
    till.button("Cash").click()
    till.page.get_by_label("Received").fill("49.99")
    till.button("Take payment").click()

    expect(till.page.get_by_role("alert").filter(has_text="Less than")).to_be_visible()
    assert till.seller.payments() == []
    till.note("100.00").click()
    expect(till.shown("result")).to_have_attribute("data-state", "paid")
    expect(till.shown("change")).to_have_attribute("data-amount", "50.00")


@pytest.mark.parametrize(
    ("tender", "kind"), [("Prepaid", 8), ("On account", 9), ("Card on another terminal", 7)], ids=str
)
def test_every_tender_is_taken_with_its_description_and_receipt(till: Till, tender: str, kind: int) -> None:
    till.page.get_by_label("Description").fill("Two cups")
    till.button("5").click()
    till.button("00").click()
    till.button(tender).click()
    till.page.get_by_label("Receipt to").fill("payer@example.com")
    till.button("Take payment").click()
    expect(till.shown("result")).to_have_attribute("data-state", "paid")

    (paid,) = till.seller.payments()
    facts = (paid["InputType"], paid["Amount"], paid["Description"], paid["ReceiptEmail"])
    assert facts == (kind, 5, "Two cups", "payer@example.com")


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


def test_only_the_tenders_of_the_features_are_offered(visit_by_phone: Visit, stage: str) -> None:
    till = Till(visit_by_phone.page, a_seller(stage, Features(accept_cash=True, accept_prepaid=False)))
    till.begin()

    expect(till.page.get_by_role("group", name="Paid by").get_by_role("button")).to_have_text(["Cash", "Linked card"])


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


def test_without_the_feature_offline_a_lost_answer_is_not_called_paid(visit_by_phone: Visit, stage: str) -> None:
    till = Till(visit_by_phone.page, a_seller(stage, Features(accept_cash=True)))
    till.begin()
    till.page.route("**/api/**", never_arrives)
    till.sell()
    expect(till.shown("result")).to_have_attribute("data-state", "unknown")
    till.button("New sale").click()
    expect(till.shown("connection")).to_have_attribute("data-state", "offline")
    till.sell()
    expect(till.shown("result")).to_have_attribute("data-state", "refused")
    till.page.unroute("**/api/**")
    till.wait_until_sent()

    assert len(till.seller.payments()) == 1


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


def test_a_blocked_agent_reads_who_is_blocked_and_its_paid_sale_waits(till: Till) -> None:
    till.page.context.set_offline(True)
    till.sell_and_see("waiting")
    till.seller.account.change(state=0)
    till.page.context.set_offline(False)
    expect(till.page.get_by_role("alert")).to_contain_text(f"Your login ({till.seller.account.email}) is blocked.")
    till.seller.account.change(state=1)
    till.wait_until_sent()

    expect(till.page.get_by_role("alert")).to_have_count(0)
    assert len(till.seller.payments()) == 1


def test_a_blocked_agent_is_refused_at_the_sale_in_hand_and_another_signs_in(till: Till, stage: str) -> None:
    till.seller.account.change(state=0)
    till.sell()
    expect(till.shown("result")).to_have_attribute("data-state", "refused")
    expect(till.shown("result")).to_contain_text("Your login is blocked.")
    expect(till.shown("waiting")).to_have_text("0")
    till.sign_out()
    till.sign_in(a_seller(stage).login)

    till.sell_and_see("paid")


def test_an_administrator_exports_and_deletes_the_sales_of_an_agent_that_has_left(till: Till, stage: str) -> None:
    merchant, agent = till.seller.merchant, till.seller.account
    till.page.context.set_offline(True)
    till.sell_and_see("waiting")
    agent.change(state=0)
    till.page.context.set_offline(False)
    administrator = an_account(Right.ADMINISTRATOR, merchant=merchant)

    def sign_in_as(other: Account) -> None:
        till.button("Sign out").click()
        till.button("For an administrator").click()
        till.sign_in((other.email, PASSWORD))

    for stranger in (an_account(merchant=merchant), an_account(Right.ADMINISTRATOR)):
        sign_in_as(stranger)
        expect(till.page.get_by_role("alert").filter(has_text="can sign in until")).to_be_visible()
        till.button("Cancel").click()
    sign_in_as(administrator)
    expect(till.button("Delete the sale")).to_be_disabled()
    with till.page.expect_download() as downloaded:
        till.button("Export").click()
    till.button("Delete the sale").click()
    till.button("Delete for good").click()
    till.sign_in(a_seller(stage).login)

    expect(till.sales()).to_have_count(0)
    (exported,) = json.loads(downloaded.value.path().read_text())
    assert exported["request"]["BasicTran"]["Amount"] == "12.34"
    agent.change(state=1)
    assert till.seller.payments() == []


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


def test_an_address_that_the_service_refuses_is_told_at_once_and_parks_nothing(till: Till) -> None:
    fault = {"Type": 1, "Property": "Receipt.Phone", "Code": 3, "Message": "A telephone number is expected."}
    refused = {"ErrorCode": 202, "ErrorMessage": "Not valid.", "Validations": [fault]}

    def with_a_receipt(route: Route) -> None:
        is_refused = "Receipt" in json.loads(route.request.post_data or "")
        route.fulfill(status=400, json=refused) if is_refused else route.continue_()

    def sell() -> None:
        till.button("9").click()
        till.button("Prepaid").click()
        till.page.get_by_label("Receipt to").fill("+27 82 987 6543")
        till.button("Take payment").click()

    till.page.route(SUBMIT, with_a_receipt)
    sell()
    expect(till.shown("result")).to_have_attribute("data-state", "refused")
    till.button("Take it without the receipt").click()
    expect(till.shown("result")).to_have_attribute("data-state", "paid")
    till.button("New sale").click()
    till.page.context.set_offline(True)
    sell()
    till.page.context.set_offline(False)
    till.wait_until_sent()

    expect(till.shown("result")).to_contain_text("could not send the receipt")
    assert len(till.seller.payments()) == 2


@pytest.mark.parametrize("typed", ["+27 82 98", "+999 123 4567", "82 987 6543", "ann@localhost", "ann@example..com"])
def test_an_address_that_the_service_cannot_use_is_refused_on_the_page(till: Till, typed: str) -> None:
    till.button("9").click()
    till.button("Prepaid").click()
    till.page.get_by_label("Receipt to").fill(typed)
    till.button("Take payment").click()

    expect(till.page.get_by_role("alert").filter(has_text="Type an e-mail address")).to_be_visible()


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


def test_a_storage_that_is_full_refuses_the_sale_before_money_is_taken(till: Till) -> None:
    till.page.evaluate(FULL_STORAGE)
    till.sell()
    expect(till.shown("result")).to_have_attribute("data-state", "refused")
    expect(till.shown("result")).to_contain_text("cannot store the sale")

    assert till.seller.payments() == []


def test_a_browser_that_may_delete_holds_five_thousand_at_most_and_says_so(till: Till) -> None:
    expect(till.page.get_by_text("at most R\u00a05,000.00")).to_be_visible()
    till.page.context.set_offline(True)
    till.sell_and_see("waiting", figures="500000")
    till.sell(figures="1")

    expect(till.shown("result")).to_have_attribute("data-state", "refused")


def test_signing_out_is_refused_while_a_sale_waits_and_leaves_no_session_after(till: Till) -> None:
    till.page.context.set_offline(True)
    till.sell_and_see("waiting")
    till.button("Sign out").click()
    expect(till.page.get_by_text("One sale is still on this device.")).to_be_visible()
    till.page.context.set_offline(False)
    till.wait_until_sent()
    till.sign_out()
    expect(till.button("Sign in")).to_be_visible()

    assert "token" not in till.page.evaluate(STORED)


def test_after_an_ended_session_only_the_same_agent_signs_in_and_the_sale_is_sent(till: Till, stage: str) -> None:
    till.seller.account.change(credential_version=9)
    till.sell()
    expect(till.shown("result")).to_have_attribute("data-state", "waiting")
    expect(till.page.get_by_label("Password")).to_be_focused()
    till.sign_in(a_seller(stage).login)
    expect(till.page.get_by_role("alert").filter(has_text="can sign in until")).to_be_visible()
    till.sign_in()
    till.wait_until_sent()

    expect(till.page.get_by_role("dialog")).to_have_count(0)
    assert len(till.seller.payments()) == 1


def test_after_an_ended_session_with_nothing_to_send_the_same_agent_goes_on(till: Till) -> None:
    till.seller.account.change(credential_version=9)
    till.sales()
    expect(till.page.get_by_label("Password")).to_be_focused()
    till.sign_in()

    expect(till.page.get_by_role("dialog")).to_have_count(0)
    expect(till.page.get_by_role("alert")).to_have_count(0)


def test_a_refused_sale_that_was_paid_is_parked_visibly_and_the_others_go_on(till: Till) -> None:
    till.page.context.set_offline(True)
    for figures in ("100", "200", "300"):
        till.sell_and_see("waiting", figures=figures)
    refused = {"ErrorCode": 315, "ErrorMessage": "The agent has no terminal."}

    def but_one(route: object) -> None:
        is_two = json.loads(route.request.post_data)["BasicTran"]["Amount"] == "2.00"  # type: ignore[attr-defined]
        route.fulfill(status=409, json=refused) if is_two else route.continue_()  # type: ignore[attr-defined]

    till.page.route(SUBMIT, but_one)
    till.page.context.set_offline(False)
    expect(till.shown("parked")).to_have_text("1")
    till.wait_until_sent()
    parked = till.sales().and_(till.page.locator('[data-state="parked"]'))
    expect(parked).to_contain_text("no terminal that may take payments")
    with till.page.expect_download() as downloaded:
        parked.get_by_role("button", name="Export").click()
    assert json.loads(downloaded.value.path().read_text())["request"]["BasicTran"]["Amount"] == "2.00"
    till.button("Sign out").click()
    expect(till.page.get_by_text("One sale is still on this device.")).to_be_visible()
    till.page.unroute(SUBMIT)
    parked.get_by_role("button", name="Send again").click()

    expect(till.shown("parked")).to_have_text("0")
    till.wait_until_sent()
    assert sorted(one["Amount"] for one in till.seller.payments()) == [1, 2, 3]


def test_a_refusal_while_the_customer_waits_takes_and_leaves_nothing(till: Till) -> None:
    till.page.route(SUBMIT, lambda route: route.fulfill(status=403, json={"ErrorCode": 311, "ErrorMessage": "No."}))
    till.sell()
    expect(till.shown("result")).to_have_attribute("data-state", "refused")

    expect(till.sales()).to_have_count(0)
    expect(till.shown("parked")).to_have_text("0")


def test_a_sale_is_returned_from_the_list(till: Till) -> None:
    till.sell_and_see("paid", figures="1000")
    row = till.sales()
    row.get_by_role("button", name="Return…").click()
    till.page.get_by_label("Amount").fill("4")
    till.page.get_by_role("dialog").get_by_role("button", name="Return").click()
    expect(row).to_contain_text("4.00 was given back.")

    (returned,) = [one for one in till.seller.payments() if one["OperationID"] == 3]
    assert returned["Amount"] == 4


def test_the_receipt_is_shown_to_print_or_to_share(till: Till) -> None:
    till.sell()
    till.button("Receipt").click()
    expect(till.page.locator("pre.receipt")).to_contain_text("Please keep this receipt.")
    till.page.emulate_media(media="print")

    expect(till.button("New sale")).to_be_hidden()
    expect(till.page.locator("pre.receipt")).to_be_visible()


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
    expect(till.page.get_by_label("Counted")).to_be_visible()
    looks_right()
    assert visit_of_a_shop.complaints == []
    assert visit_of_a_shop.requests_elsewhere(seller.stage) == []


def test_the_language_is_the_browsers_until_somebody_chooses(till: Till) -> None:
    till.button("Afrikaans").click()
    expect(till.button("Kontant")).to_be_visible()
    till.page.reload()

    expect(till.button("Kontant")).to_be_visible()
    assert till.page.evaluate("document.documentElement.lang") == "af"


def test_a_till_with_the_feature_auto_login_stays_signed_in_for_a_month(till: Till) -> None:
    (stored,) = [one for one in json.loads(till.page.evaluate(STORED))[1] if isinstance(one, dict) and "token" in one]
    me = get(till.seller.stage, "/api/v1/user/me?GMT=0", (till.seller.login[0], stored["token"])).body["Data"]

    assert datetime.fromisoformat(me["ExpiresAt"]).replace(tzinfo=UTC) > datetime.now(UTC) + timedelta(days=29)


def test_nothing_of_an_agent_is_left_for_the_next_one(till: Till, stage: str) -> None:
    till.button("9").click()
    till.button("Prepaid").click()
    till.page.get_by_label("Receipt to").fill("payer@example.com")
    till.sign_out()
    till.sign_in(a_seller(stage).login)

    expect(till.shown("amount")).to_have_attribute("data-amount", "0.00")
    till.button("9").click()
    till.button("Prepaid").click()
    expect(till.page.get_by_label("Receipt to")).to_have_value("")
    expect(till.sales()).to_have_count(0)


def test_a_return_whose_session_ended_asks_for_the_password_and_goes_on(till: Till) -> None:
    till.sell_and_see("paid", figures="1000")
    row = till.sales()
    row.get_by_role("button", name="Return…").click()
    till.page.get_by_label("Amount").fill("4")
    till.seller.account.change(credential_version=9)
    till.page.get_by_role("dialog").get_by_role("button", name="Return").click()
    till.sign_in()

    expect(row).to_contain_text("4.00 was given back.")


def test_a_return_whose_session_ended_is_not_made_by_another_agent(till: Till, stage: str) -> None:
    till.sell_and_see("paid", figures="1000")
    till.sales().get_by_role("button", name="Return…").click()
    till.page.get_by_label("Amount").fill("4")
    till.seller.account.change(credential_version=9)
    till.page.get_by_role("dialog").get_by_role("button", name="Return").click()
    colleague = a_seller(stage)
    sent: list[str] = []
    till.page.on("request", lambda request: sent.append(request.url))
    till.sign_in(colleague.login)

    expect(till.page.get_by_text("Nothing was sold on this day.")).to_be_visible()
    assert [url for url in sent if "reverse" in url.lower()] == []


def test_a_received_amount_beyond_every_limit_is_refused_on_the_page(till: Till) -> None:
    till.button("9").click()
    till.button("Cash").click()
    till.page.get_by_label("Received").fill("1" + "0" * 30)
    till.button("Take payment").click()

    expect(till.page.get_by_role("alert").filter(has_text="Type an amount")).to_be_visible()
    assert till.seller.payments() == []


def test_a_system_user_reads_that_it_takes_no_payments(visit_by_phone: Visit, stage: str) -> None:
    till = Till(visit_by_phone.page, a_seller(stage))
    till.open()
    till.sign_in(SYSTEM)
    expect(till.page.get_by_text("A system user takes no payments.")).to_be_visible()
    expect(till.page.get_by_role("link", name="/app")).to_have_attribute("href", "app")
    till.sign_out()

    expect(till.button("Sign in")).to_be_visible()


def test_auth_account_is_requested_once_in_ten_minutes_also_after_signing_out(till: Till) -> None:
    requested: list[str] = []
    till.page.on("request", lambda request: requested.append(request.url))
    till.sign_out()
    till.sign_in()
    expect(till.button("On account")).to_be_visible()

    assert [url for url in requested if "AuthAccount" in url] == []
