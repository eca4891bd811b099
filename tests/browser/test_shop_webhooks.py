"""Webhooks in the shop's page: created, changed and tested; what was sent to them, and sending it again."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Visit
from tests.browser.shop import Shop, Store, a_store
from tests.browser.test_shop_returns import carried_out_without_an_answer
from tests.support import events
from tests.support.events import a_stored_event
from tests.support.http import post
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


def test_what_is_wrong_stands_at_its_field(shop: Shop, store: Store) -> None:
    shop.button("New webhook").click()
    address = shop.page.get_by_label("Address")
    address.fill("http://10.0.0.1/")
    shop.button("Create").click()
    expect(shop.page.get_by_role("alert")).to_contain_text("An address such as https://shop.example/events")
    expect(address).to_have_attribute("aria-invalid", "true")
    expect(address).to_be_focused()
    address.fill("https://shop.example/events")
    for kind in shop.page.get_by_role("checkbox").all():
        kind.uncheck()
    shop.button("Create").click()

    expect(shop.page.get_by_role("alert")).to_have_text("Choose at least one kind of event.")
    assert store.webhooks() == []


def test_a_webhook_whose_answer_was_lost_is_found_in_the_list(shop: Shop) -> None:
    shop.page.route("**/webhook/create", carried_out_without_an_answer)
    shop.button("New webhook").click()
    shop.page.get_by_label("Address").fill("https://shop.example/events")
    shop.button("Create").click()
    expect(shop.page.get_by_role("alert")).to_contain_text("it may have been created")
    shop.button("Cancel").click()

    expect(shop.page.locator(".webhook")).to_have_count(1)


def test_a_webhook_is_changed_and_switched_off_and_on(shop: Shop, store: Store) -> None:
    store.subscribe("https://shop.example/old", Types=["payment.approved"])
    look_again(shop)
    shop.button("Change").click()
    shop.page.get_by_label("Address").fill("https://shop.example/new")
    for kind in shop.page.get_by_role("checkbox").all():
        kind.check()
    shop.button("Save").click()
    expect(shop.page.locator(".webhook")).to_contain_text("https://shop.example/new")
    expect(shop.page.locator(".webhook")).to_contain_text("Every kind of event")
    for act, words, state in (("Switch off", "Off", 0), ("Switch on", "On", 1)):
        shop.button(act).click()
        shop.page.get_by_role("dialog").get_by_role("button", name=act).click()
        expect(shop.page.locator(".webhook .badge")).to_have_text(words)
        assert [one["State"] for one in store.webhooks()] == [state]


def test_a_webhook_is_deleted_after_a_question(shop: Shop, store: Store) -> None:
    store.subscribe("https://shop.example/old", Types=["payment.approved"])
    look_again(shop)
    for answer, left in (("Cancel", 1), ("Delete", 0)):
        shop.button("Delete").click()
        shop.page.get_by_role("dialog").get_by_role("button", name=answer).click()
        expect(shop.page.get_by_role("dialog")).to_have_count(0)
        expect(shop.page.locator(".webhook")).to_have_count(left)
        assert len(store.webhooks()) == left


def test_a_new_secret_signs_beside_the_old_one_for_a_day(shop: Shop, store: Store, receiver: Receiver) -> None:
    old = store.subscribe(receiver.url)["Secret"]
    look_again(shop)
    shop.button("New secret").click()
    shop.button("Make a new secret").click()
    new = shop.page.locator("code").inner_text()
    expect(shop.page.get_by_text("The old secret is valid until")).to_be_visible()
    shop.button("Done").click()
    send(shop, shop.button("Send a test"))

    assert problems_of(receiver.calls[0], old, new) == [None, None]
    assert old != new


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


def test_who_is_no_administrator_is_refused_in_the_words_of_the_service(visit_by_phone: Visit, store: Store) -> None:
    refused = post(store.stage, f"/api/v1/merchant/{store.client_id}/webhook/list", {}, store.till)
    shop = Shop(visit_by_phone, store.stage)
    shop.sign_in(store.till, "#/webhooks")

    expect(shop.page.get_by_role("alert")).to_contain_text(refused.body["ErrorMessage"])
    expect(shop.page.get_by_role("link", name="Webhooks")).to_have_count(0)
    expect(shop.button("New webhook")).to_have_count(0)


def test_the_events_go_on_page_by_page(shop: Shop, store: Store) -> None:
    store.subscribe("https://shop.example/events")
    for _ in range(101):
        a_stored_event(store.client_id)
    look_again(shop)
    expect(shop.page.locator(".event")).to_have_count(100)
    shop.page.get_by_role("link", name="Next").click()

    expect(shop.page.get_by_text("Page 2")).to_be_visible()
    expect(shop.page.locator(".event")).to_have_count(1)
    expect(shop.page.get_by_role("link", name="Next")).to_have_count(0)
