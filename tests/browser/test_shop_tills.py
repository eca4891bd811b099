"""Tills in the shop's page: blocked, unblocked and unlocked, with a new key, and created."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.shop import Shop, Store, a_store
from tests.support.accounts import PASSWORD
from tests.support.builders import an_email
from tests.support.http import call, get, post
from tests.support.transactions import a_body


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


def test_a_till_is_created_with_its_terminal_and_key(shop: Shop, store: Store) -> None:
    email = an_email()
    shop.button("New till").click()
    dialog = shop.page.get_by_role("dialog")
    for name, text in {
        "Name": "Market till",
        "E-mail": email,
        "Phone": "+27 82 987 6543",
        "Password": PASSWORD,
    }.items():
        dialog.get_by_label(name, exact=True).fill(text)
    dialog.get_by_label("Terminal", exact=True).fill("NO SUCH")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_role("alert")).to_contain_text("TID")
    dialog.get_by_label("Terminal", exact=True).fill("")
    dialog.get_by_role("button", name="Create").click()
    key = dialog.locator("code").inner_text()
    shop.button("Done").click()

    expect(shop.page.locator(".till", has_text=email)).to_contain_text("Market till")
    assert call(store.stage, "GET", "/api/v1/user/me", None, (email, key)).status == 200
