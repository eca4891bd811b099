"""Tills in the shop's page: blocked, unblocked and unlocked, with a new key, and created."""

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
BOXES = (
    *("Cash", "Prepaid", "On account", "Card on another terminal", "Sells without connection", "Stays signed in"),
    *("Return payments of others", "See all payments", "Administrator"),
)


@pytest.fixture
def store(stage: str) -> Store:
    return a_store(stage)


@pytest.fixture
def shop(visit_at_a_desk: Visit, store: Store) -> Shop:
    shop = Shop(visit_at_a_desk, store.stage)
    shop.sign_in(store.owner, "#/tills")
    shop.wait_for("Tills")
    return shop


def test_a_till_is_blocked_and_unblocked(shop: Shop, store: Store) -> None:
    till = shop.page.locator(".till", has_text=store.till[0])
    for act, state, status in (("Block", "Blocked", 401), ("Unblock", "Active", 200)):
        till.get_by_role("button", name=act, exact=True).click()
        shop.page.get_by_role("dialog").get_by_role("button", name=act, exact=True).click()
        expect(till.get_by_text(state, exact=True)).to_be_visible()
        assert post(store.stage, "/api/v1/payment/submit", a_body(), store.till).status == status


def test_a_till_is_unlocked(shop: Shop, store: Store) -> None:
    for _ in range(10):
        get(store.stage, "/api/v1/user/me", (store.till[0], "wrong"))
    shop.page.reload()
    till = shop.page.locator(".till", has_text=store.till[0])
    till.get_by_role("button", name="Unlock").click()
    shop.page.get_by_role("dialog").get_by_role("button", name="Unlock").click()

    expect(till.get_by_text("Active", exact=True)).to_be_visible()
    assert get(store.stage, "/api/v1/user/me", store.till).status == 200


def test_a_new_secret_key_is_shown_once(shop: Shop, store: Store) -> None:
    shop.page.locator(".till", has_text=store.till[0]).get_by_role("button", name="New secret key").click()
    shop.button("Make a new key").click()
    key = shop.page.locator("code").inner_text()
    shop.button("Done").click()

    assert get(store.stage, "/api/v1/user/me", (store.till[0], key)).status == 200
    assert key not in shop.page.content()


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
    expect(dialog.get_by_role("alert")).to_have_text(re.compile("^Type a telephone number with the country code"))
    expect(dialog.get_by_label("Phone", exact=True)).to_be_focused()
    dialog.get_by_label("Phone", exact=True).fill("+27 82 987 6543")
    create.click()
    expect(dialog.get_by_role("alert")).to_have_text("Another login has this e-mail already.")
    dialog.get_by_label("E-mail", exact=True).fill(email)
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


def test_a_till_is_changed_and_what_it_may_is_taken_away(shop: Shop, store: Store) -> None:
    store.allow("AcceptCredit")
    agent = get(store.stage, "/api/v1/user/me", store.till).body["Data"]["AgentID"]
    path, till = f"/api/v1/merchant/{store.client_id}/pos/{agent}", shop.page.locator(".till", has_text=store.till[0])
    assigns = [{"BranchID": store.client_id, "Actions": [210, 301]}]
    post(store.stage, f"{path}/update", {"BranchesActions": assigns}, store.owner)
    before = get(store.stage, path, store.owner).body["Pos"]
    till.get_by_role("button", name="Change").click()
    dialog = shop.page.get_by_role("dialog")
    boxes = {name: dialog.get_by_label(name, exact=True) for name in BOXES}
    expect(boxes["Cash"]).to_be_checked()
    in_force = [name for name, box in boxes.items() if box.is_checked()]
    assert in_force == ["Cash", "On account", "Return payments of others"]
    assert shop.visit.violations() == []
    for name in ("Cash", "Prepaid", "Return payments of others", "See all payments"):
        boxes[name].click()
    dialog.get_by_label("Name", exact=True).fill("Side door")
    dialog.get_by_label("Terminal", exact=True).select_option("")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)

    after = get(store.stage, path, store.owner).body["Pos"]
    assert (after["Name"], after["Phone"], after["TID"]) == ("Side door", before["Phone"], None)
    assert after["Rights"] == [201, 210]
    were, features = (one["MobileSettings"]["Features"] for one in (before, after))
    assert features == {**were, "AcceptCash": False, "AcceptPrepaid": True}
    shop.page.locator(".till", has_text=store.owner[0]).get_by_role("button", name="Change").click()
    expect(dialog.get_by_label("Administrator")).to_be_disabled()


