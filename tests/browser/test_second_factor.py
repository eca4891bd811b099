"""The second factor and the link for a forgotten password, as a person with a telephone meets them."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect
from pyotp import TOTP

from chalicelib import outside
from chalicelib.domain.permissions import Right
from chalicelib.services import outbox
from tests.browser.conftest import Visit
from tests.browser.shop import Shop
from tests.support.accounts import PASSWORD, a_stored_merchant, a_stored_terminal, an_account
from tests.support.receipts import mails


@pytest.fixture
def shop(visit_by_phone: Visit, stage: str) -> Shop:
    visit_by_phone.page.set_viewport_size({"width": 320, "height": 700})
    return Shop(visit_by_phone, stage)


def check(shop: Shop) -> None:
    assert shop.visit.violations() == []
    assert shop.visit.overflow() <= 0


def sign_in(page: Page, email: str, code: str) -> None:
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Code")).to_be_focused()
    page.keyboard.type(code)
    page.keyboard.press("Enter")


def test_a_factor_is_set_up_by_keyboard_and_asked_for_by_both_pages(shop: Shop) -> None:
    merchant = a_stored_merchant()
    account = an_account(Right.ADMINISTRATOR, merchant=merchant, terminal_id=a_stored_terminal(merchant))
    shop.sign_in((account.email, PASSWORD))
    shop.open("#/shop")
    page = shop.page
    page.get_by_role("button", name="Set up a second factor").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("img", name="QR: scan it with your app")).to_be_visible()
    page.get_by_text("Without a camera").click()
    secret = page.locator(".key code").inner_text()
    check(shop)

    page.get_by_label("Code").fill("000000")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("second factor")
    now = outside.now()
    page.get_by_label("Code").fill(TOTP(secret).at(now - timedelta(seconds=30)))
    page.keyboard.press("Enter")
    expect(page.get_by_text("recovery codes")).to_be_visible()
    recovery_codes = page.locator(".key code").inner_text().split()
    assert len(recovery_codes) == 10
    page.emulate_media(media="print")
    expect(page.locator(".key code")).to_be_visible()
    expect(page.get_by_label("Tax number")).to_be_hidden()
    page.emulate_media(media="screen")
    check(shop)
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("heading", name="Second factor")).to_be_focused()
    check(shop)

    shop.button("Sign out").click()
    sign_in(page, account.email, recovery_codes[0])
    expect(page.get_by_role("heading", name="Shop", exact=True)).to_be_visible()
    page.goto(f"{shop.stage}/till")
    sign_in(page, account.email, recovery_codes[1])
    expect(page.get_by_role("button", name="Sign out")).to_be_attached()


def test_a_forgotten_password_is_replaced_by_the_link_of_an_e_mail(shop: Shop) -> None:
    account, page = an_account(Right.ADMINISTRATOR), shop.page
    shop.open()
    page.get_by_text("Forgot your password?").click()
    check(shop)
    page.locator("#forgotten").fill(account.email)
    shop.button("Send a link").click()
    expect(page.get_by_role("status")).to_contain_text("a link is on its way")
    outbox.sweep(datetime.now(UTC) + timedelta(seconds=61))
    [link] = re.findall(r"#/reset/\S+", mails(account.email)[-1].body)

    shop.open(link)
    check(shop)
    page.get_by_label("Password").fill("short")
    shop.button("Set the password").click()
    expect(page.get_by_label("Password")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Password").fill("another long password")
    shop.button("Set the password").click()
    expect(page.get_by_role("status")).to_be_focused()
    check(shop)
    page.get_by_role("link", name="Sign in").click()
    shop.fill_in((account.email, "another long password"))
    expect(shop.button("Sign out")).to_be_visible()
