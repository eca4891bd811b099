"""The reference in a browser: everybody can read it, search it, and try a request against the stage."""

import http.client
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from chalicelib.routes.pages import GUIDES
from tests.browser.conftest import WAIT_MILLISECONDS, Visit
from tests.support.http import TILL

PAYMENT = "#tag/payments/POST/api/v1/payment/submit"


@pytest.fixture(scope="module")
def reference(visit: Visit, server: str) -> Visit:
    """The reference at the operation that takes a payment, on each screen."""
    visit.page.goto(f"{server}/docs{PAYMENT}")
    wait_for_the_payment(visit.page)
    return visit


def wait_for_the_payment(page: Page) -> None:
    expect(page.locator("section[id$='/POST/api/v1/payment/submit']")).to_be_in_viewport(timeout=WAIT_MILLISECONDS)
    expect(page.get_by_role("button", name="Test Request").first).to_be_visible()


def test_everybody_can_read_it_on_every_screen(reference: Visit) -> None:
    assert reference.violations() == []
    assert reference.overflow() <= 0


def test_it_shows_the_recorded_answers(reference: Visit) -> None:
    expect(reference.page.get_by_text('"AdditionalAcquiringFieldsTitle"').first).to_be_attached()


def test_it_is_searched_by_everybody(reference: Visit) -> None:
    page = reference.page
    page.keyboard.press("Control+k")
    page.locator("[role=search] input").fill("rate limit")
    expect(page.get_by_role("option").first).to_contain_text("Sending again")

    assert reference.violations() == []
    page.keyboard.press("Escape")
    expect(page.locator("[role=search] input")).to_have_count(0)


def test_a_request_is_tried_against_the_stage_it_is_on(reference: Visit, stage: str) -> None:
    page = reference.page
    page.get_by_role("button", name="Test Request").first.click()
    client = page.get_by_role("dialog", name="API Client")
    send = client.get_by_role("button", name="Send post request")
    username, password = client.get_by_role("combobox", name="Username"), client.get_by_label("Password", exact=True)
    expect(username).to_have_text(TILL[0])  # the login of the demo data, which only a local stage offers
    password.fill("wrong")
    send.click()
    expect(client.get_by_text("401 Unauthorized")).to_be_visible()
    assert reference.complaints.pop().endswith("401 (Unauthorized)")  # the browser's own note
    password.fill(TILL[1])
    with page.expect_response(f"{stage}/api/v1/payment/submit") as answered:
        send.click()

    assert answered.value.json()["Transaction"]["Substate"] == 411
    expect(client.get_by_text("200 OK")).to_be_visible()
    assert reference.violations() == []
    page.get_by_role("button", name="Close Client").first.click()
    expect(page.locator(".pages")).not_to_have_attribute("inert", "")


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


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("refund", "The life of a payment"),
        ("void", "The life of a payment"),
        ("idempotency", "Sending again"),
        ("4000000000000002", "Cards and test numbers"),
        ("rate limit", "Sending again"),
    ],
)
def test_the_search_finds_what_people_look_for(words: str, found: str, page: Page) -> None:
    page.get_by_role("button", name="Search").first.click()
    page.locator("[role=search] input").fill(words)

    expect(page.get_by_role("option").filter(has_text=found).first).to_be_visible()
    page.keyboard.press("Escape")


@pytest.mark.parametrize("word", ["refund", "void"])
def test_the_search_puts_reversals_first_by_the_words_of_other_interfaces(word: str, page: Page) -> None:
    page.get_by_role("button", name="Search").first.click()
    page.locator("[role=search] input").fill(word)

    expect(page.get_by_role("option").first).to_contain_text("Refund or void")
    page.keyboard.press("Escape")


def test_there_are_samples_in_the_languages_of_shops(page: Page) -> None:
    page.get_by_role("button", name="Shell Curl").first.click()

    for language in ("C#", "Go", "Java", "JavaScript", "Kotlin", "Node.js", "PHP", "Python", "Ruby", "Swift"):
        expect(page.get_by_text(language, exact=True).first).to_be_attached()


def test_it_works_behind_the_name_of_a_stage(visit_at_a_desk: Visit, gateway: str) -> None:
    page = visit_at_a_desk.page
    page.goto(f"{gateway}/api/docs/{PAYMENT}")
    expect(page).to_have_url(f"{gateway}/api/docs{PAYMENT}")
    wait_for_the_payment(page)

    expect(page.get_by_text(f"{gateway}/api/api/v1/payment/submit").first).to_be_attached()
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


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_can_be_read_by_everybody_on_every_screen(name: str, visit: Visit, server: str) -> None:
    visit.page.goto(f"{server}/docs/{name}")

    assert visit.violations() == []
    assert visit.overflow() == 0
    assert visit.complaints == []
    assert visit.requests_elsewhere(server) == []


def test_a_guide_names_the_stage_it_is_read_at(visit_at_a_desk: Visit, server: str) -> None:
    page = visit_at_a_desk.page
    page.goto(f"{server}/docs/first-payment")

    expect(page.locator(".origin").first).to_have_text(server)
    assert "127.0.0.1:8000" not in page.inner_text("main")


def test_every_page_leads_to_every_other(visit_at_a_desk: Visit, server: str) -> None:
    page = visit_at_a_desk.page
    page.goto(f"{server}/docs/errors/")

    for name in GUIDES:
        page.locator(f".pages a[href$='{name}']").click()
        expect(page).to_have_url(f"{server}/docs/{name}")
        expect(page.locator(".pages [aria-current]")).to_have_count(1)
    page.get_by_role("link", name="Reference").click()
    expect(page).to_have_url(f"{server}/docs")
