"""Webhooks in the shop's page: created and tested; what was sent to them, and sending it again."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Visit
from tests.browser.shop import Shop, Store, a_store
from tests.support import events
from tests.support.receivers import Call, Receiver, a_receiver, problem_of

SCRIPT = "<script>document.title='run'</script>"


@pytest.fixture
def store(stage: str) -> Store:
    return a_store(stage)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver on this machine."""
    events.forget()
    with a_receiver() as running:
        yield running


@pytest.fixture
def shop(visit_by_phone: Visit, store: Store) -> Shop:
    """The view of webhooks, with the owner signed in."""
    shop = Shop(visit_by_phone, store.stage)
    shop.sign_in(store.owner, "#/webhooks")
    shop.wait_for("Webhooks")
    return shop


def look_again(shop: Shop) -> None:
    shop.page.reload()
    shop.wait_for("Webhooks")


def send(shop: Shop, button: Locator) -> None:
    """Click a button that sends, and let the streams deliver it once the page has looked in vain."""
    sent = re.compile("/(test|resend)$")
    with shop.page.expect_response("**/event/list"), shop.page.expect_response(sent):
        button.click()
    events.deliver_all()


def problems_of(call: Call, *secrets: str) -> list[str | None]:
    """Return what is wrong with a call for a receiver that has each of the secrets."""
    return [problem_of(secret, call.headers, call.body) for secret in secrets]


def test_a_webhook_is_created_and_its_secret_is_shown_once(shop: Shop, store: Store, receiver: Receiver) -> None:
    shop.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shop.button("New webhook").click()
    address = shop.page.get_by_label("Address")
    address.fill(receiver.url)
    shop.page.get_by_label("Return declined").uncheck()
    shop.button("Create").click()
    secret = shop.page.locator("code").inner_text()
    expect(shop.page.get_by_text("It is shown only this once")).to_be_focused()
    shop.button("Copy").click()
    expect(shop.page.get_by_text("Copied.")).to_be_visible()
    store.pay()
    events.deliver_all()

    assert shop.page.evaluate("navigator.clipboard.readText()") == secret
    assert secret not in shop.page.evaluate("JSON.stringify([sessionStorage, localStorage])")
    assert problems_of(receiver.calls[0], secret) == [None]
    assert [(one["Url"], len(one["Types"])) for one in store.webhooks()] == [(receiver.url, 6)]
    shop.open("#/today")  # with the dialog open
    shop.wait_for("Today")
    shop.look_at("Webhooks")
    expect(shop.page.locator(".webhook", has_text=receiver.url)).to_be_visible()
    assert secret not in shop.page.content()
    assert shop.visit.complaints == []


def test_what_a_receiver_answers_is_shown_and_an_event_is_sent_again(shop: Shop, store: Store) -> None:
    events.forget()
    statuses = [500, 500, 200]
    with a_receiver(lambda _: statuses.pop(0), body=SCRIPT.encode()) as receiver:
        store.subscribe(receiver.url)
        paid = store.pay()
        events.deliver_all()
        look_again(shop)
        send(shop, shop.button("Send a test"))
        expect(shop.page.get_by_text("The server refused it: 500")).to_contain_text("It has a fault of its own.")
        expect(shop.page.locator(".event .what")).to_have_text(["Test", "Payment approved"])
        expect(shop.page.locator(".event .badge")).to_have_text(["Failing", "Failing"])
        expect(shop.page.locator(".webhook .badge")).to_have_text("Failing")
        shop.page.get_by_role("button", name="Details Payment approved").click()
        expect(shop.page.locator(".attempts")).to_contain_text(SCRIPT)
        send(shop, shop.button("Send again"))

    expect(shop.page.get_by_text("It was delivered: 200")).to_be_visible()
    expect(shop.page.locator(".attempts li")).to_have_count(2)
    expect(shop.page.locator(".webhook .badge")).to_have_text("On")
    assert shop.page.title() != "run"
    shop.page.get_by_role("link", name=f"Payment {paid[:8]}").click()
    shop.wait_for("Payment")
    expect(shop.page).to_have_url(re.compile(f"#/payments/{paid}$"))


def test_a_server_that_is_off_is_named_in_plain_words(shop: Shop, store: Store) -> None:
    events.forget()
    with a_receiver() as receiver:
        url = receiver.url
    store.subscribe(url)
    look_again(shop)
    send(shop, shop.button("Send a test"))
    sentence = "Nothing listens at this address. Is the server running?"

    expect(shop.page.locator(".sent")).to_have_text(f"It was not delivered. {sentence}")
    expect(shop.page.locator(".webhook dd").last).to_contain_text(sentence)
    assert "Error" not in shop.page.inner_text("main")
