"""Signing in to the shop's page, signing out, and a session that ends in the middle of things."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from chalicelib.domain.secret import Secret
from chalicelib.services.authentication import session_digest
from chalicelib.store import sessions
from chalicelib.store.table import update, write_one
from tests.browser.conftest import Visit
from tests.browser.shop import VIEWS, Shop, a_store
from tests.support.http import OTHER_OWNER, OWNER, SYSTEM, TILL, get, post
from tests.support.transactions import a_body


@pytest.fixture
def shop(visit_by_phone: Visit, stage: str) -> Shop:
    return Shop(visit_by_phone, stage)


def end_session(shop: Shop) -> None:
    """Let the session of the page be unused for a day."""
    token = shop.page.evaluate("JSON.parse(sessionStorage.getItem('payments.session')).token")
    used_at = datetime.now(UTC) - timedelta(days=1)
    write_one(update(sessions.key(session_digest(Secret(token))), "SET used_at = :used_at", {"used_at": used_at}))


def test_the_owner_signs_in_and_finds_every_view(shop: Shop) -> None:
    shop.sign_in(OWNER)

    for view in VIEWS:
        shop.look_at(view)
    assert shop.visit.complaints == []
    assert shop.visit.requests_elsewhere(shop.stage) == []


def test_a_wrong_password_is_refused_in_the_words_of_the_service(shop: Shop) -> None:
    shop.open()
    shop.fill_in((OWNER[0], "not the password"))
    refused = post(shop.stage, "/api/v1/user/login/session", {"Email": OWNER[0], "Password": "wrong"}, login=None)

    expect(shop.page.get_by_role("alert")).to_have_text(refused.body["ErrorMessage"])
    expect(shop.page.get_by_role("navigation", name="Main")).to_have_count(0)
    assert shop.page.evaluate("sessionStorage.length") == 0


def test_who_signs_out_has_to_sign_in_again(shop: Shop) -> None:
    shop.sign_in()
    token = shop.page.evaluate("JSON.parse(sessionStorage['payments.session']).token")
    with shop.page.expect_response("**/user/logout/session") as ended:
        shop.button("Sign out").click()

    assert ended.value.ok
    assert get(shop.stage, "/api/v1/user/me", (OWNER[0], token)).error == (401, 105)

    expect(shop.button("Sign in")).to_be_visible()
    assert shop.page.evaluate("sessionStorage.length") == 0
    shop.open("#/payments")
    expect(shop.button("Sign in")).to_be_visible()


def test_nothing_outlives_the_tab(shop: Shop) -> None:
    shop.sign_in()
    another = shop.page.context.new_page()
    another.goto(f"{shop.stage}/app#/payments")

    expect(another.get_by_role("button", name="Sign in")).to_be_visible()
    assert shop.page.evaluate("localStorage.length") == 0
    assert shop.page.context.cookies() == []
    another.close()


def test_a_reload_goes_on_where_it_was_with_one_request_for_what_it_shows(shop: Shop) -> None:
    shop.sign_in(OWNER, "#/days")
    shop.wait_for("Days")
    shop.visit.requests.clear()
    shop.page.reload()
    shop.wait_for("Days")

    asked = [url.partition("/api/v1/")[2] for url in shop.visit.requests if "/api/v1/" in url]
    assert sorted(asked) == ["report/takings", "user/me"]


def test_a_session_that_has_ended_is_begun_again_where_it_was(shop: Shop) -> None:
    paid = post(shop.stage, "/api/v1/payment/submit", a_body(Description="After the break")).body["TransactionID"]
    shop.sign_in()
    end_session(shop)
    shop.open("#/payments")
    again = shop.page.get_by_role("dialog", name="Sign in again")
    again.get_by_label("Password").fill(OWNER[1])
    again.get_by_role("button", name="Sign in").click()

    expect(shop.row(paid)).to_be_visible()
    expect(again).to_have_count(0)


def test_who_signs_in_as_somebody_else_begins_anew(shop: Shop) -> None:
    shop.sign_in(OWNER, "#/days")
    end_session(shop)
    shop.open("#/tills")
    shop.fill_in(OTHER_OWNER)

    expect(shop.page.get_by_text("Other Store", exact=True)).to_be_visible()
    expect(shop.page.get_by_role("dialog")).to_have_count(0)
    expect(shop.page.get_by_text(OTHER_OWNER[0])).to_be_visible()
    expect(shop.page.get_by_text(OWNER[0])).to_have_count(0)


@pytest.mark.parametrize("view", ["#/today", "#/payments", "#/payments/{paid}"])
def test_nothing_stays_of_who_was_signed_in_before(view: str, shop: Shop) -> None:
    store = a_store(shop.stage)
    paid = store.pay("55.55", Description="Of the front till")
    shop.sign_in(store.owner, view.format(paid=paid))
    expect(shop.page.get_by_text("Of the front till")).to_be_visible()
    end_session(shop)
    shop.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # Today asks again
    for button in {"#/today": [], "#/payments": ["Export", "Export"]}.get(view, ["Show the receipt"]):
        shop.button(button).click()
    shop.fill_in(store.colleague)

    expect(shop.page.get_by_role("dialog")).to_have_count(0)
    expect(shop.page.get_by_text("Of the front till")).to_have_count(0)
    expect(shop.page.locator('main [data-amount="55.55"]')).to_have_count(0)


def test_a_session_that_has_ended_can_be_left(shop: Shop) -> None:
    shop.sign_in()
    end_session(shop)
    shop.open("#/days")
    again = shop.page.get_by_role("dialog", name="Sign in again")

    expect(again.get_by_label("E-mail")).to_have_value(OWNER[0])
    for _ in range(2):
        shop.page.keyboard.press("Escape")
    expect(again).to_be_visible()
    again.get_by_role("button", name="Sign out").click()
    shop.fill_in(OTHER_OWNER)
    expect(shop.page.get_by_text("Other Store", exact=True)).to_be_visible()
    expect(again).to_have_count(0)


def test_a_system_user_chooses_the_merchant(shop: Shop) -> None:
    post(shop.stage, "/api/v1/payment/submit", a_body())
    merchant = get(shop.stage, "/api/v1/user/me", TILL).body["Data"]["ClientID"]
    shop.sign_in(SYSTEM)
    shop.page.get_by_label("Merchant number").fill("999999999")
    shop.button("Choose").click()
    expect(shop.page.get_by_role("alert")).to_contain_text("not found")
    shop.page.get_by_label("Merchant number").fill(str(merchant))
    shop.button("Choose").click()

    assert shop.net > 0
    expect(shop.page.locator("header").get_by_text("Demo Store", exact=True)).to_be_visible()
    shop.look_at("Tills")
    expect(shop.page.get_by_text(TILL[0])).to_be_visible()
    shop.page.get_by_text("Messages of tills").click()
    expect(shop.page.get_by_text("The support is you.")).to_be_visible()
    expect(shop.page.locator(".till", has_text=TILL[0]).get_by_role("link", name="History")).to_be_visible()
    expect(shop.page.locator(".till", has_text=OWNER[0]).get_by_role("link", name="History")).to_have_count(0)


@pytest.mark.parametrize("field", ["Receipt number or ID", "Search", None], ids=str)
@pytest.mark.parametrize("name", ["ID", "Invoice"])
def test_a_system_user_finds_a_payment_over_all_merchants(name: str, field: str | None, shop: Shop) -> None:
    store = a_store(shop.stage)
    paid = get(shop.stage, f"/api/v1/payment/{store.pay('12.30')}", store.owner).body["Transactions"][0]
    merchant = get(shop.stage, "/api/v1/user/me", TILL).body["Data"]["ClientID"]
    shop.sign_in(SYSTEM, f"#/payments/{paid['ID']}" if field is None else "")
    if field == "Search":
        shop.page.get_by_label("Merchant number").fill(str(merchant))
        shop.button("Choose").click()
        shop.look_at("Payments")
    if field is not None:
        shop.page.get_by_label(field).fill(paid[name])
        shop.page.keyboard.press("Enter")
    shop.wait_for("Payment")
    expect(shop.page.locator(".title").get_by_text(store.merchant.name)).to_be_visible()
    shop.button("Return…").click()
    shop.give_back().click()
    expect(shop.page.get_by_text("was given back")).to_be_visible()
    shop.look_at("Payments")

    expect(shop.row(paid["ID"])).to_be_visible()
    assert store.given_back(paid["ID"])[1] == 1


@pytest.mark.parametrize(
    ("typed", "words"),
    [("260314.999999999.1", "No merchant has"), ("531001872936", "only receipt numbers and IDs are found")],
)
def test_a_system_user_reads_which_numbers_are_found_over_all_merchants(typed: str, words: str, shop: Shop) -> None:
    shop.sign_in(SYSTEM)
    shop.page.get_by_label("Receipt number or ID").fill(typed)
    shop.button("Find").click()

    expect(shop.page.get_by_role("alert")).to_contain_text(words)


def test_the_page_is_in_the_chosen_language_also_after_a_reload(shop: Shop) -> None:
    on_account = a_body(Amount="1234.50", InputType=9) | {"AcqTran": {"AcquirerCode": "CREDIT"}}
    post(shop.stage, "/api/v1/payment/submit", on_account, TILL)
    shop.open()
    shop.button("Afrikaans").click()
    shop.page.get_by_label("E-pos").fill(OWNER[0])
    shop.page.get_by_label("Wagwoord").fill(OWNER[1])
    shop.button("Meld aan").click()
    for view in ("Vandag", "Dae", "'n Week", "Dagverslag", "Kassas", "Pryslys", "Webhooks", "Betalings"):
        shop.look_at(view)
        assert shop.visit.violations() == []
        assert shop.visit.overflow() <= 0
    shop.page.reload()
    row = shop.page.locator("[data-id]", has_text="Op rekening").first
    expect(row).to_contain_text("1\u00a0234,50")
    assert shop.page.evaluate("document.documentElement.lang") == "af"
    shop.button("Voer uit").click()
    with shop.page.expect_request("**/report/export") as asked:
        shop.page.get_by_role("dialog").get_by_role("button", name="Voer uit").click()

    assert '"Lang":"af"' in (asked.value.post_data or "")
