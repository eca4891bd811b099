"""Giving back in the shop's page: in three clicks, and once, whatever is clicked, reloaded or lost."""

from decimal import Decimal

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import Visit
from tests.browser.shop import Shop, Store, a_store

REVERSE = "**/api/v1/payment/reverse"


@pytest.fixture
def store(stage: str) -> Store:
    return a_store(stage)


@pytest.fixture
def shop(visit_by_phone: Visit, store: Store) -> Shop:
    """The list of payments, with the owner signed in."""
    shop = Shop(visit_by_phone, store.stage)
    shop.sign_in(store.owner, "#/payments")
    shop.wait_for("Payments")
    return shop


def open_payment(shop: Shop, payment: str) -> None:
    shop.open(f"#/payments/{payment}")
    shop.wait_for("Payment")


def test_a_payment_is_given_back_by_three_clicks(shop: Shop, store: Store) -> None:
    paid = store.pay("12.30")
    shop.page.reload()
    shop.row(paid).click()
    shop.button("Return…").click()
    shop.give_back().click()

    expect(shop.page.get_by_role("status").filter(has_text="12.30 was given back")).to_be_focused()
    assert store.given_back(paid) == (Decimal("12.30"), 1)
    expect(shop.button("Return…")).to_have_count(0)


def test_a_double_click_gives_back_once(shop: Shop, store: Store) -> None:
    paid = store.pay("12.30")
    open_payment(shop, paid)
    shop.button("Return…").click()
    shop.page.get_by_label("Amount").fill("2.30")
    shop.give_back().dblclick()

    expect(shop.page.get_by_role("dialog")).to_have_count(0)
    assert store.given_back(paid) == (Decimal("2.30"), 1)
    expect(shop.button("Return…")).to_be_visible()


def test_a_return_can_be_left(shop: Shop, store: Store) -> None:
    paid = store.pay()
    open_payment(shop, paid)
    for key in ("Tab+Tab+Tab+Enter", "Escape"):  # over Reason and Return to Cancel
        shop.button("Return…").click()
        expect(shop.page.get_by_label("Amount")).to_be_focused()
        for one in key.split("+"):
            shop.page.keyboard.press(one)
        expect(shop.page.get_by_role("dialog")).to_have_count(0)
        expect(shop.button("Return…")).to_be_focused()

    assert store.given_back(paid) == (Decimal(0), 0)


def test_a_wrong_amount_is_refused_in_plain_words_at_its_field(shop: Shop, store: Store) -> None:
    paid = store.pay("10.00")
    open_payment(shop, paid)
    shop.button("Return…").click()
    amount = shop.page.get_by_label("Amount")
    for typed, words in {
        "10.01": "At most R\u00a010.00 can be returned.",
        "0": "Type an amount above zero.",
        "-1": "Type an amount above zero.",
        "1.005": "Type at most 2 decimals.",
        "ten": "Type an amount, such as 12.30.",
    }.items():
        amount.fill(typed)
        shop.give_back().click()

        expect(shop.page.get_by_role("alert")).to_have_text(words)
        expect(amount).to_be_focused()
        expect(amount).to_have_attribute("aria-invalid", "true")
    assert store.given_back(paid) == (Decimal(0), 0)


def test_a_return_whose_answer_is_lost_gives_back_once_also_after_a_reload(shop: Shop, store: Store) -> None:
    paid = store.pay("10.00")
    open_payment(shop, paid)
    shop.page.route(REVERSE, carried_out_without_an_answer)
    shop.button("Return…").click()
    shop.page.get_by_label("Amount").fill("4.00")
    shop.give_back().click()
    expect(shop.page.get_by_role("alert")).to_contain_text("No answer")
    assert store.given_back(paid) == (Decimal(4), 1)

    shop.page.unroute(REVERSE)
    shop.page.reload()
    expect(shop.button("Return…")).to_have_count(0)
    shop.button("Send again").click()
    expect(shop.page.get_by_label("Reason")).not_to_be_editable()
    shop.give_back().click()
    expect(shop.page.get_by_text("4.00 was given back")).to_be_visible()
    assert store.given_back(paid) == (Decimal(4), 1)


def carried_out_without_an_answer(route: Route) -> None:
    route.fetch()
    route.abort()
