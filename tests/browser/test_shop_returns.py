"""Giving back in the shop's page: in three clicks, and once, whatever is clicked, reloaded or lost."""

import re
from decimal import Decimal

import pytest
from playwright.sync_api import Route, expect

from chalicelib.domain.acquirer import UnreachableError
from tests.browser.conftest import Visit
from tests.browser.shop import Shop, Store, a_store
from tests.browser.test_shop_sign_in import end_session
from tests.support.intercepted_calls import broken, failing

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
    for key in ("Tab+Tab+Enter", "Escape"):  # over Return to Cancel
        shop.button("Return…").click()
        expect(shop.page.get_by_label("Amount")).to_be_focused()
        for one in key.split("+"):
            shop.page.keyboard.press(one)
        expect(shop.page.get_by_role("dialog")).to_have_count(0)
        expect(shop.button("Return…")).to_be_focused()

    assert store.given_back(paid) == (Decimal(0), 0)


def test_two_returns_of_the_same_amount_are_two(shop: Shop, store: Store) -> None:
    paid = store.pay("10.00")
    open_payment(shop, paid)
    for number in (1, 2):
        shop.button("Return…").click()
        shop.page.get_by_label("Amount").fill("3")
        shop.give_back().click()
        expect(shop.page.get_by_role("dialog")).to_have_count(0)
        assert store.given_back(paid) == (Decimal(3 * number), number)


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


def test_a_refusal_by_the_service_stands_at_the_field_without_names_of_the_interface(shop: Shop, store: Store) -> None:
    finding = {"Type": 1, "Property": "BasicReverseTran.Amount", "Code": 7, "Message": "ZAR has 2 decimals."}
    refused = {"ErrorCode": 202, "ErrorMessage": "The request is not valid: see Validations.", "Validations": [finding]}
    open_payment(shop, store.pay("10.00"))
    shop.page.route(REVERSE, lambda route: route.fulfill(status=400, json=refused))
    shop.button("Return…").click()
    shop.give_back().click()

    expect(shop.page.get_by_role("alert")).to_have_text("This has too many decimals.")


def test_the_button_of_a_return_names_the_typed_amount(shop: Shop, store: Store) -> None:
    paid = store.pay("2500.00")
    open_payment(shop, paid)
    shop.button("Return…").click()
    expect(shop.page.get_by_label("Amount")).to_have_value("2,500.00")
    for typed, named in {
        "12": "R\u00a012.00",
        "1 163,58": "R\u00a01,163.58",
        "1,163.58": "R\u00a01,163.58",
        "1,163": "R\u00a01,163.00",
        "R 0,5": "R\u00a00.50",
    }.items():
        shop.page.get_by_label("Amount").fill(typed)
        expect(shop.give_back()).to_have_text(f"Return {named}")
    shop.page.get_by_label("Amount").fill("2501")
    expect(shop.give_back()).to_have_text("Return")


def test_a_return_after_one_in_another_tab_is_refused_in_one_message(shop: Shop, store: Store) -> None:
    paid = store.pay("10.00")
    open_payment(shop, paid)
    for amount, words in (("4.00", "Now R\u00a06.00 is left."), ("6.00", "another return has given back everything")):
        shop.button("Return…").click()
        store.give_back(paid, amount)
        shop.give_back().click()

        expect(shop.page.get_by_role("alert")).to_have_count(1)
        expect(shop.page.get_by_role("alert")).to_contain_text(words)
        expect(shop.page.get_by_role("dialog")).to_have_count(0)
    expect(shop.page.locator(".headline .badge")).to_have_text("Returned")
    assert store.given_back(paid) == (Decimal(10), 2)


def test_the_returns_of_a_payment_are_listed_with_their_reasons(shop: Shop, store: Store) -> None:
    paid = store.pay("10.00", Description="Two cups")
    open_payment(shop, paid)
    for amount, reason in (("2", "The cup was chipped"), ("3", "")):
        shop.button("Return…").click()
        shop.page.get_by_label("Amount").fill(amount)
        shop.page.get_by_label("Reason").fill(reason)
        shop.give_back().click()
        expect(shop.page.get_by_text(f"{amount}.00 was given back")).to_be_visible()
    returns = shop.page.locator(".returns li")
    expect(returns).to_have_text(
        [re.compile(r"The cup was chipped.*-R\s2\.00"), re.compile(r"No reason given.*-R\s3\.00")]
    )
    expect(shop.page.locator(".headline .badge")).to_have_text("Partly returned")
    returns.first.click()
    shop.wait_for("Return")
    expect(shop.page.locator("dt:text-is('Description') + dd")).to_have_text("The cup was chipped")
    shop.page.get_by_role("link", name="Show the payment").click()
    shop.wait_for("Payment")
    shop.look_at("Payments")

    expect(shop.row(paid).locator(".badge")).to_have_text("Partly returned")
    expect(shop.row(paid).locator(".badge")).to_have_attribute("class", "badge ")


