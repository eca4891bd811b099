"""A page of another origin, in a browser: it pays where the stage lists its origin, and is refused where not."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.support.http import TILL, basic, get
from tests.support.origins import allowing
from tests.support.transactions import a_body

pytestmark = pytest.mark.usefixtures("stage")

SUBMIT, LOGIN = "/api/v1/payment/submit", "/api/v1/user/login/session"
AUTH_ACCOUNT = "/api/v1/payment/AuthAccount"
# As a shop's page does it; what the browser does not let the page read is null.
FETCH = """async ([url, method, headers, body]) => {
  const reply = await fetch(url, { method, headers, body: body && JSON.stringify(body) });
  const names = ["Retry-After", "Idempotent-Replayed", "x-amzn-RequestId", "Content-Encoding"];
  const read = Object.fromEntries(names.map((name) => [name, reply.headers.get(name)]));
  return { status: reply.status, headers: read, body: await reply.json() };
}"""
REFUSED = f"(argument) => ({FETCH})(argument).then(() => 'answered', (error) => error.name)"


class Blank(BaseHTTPRequestHandler):
    """A page of some site."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>A shop</title>")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def site() -> Iterator[str]:
    """The origin of a site that is not the stage's."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Blank) as serving:
        Thread(target=serving.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://localhost:{serving.server_address[1]}"
        serving.shutdown()


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """A page of the site."""
    with browser.new_context() as context:
        shown = context.new_page()
        shown.goto(site)
        yield shown


def fetched(page: Page, url: str, body: Any, **headers: str) -> Any:
    sent = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return page.evaluate(FETCH, [url, "POST" if body else "GET", sent, body])


def test_it_pays_with_a_password_and_sees_that_a_payment_was_repeated(page: Page, site: str) -> None:
    sent = {"Authorization": basic(TILL), "Idempotency_Key": "a-key-of-the-page"}
    body = a_body(ID=None)
    with allowing(site) as shop:
        first, again = (fetched(page, shop + SUBMIT, body, **sent) for _ in range(2))

    assert (first["status"], first["body"]["ErrorCode"]) == (200, 0)
    assert again["body"]["Transaction"]["ID"] == first["body"]["Transaction"]["ID"]
    assert (first["headers"]["Idempotent-Replayed"], again["headers"]["Idempotent-Replayed"]) == (None, "true")
    assert first["headers"]["x-amzn-RequestId"]


def test_it_signs_in_pays_with_the_session_and_sees_when_to_come_back(page: Page, site: str) -> None:
    with allowing(site) as shop:
        signed_in = fetched(page, shop + LOGIN, {"Email": TILL[0], "Password": TILL[1]})
        session = f"Session {signed_in['body']['Data']['SessionID']}"
        paid = fetched(page, shop + SUBMIT, a_body(), Authorization=session)
        settings = [fetched(page, shop + AUTH_ACCOUNT, None, Authorization=session) for _ in range(2)]

    assert (paid["status"], paid["body"]["Transaction"]["Substate"]) == (200, 411)
    assert settings[-1]["status"] == 429
    assert int(settings[-1]["headers"]["Retry-After"]) > 0


def test_it_reads_why_the_gateway_refused_it(page: Page, site: str) -> None:
    with allowing(site) as shop:
        denied = fetched(page, shop + SUBMIT, a_body(), Authorization="Basic bm9ib2R5Ong=")

    assert (denied["status"], denied["body"]["ErrorCode"]) == (401, 102)


@pytest.mark.parametrize("origins", [(), ("https://shop.example",)])
def test_it_is_refused_by_the_browser_where_its_origin_is_not_listed(
    page: Page, stage: str, origins: tuple[str, ...]
) -> None:
    body = a_body()
    headers = {"Content-Type": "application/json", "Authorization": basic(TILL)}
    with allowing(*origins) as shop:
        outcomes = [
            page.evaluate(REFUSED, [shop + SUBMIT, "POST", headers, body]),
            page.evaluate(REFUSED, [shop + "/api/v1/health", "GET", {}, None]),
            page.evaluate(REFUSED, [shop + SUBMIT, "POST", {}, None]),
        ]

    assert outcomes == ["TypeError"] * 3
    assert get(stage, f"/api/v1/payment/{body['BasicTran']['ID']}").error == (404, 568)  # it was not even sent


def test_the_browsers_own_credentials_are_never_let_in(page: Page, site: str) -> None:
    asked = "(url) => fetch(url, { credentials: 'include' }).then(() => 'answered', (error) => error.name)"
    with allowing(site) as shop:
        assert page.evaluate(asked, f"{shop}/api/v1/health") == "TypeError"
        assert page.evaluate(asked.replace("include", "omit"), f"{shop}/api/v1/health") == "answered"
