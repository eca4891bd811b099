"""New tills in the shop's page: the first one of a shop, and one more whose cashier sells at once."""

import re

import pytest
from playwright.sync_api import expect

from chalicelib.domain.permissions import Right
from tests.browser.conftest import Visit
from tests.browser.shop import Shop, Store, a_store
from tests.support.accounts import PASSWORD, a_stored_merchant, an_account
from tests.support.builders import an_email
from tests.support.http import get, post
from tests.support.transactions import a_body

FEATURES = ("AcceptCash", "AcceptPrepaid", "AcceptCredit", "AcceptOuterCard", "Offline", "AutoLogin")


@pytest.fixture
def store(stage: str) -> Store:
    return a_store(stage)


@pytest.fixture
def shop(visit_at_a_desk: Visit, store: Store) -> Shop:
    shop = Shop(visit_at_a_desk, store.stage)
    shop.sign_in(store.owner, "#/tills")
    shop.wait_for("Tills")
    return shop


def test_a_new_cashier_sells_at_once(shop: Shop, store: Store) -> None:
    email = an_email()
    shop.button("New till").click()
    dialog = shop.page.get_by_role("dialog")
    create = dialog.get_by_role("button", name="Save")
    for name, text in {"Name": "Market till", "E-mail": store.till[0], "Phone": "12", "Password": PASSWORD}.items():
        dialog.get_by_label(name, exact=True).fill(text)
    dialog.get_by_label("Number of the terminal").fill("MARKET-1")
    assert shop.visit.violations() == []
    create.click()
    telephone = re.compile("^Type a telephone number with the country code")
    expect(dialog.get_by_role("alert")).to_have_text(["Another login has this e-mail already.", telephone])
    expect(dialog.get_by_label("E-mail", exact=True)).to_be_focused()
    dialog.get_by_label("E-mail", exact=True).fill(email)
    dialog.get_by_label("Phone", exact=True).fill("+27 82 987 6543")
    create.click()
    expect(dialog.get_by_text("Market till can sell now.")).to_be_focused()
    assert shop.visit.violations() == []
    address = dialog.get_by_role("link").get_attribute("href")
    shop.button("Done").click()
    expect(shop.page.locator(".till", has_text=email)).to_contain_text("MARKET-1")
    shop.page.goto(address or "")
    shop.fill_in((email, PASSWORD))
    for name in ("1", "0", "0", "Cash", "Take payment"):
        shop.button(name).click()

    expect(shop.page.get_by_test_id("result")).to_have_attribute("data-state", "paid")
    assert [row["Net"] for row in store.takings_of_today()] == [1]
    made = post(store.stage, f"/api/v1/merchant/{store.client_id}/pos/list", {"Email": email}, store.owner)
    features = made.body["PosList"][0]["MobileSettings"]["Features"]
    assert [name for name in FEATURES if features[name]] == ["AcceptCash", "Offline", "AutoLogin"]


def test_the_first_till_of_a_shop_asks_where_its_terminal_stands(visit_by_phone: Visit, stage: str) -> None:
    merchant = a_stored_merchant(currency_id="ZAR")
    owner = an_account(Right.ADMINISTRATOR, merchant=merchant, name="Owner")
    shop, email = Shop(visit_by_phone, stage), an_email()
    shop.sign_in((owner.email, PASSWORD), "#/tills")
    shop.button("New till").click()
    dialog = shop.page.get_by_role("dialog")
    fields = {"Name": "Kiosk", "E-mail": email, "Phone": "082 987 6543", "Password": PASSWORD, "Town": "Paarl"}
    for name, text in {**fields, "Street and number": "1 Long Street"}.items():
        dialog.get_by_label(name, exact=True).fill(text)
    dialog.get_by_label("Province or region").select_option("Western Cape")
    assert (shop.visit.violations(), shop.visit.overflow()) == ([], 0)
    dialog.get_by_role("button", name="Save").click()

    expect(dialog.get_by_text("Kiosk can sell now.")).to_be_focused()
    assert post(stage, "/api/v1/payment/submit", a_body(), (email, PASSWORD)).error == (200, 0)


def test_an_owner_corrects_the_shop_and_a_terminal(shop: Shop, store: Store) -> None:
    path = f"/api/v1/merchant/{store.client_id}"
    shop.page.get_by_text("Terminals", exact=True).click()
    shop.page.locator(".devices").get_by_role("button", name="Change").first.click()
    dialog = shop.page.get_by_role("dialog")
    dialog.get_by_label("Town").fill("Paarl")
    assert shop.visit.violations() == []
    dialog.get_by_role("button", name="Save").click()
    expect(shop.page.get_by_role("listitem").filter(has_text="Paarl")).to_be_visible()
    shop.look_at("Shop")
    shop.page.get_by_label("Tax number").fill("4012345678")
    shop.page.get_by_label("Telephone").fill("082 987 6512")
    shop.page.get_by_label("Count blind").check()
    shop.page.get_by_label("On account").check()
    shop.button("Save").click()
    expect(shop.page.get_by_text("Saved.")).to_be_visible()

    stored = get(store.stage, path, store.owner).body["Merchant"]
    assert [stored[name] for name in ("Name", "TaxID", "Phone", "DrawerBlind")] == [
        store.merchant.name,
        "4012345678",
        "+27 82 987 6512",
        True,
    ]
    assert stored["MobileSettings"]["Features"]["AcceptCredit"] is True
    terminals = post(store.stage, f"{path}/terminal/list", {}, store.owner).body["Terminals"]
    assert [one["City"] for one in terminals].count("Paarl") == 1


def test_a_system_user_finds_a_shop_by_its_name_and_blocks_it(visit_by_phone: Visit, stage: str) -> None:
    store, support = a_store(stage), an_account(system=True)
    shop = Shop(visit_by_phone, stage)
    shop.open()
    shop.fill_in((support.email, PASSWORD))
    shop.page.get_by_label("Name or number").fill(store.merchant.name)
    shop.button("Choose").click()
    assert (shop.visit.violations(), shop.visit.overflow()) == ([], 0)
    shop.page.get_by_role("button", name=f"Merchant {store.client_id}").click()
    shop.look_at("Shop")
    shop.button("Block").click()
    shop.page.get_by_role("dialog").get_by_role("button", name="Block").click()
    expect(shop.button("Unblock")).to_be_visible()

    assert post(stage, "/api/v1/payment/submit", a_body(), store.till).error == (401, 108)
