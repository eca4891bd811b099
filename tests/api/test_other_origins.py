"""Pages of other origins: those of a listed one may call and read what they need, others are told nothing."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.http import Reply, call, post
from tests.support.origins import SHOP, allowing, told
from tests.support.transactions import a_body

SUBMIT = "/api/v1/payment/submit"
STRANGER = "https://stranger.example"
READABLE = {"Allow-Origin": SHOP, "Expose-Headers": "Retry-After, Idempotent-Replayed, x-amzn-RequestId"}
SENT = "Authorization, Content-Type, Idempotency-Key"


@pytest.fixture
def shop(stage: str) -> Iterator[str]:
    """The local stage, which allows the pages of a shop: its URL."""
    del stage
    with allowing(SHOP) as url:
        yield url


def preflight(stage: str, path: str, origin: str) -> Reply:
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x"}
    return call(stage, "OPTIONS", path, None, None, asked)


@pytest.mark.parametrize(
    ("path", "methods"),
    [(SUBMIT, "POST"), ("/api/v1/payment/AuthAccount", "GET"), ("/api/v1/user/login/session", "POST")],
)
def test_a_preflight_is_answered_without_a_credential(shop: str, path: str, methods: str) -> None:
    reply = preflight(shop, path, SHOP)

    assert (reply.status, reply.text, reply.headers["Vary"]) == (204, "", "Origin")
    assert told(reply.headers) == READABLE | {"Allow-Methods": methods, "Allow-Headers": SENT, "Max-Age": "7200"}


@pytest.mark.parametrize("origin", [STRANGER, "null", f"{SHOP}:8443", f"{SHOP},{SHOP}", SHOP.upper(), "", "é" * 4000])
def test_another_origin_is_told_nothing(shop: str, origin: str) -> None:
    refused, paid = preflight(shop, SUBMIT, origin), post(shop, SUBMIT, a_body(), Origin=origin)

    assert (refused.error, paid.error) == ((405, 206), (200, 0))
    assert told(refused.headers) == told(paid.headers) == {}
    assert refused.headers["Vary"] == paid.headers["Vary"] == "Origin"


def test_a_page_of_a_listed_origin_may_read_an_answer_a_replay_and_a_refusal(shop: str) -> None:
    body = a_body()

    for reply in (*(post(shop, SUBMIT, body, Origin=SHOP) for _ in range(2)), post(shop, SUBMIT, {}, Origin=SHOP)):
        assert told(reply.headers) == READABLE
        assert "x-amzn-RequestId" in reply.headers


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", SUBMIT, {}, 401),
        ("GET", "/nowhere", None, 404),
        ("DELETE", SUBMIT, None, 405),
        ("POST", SUBMIT, b" " * (10 * 1024 * 1024 + 1), 413),
    ],
)
def test_a_page_of_a_listed_origin_may_read_what_the_gateway_refuses(
    shop: str, method: str, path: str, body: Any, status: int
) -> None:
    reply = call(shop, method, path, body, None, {"Origin": SHOP})

    assert (reply.status, told(reply.headers)) == (status, READABLE)


def test_the_gateway_cannot_look_up_one_of_several_and_lets_every_page_read_its_own_refusals(stage: str) -> None:
    del stage
    with allowing(SHOP, "http://localhost:3000") as shop:
        denied = post(shop, SUBMIT, {}, None, Origin=SHOP)
        paid = [post(shop, SUBMIT, a_body(), Origin=origin) for origin in (SHOP, "http://localhost:3000", STRANGER)]

    assert told(denied.headers)["Allow-Origin"] == "*"
    assert [told(reply.headers).get("Allow-Origin") for reply in paid] == [SHOP, "http://localhost:3000", None]


def test_a_credential_of_the_browser_is_never_let_in(shop: str) -> None:
    for reply in (preflight(shop, SUBMIT, SHOP), post(shop, SUBMIT, a_body(), Origin=SHOP)):
        assert "Allow-Credentials" not in told(reply.headers)


def test_a_cached_page_depends_on_the_origin_and_the_coding(shop: str) -> None:
    assert call(shop, "GET", "/docs", None, None).headers["Vary"] == "Accept-Encoding, Origin"


def test_a_stage_that_lists_no_origin_says_nothing_of_them(stage: str) -> None:
    answers = [
        preflight(stage, SUBMIT, SHOP),
        post(stage, SUBMIT, a_body(), Origin=SHOP),
        post(stage, SUBMIT, {}, None, Origin=SHOP),
    ]

    assert [reply.status for reply in answers] == [405, 200, 401]
    assert [(told(reply.headers), reply.headers.get("Vary")) for reply in answers] == [({}, None)] * 3