@pytest.mark.parametrize("reloaded", [False, True])
def test_a_return_whose_answer_is_lost_gives_back_once(shop: Shop, store: Store, *, reloaded: bool) -> None:
    paid = store.pay("10.00")
    open_payment(shop, paid)
    shop.page.route(REVERSE, carried_out_without_an_answer)
    shop.button("Return…").click()
    shop.page.get_by_label("Amount").fill("4.00")
    shop.give_back().click()
    expect(shop.page.get_by_role("alert")).to_contain_text("No answer")
    assert store.given_back(paid) == (Decimal(4), 1)

    shop.page.unroute(REVERSE)
    if reloaded:
        shop.page.reload()
        expect(shop.button("Return…")).to_have_count(0)
        shop.button("Send again").click()
    expect(shop.page.get_by_label("Amount")).not_to_be_editable()
    shop.give_back().click()
    expect(shop.page.get_by_text("4.00 was given back")).to_be_visible()
    assert store.given_back(paid) == (Decimal(4), 1)


def test_a_return_that_is_not_answered_in_time_can_be_sent_again(shop: Shop, store: Store) -> None:
    paid = store.pay("10.00")
    shop.page.clock.install()
    open_payment(shop, paid)
    shop.page.reload()  # the clock is that of a page that comes after it
    shop.page.route(REVERSE, lambda _: None)
    shop.button("Return…").click()
    with shop.page.expect_request(REVERSE):
        shop.give_back().click()
    expect(shop.button("Returning…")).to_be_disabled()
    shop.page.clock.fast_forward(60_000)
    expect(shop.page.get_by_role("alert")).to_contain_text("No answer")

    shop.page.unroute(REVERSE)
    shop.give_back().click()
    expect(shop.page.get_by_text("10.00 was given back")).to_be_visible()
    assert store.given_back(paid) == (Decimal(10), 1)


@pytest.mark.parametrize("body", ['{"message": "Endpoint request timed out"}', "null", "<html>"])
def test_an_answer_that_is_not_of_the_service_leaves_a_return_open(body: str, shop: Shop, store: Store) -> None:
    paid = store.pay("10.00")
    open_payment(shop, paid)
    shop.page.route(REVERSE, lambda route: route.fulfill(status=504, body=body))
    shop.button("Return…").click()
    shop.give_back().click()

    expect(shop.page.get_by_role("alert")).to_contain_text("No answer")
    expect(shop.page.get_by_label("Amount")).not_to_be_editable()


def carried_out_without_an_answer(route: Route) -> None:
    route.fetch()
    route.abort()


def test_a_return_that_never_arrived_is_sent_again(shop: Shop, store: Store) -> None:
    paid = store.pay("10.00")
    open_payment(shop, paid)
    shop.page.route(REVERSE, lambda route: route.abort())
    shop.button("Return…").click()
    shop.give_back().click()
    expect(shop.page.get_by_role("alert")).to_contain_text("No answer")
    shop.button("Cancel").click()
    expect(shop.page.get_by_text("its outcome is not known")).to_be_visible()

    shop.page.unroute(REVERSE)
    shop.button("Send again").click()
    shop.give_back().click()
    expect(shop.page.get_by_text("10.00 was given back")).to_be_visible()
    assert store.given_back(paid) == (Decimal(10), 1)


def test_a_return_that_did_not_reach_the_bank_is_sent_as_a_new_one(
    shop: Shop, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid = store.pay_by_card("10.00")
    open_payment(shop, paid)
    shop.button("Return…").click()
    with broken(monkeypatch, reverse=failing(UnreachableError())):
        shop.give_back().click()
        expect(shop.page.get_by_role("alert")).to_contain_text("The bank cannot be reached")

    shop.give_back().click()
    expect(shop.page.get_by_text("10.00 was given back")).to_be_visible()
    assert store.given_back(paid) == (Decimal(10), 1)


def test_a_session_that_ends_in_the_middle_of_a_return_gives_back_once(shop: Shop, store: Store) -> None:
    paid = store.pay("10.00")
    open_payment(shop, paid)
    shop.page.reload()  # nothing else is being asked for when the session ends
    shop.wait_for("Payment")
    shop.button("Return…").click()
    shop.page.get_by_label("Amount").fill("6.00")
    end_session(shop)
    shop.give_back().click()
    again = shop.page.get_by_role("dialog", name="Sign in again")
    again.get_by_label("Password").fill(store.owner[1])
    again.get_by_role("button", name="Sign in").click()

    expect(shop.page.get_by_text("6.00 was given back")).to_be_visible()
    assert store.given_back(paid) == (Decimal(6), 1)


def test_a_payment_whose_outcome_is_not_known_says_what_to_do(shop: Shop, store: Store) -> None:
    unknown = store.pay_by_card("12.69")
    shop.look_at("Today")
    expect(shop.page.get_by_text("Do not take the money again")).to_be_visible()
    expect(shop.row(unknown).locator(".money")).to_have_css("text-decoration-line", "none")
    shop.row(unknown).click()

    expect(shop.page.get_by_text("Do not take the payment again")).to_be_visible()
    expect(shop.button("Return…")).to_have_count(0)
    expect(shop.button("Ask again")).to_be_visible()
    shop.button("Show the receipt").click()
    expect(shop.page.get_by_text("it is not known whether money moved")).to_be_visible()
    expect(shop.page.get_by_text("no money moved")).to_have_count(0)
