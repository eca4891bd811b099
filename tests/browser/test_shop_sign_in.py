"""A session of the shop's page: in one tab, ended in the middle of things, and in another language."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from chalicelib.domain.secret import Secret
from chalicelib.services.authentication import session_digest
from chalicelib.store import sessions
from chalicelib.store.table import update, write_one
from tests.browser.conftest import Visit
from tests.browser.shop import Shop
from tests.support.http import OTHER_OWNER, OWNER, TILL, post
from tests.support.transactions import a_body


@pytest.fixture
def shop(visit_by_phone: Visit, stage: str) -> Shop:
    return Shop(visit_by_phone, stage)


def end_session(shop: Shop) -> None:
    """Let the session of the page be unused for a day."""
    token = shop.page.evaluate("JSON.parse(sessionStorage.getItem('payments.session')).token")
    used_at = datetime.now(UTC) - timedelta(days=1)
    write_one(update(sessions.key(session_digest(Secret(token))), {"used_at": used_at}))


def test_nothing_outlives_the_tab(shop: Shop) -> None:
    shop.sign_in()
    another = shop.page.context.new_page()
    another.goto(f"{shop.stage}/app#/payments")

    expect(another.get_by_role("button", name="Sign in")).to_be_visible()
    assert shop.page.evaluate("localStorage.length") == 0
    assert shop.page.context.cookies() == []
    another.close()


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