def test_an_owner_reads_what_follows_before_she_blocks_herself(shop: Shop, store: Store) -> None:
    owner = shop.page.locator(".till", has_text=store.owner[0])
    dialog = shop.page.get_by_role("dialog")
    owner.get_by_role("button", name="Block").click()
    expect(dialog).to_contain_text("You are the only active administrator of the shop")
    expect(dialog.get_by_role("button")).to_have_text(["Cancel"])
    dialog.get_by_role("button", name="Cancel").click()
    an_account(Right.ADMINISTRATOR, merchant=store.merchant, name="Second owner")
    owner.get_by_role("button", name="Block").click()
    expect(dialog).to_contain_text("You are signed out at once")
    dialog.get_by_role("button", name="Block yourself").click()

    expect(shop.button("Sign in")).to_be_visible()
    assert get(store.stage, "/api/v1/user/me", store.owner).error == (401, 103)


def test_an_administrator_sets_the_new_password_of_whoever_forgot_it(shop: Shop, store: Store) -> None:
    till = shop.page.locator(".till", has_text=store.till[0])
    till.get_by_role("button", name="New password").click()
    password = shop.page.get_by_role("dialog").get_by_label("Password")
    password.fill("short")
    shop.button("Set the password").click()
    expect(password).to_have_attribute("aria-invalid", "true")
    password.fill(PASSWORD[::-1])
    shop.button("Set the password").click()
    expect(shop.page.get_by_role("dialog")).to_have_count(0)
    assert get(store.stage, "/api/v1/user/me", (store.till[0], PASSWORD[::-1])).status == 200
    shop.button("Sign out").click()
    shop.page.get_by_text("Forgot your password?").click()

    expect(shop.page.get_by_text("An administrator of your shop sets a new one for you")).to_be_visible()


def test_an_owner_sees_the_devices_of_a_till_and_signs_them_out(shop: Shop, store: Store) -> None:
    store.allow("AutoLogin")
    body = {"Email": store.till[0], "Password": PASSWORD, "Remember": True}
    first, second, session = (
        post(store.stage, "/api/v1/user/login/session", body, None, User_Agent=device).body["Data"]["SessionID"]
        for device in ("Till/7 (Sunmi V2)", "Till/7 (Sunmi V2)", "Kiosk/1")
    )
    till, dialog = shop.page.locator(".till", has_text=store.till[0]), shop.page.get_by_role("dialog")
    till.get_by_role("button", name="Devices").click()
    rows = dialog.get_by_role("listitem")
    expect(rows.filter(has_text="Kiosk/1")).to_contain_text(re.compile("Signed in .*Last used "))
    expect(rows.filter(has_text="Sunmi V2) (2)")).to_have_count(1)
    assert shop.visit.violations() == []
    rows.filter(has_text="Sunmi V2) (1)").get_by_role("button", name="Sign out").click()
    expect(dialog.get_by_text("Till/7 (Sunmi V2) (1) was signed out.")).to_be_focused()
    expect(rows).to_have_count(2)
    states = [get(store.stage, "/api/v1/user/me", (store.till[0], one)).status for one in (first, second, session)]
    assert (sorted(states), states[-1]) == ([200, 200, 401], 200)
    dialog.get_by_role("button", name="Sign out everywhere").click()
    expect(dialog).to_have_count(0)

    assert get(store.stage, "/api/v1/user/me", (store.till[0], session)).error == (401, 105)
    till.get_by_role("button", name="Devices").click()
    expect(dialog).to_contain_text("No device stays signed in.")
    dialog.get_by_role("button", name="Cancel").click()
    shop.page.locator(".till", has_text=store.owner[0]).get_by_role("button", name="Devices").click()
    expect(dialog).to_contain_text("This is your own login")
    dialog.get_by_role("button", name="Sign out everywhere").click()
    expect(shop.button("Sign in")).to_be_visible()


def test_people_stand_apart_from_tills_and_a_till_that_sold_was_used(shop: Shop, store: Store) -> None:
    post(store.stage, "/api/v1/payment/submit", a_body(), (store.till[0], store.till_key))
    shop.page.reload()
    shop.wait_for("Tills")
    tills, people = shop.page.locator("ul.tills").all()

    expect(tills.locator("li")).to_have_count(2)
    expect(people.locator("li")).to_contain_text([store.owner[0]])
    expect(tills.locator("li", has_text=store.till[0])).not_to_contain_text("Never")
    expect(tills.locator("li", has_text=store.till[0]).locator("dt")).to_have_text(["Terminal", "Last payment"])
    expect(tills.locator("li", has_text=store.colleague[0])).to_contain_text("None in the last 31 days")
