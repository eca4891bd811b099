"""The reference in a browser: everybody can read it, search it, and try a request against the stage."""

import http.client
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Visit
from tests.support.http import TILL

PAYMENT = "#?route=post-/api/v1/payment/submit"


@pytest.fixture(scope="module")
def reference(visit: Visit, server: str) -> Visit:
    """The reference at the operation that takes a payment, on each screen."""
    visit.page.goto(f"{server}/docs{PAYMENT}")
    wait_for_the_payment(visit.page)
    return visit


def wait_for_the_payment(page: Page) -> None:
    expect(page.locator("[part=label-operation-path]")).to_have_text(re.compile("/api/v1/payment/submit"))
    expect(page.get_by_role("button", name="Execute")).to_be_visible()


def test_everybody_can_read_it_on_every_screen(reference: Visit) -> None:
    assert reference.violations() == []
    assert reference.overflow() <= 0


def test_it_shows_the_fields_and_the_answers(reference: Visit) -> None:
    expect(reference.page.get_by_text('"AdditionalAcquiringFieldsTitle"').first).to_be_attached()
    reference.page.get_by_role("button", name="Model").first.click()
    expect(reference.page.get_by_text("AmountCashGot").first).to_be_visible()

    assert reference.violations() == []
    reference.page.get_by_role("button", name="Body").first.click()


def test_a_request_is_tried_against_the_stage_it_is_on(reference: Visit, stage: str) -> None:
    page = reference.page
    with page.expect_response(f"{stage}/api/v1/payment/submit") as answered:
        page.get_by_role("button", name="Execute").click()  # with the login of the demo data, on a local stage

    assert answered.value.json()["Transaction"]["Substate"] == 411
    expect(page.get_by_text("Response Status: OK (200)")).to_be_visible()
    assert reference.violations() == []


def test_a_request_is_tried_with_a_login_that_is_kept(reference: Visit, server: str) -> None:
    page = reference.page
    body = page.get_by_role("textbox", name="Request body", exact=False)
    sign_in(page, server, "wrong")
    page.get_by_role("button", name="Execute").click()
    expect(page.get_by_text("Response Status: Unauthorized (401)")).to_be_visible()
    assert reference.complaints.pop().endswith("401 (Unauthorized)")  # the browser's own note
    sign_in(page, server, TILL[1])
    typed = '{"BasicTran": {"InputType": 10, "CurrencyID": "ZAR", "Amount": 3.21}, "AcqTran": {"AcquirerCode": "CASH"}}'
    body.fill(typed)
    page.get_by_role("button", name="Execute").click()

    expect(page.get_by_text("Response Status: OK (200)")).to_be_visible()
    expect(body).to_have_value(typed)


def sign_in(page: Page, server: str, password: str) -> None:
    """Give the reference another login, and come back to the payment."""
    page.goto(f"{server}/docs#?route=auth")
    page.get_by_role("button", name="Remove").or_(page.get_by_placeholder("password")).first.wait_for()
    if page.get_by_role("button", name="Remove").count():
        page.get_by_role("button", name="Remove").click()
    page.get_by_placeholder("username").fill(TILL[0])
    page.get_by_placeholder("password").fill(password)
    page.get_by_role("button", name="Set").first.click()
    page.goto(f"{server}/docs{PAYMENT}")
    wait_for_the_payment(page)


def test_it_complains_of_nothing_and_asks_nobody_else(reference: Visit, server: str) -> None:
    assert reference.complaints == []
    assert reference.requests_elsewhere(server) == []


@pytest.fixture(scope="module")
def page(browser: Browser, server: str) -> Iterator[Page]:
    """The reference at the operation that takes a payment, on a desk."""
    shown = browser.new_page()
    shown.goto(f"{server}/docs{PAYMENT}")
    wait_for_the_payment(shown)
    yield shown
    shown.close()


def test_the_filter_finds_what_people_look_for(page: Page) -> None:
    page.get_by_placeholder("Filter").fill("refund")

    expect(page.get_by_role("link").filter(has_text="Refund or void").first).to_be_visible()
    expect(page.get_by_role("link").filter(has_text="Sign in")).to_have_count(0)


def test_it_works_behind_the_name_of_a_stage(visit_at_a_desk: Visit, gateway: str) -> None:
    page = visit_at_a_desk.page
    page.goto(f"{gateway}/api/docs/{PAYMENT}")
    expect(page).to_have_url(f"{gateway}/api/docs{PAYMENT}")
    wait_for_the_payment(page)
    with page.expect_response(f"{gateway}/api/api/v1/payment/submit"):
        page.get_by_role("button", name="Execute").click()
    expect(page.get_by_text("Response Status")).to_be_visible()

    assert "501" in visit_at_a_desk.complaints.pop()  # this gateway forwards only GET
    assert [url for url in visit_at_a_desk.requests if not url.startswith((f"{gateway}/api/", "data:"))] == []
    assert visit_at_a_desk.complaints == []


@pytest.fixture
def gateway(server: str) -> Iterator[str]:
    """The service as API Gateway's own host shows it: behind the name of the stage, /api."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            connection = http.client.HTTPConnection(urlsplit(server).netloc)
            connection.request("GET", self.path.removeprefix("/api"))
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name not in {"Connection", "Date"}:
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
        Thread(target=serving.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()
