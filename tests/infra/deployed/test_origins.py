"""What is deployed tells a browser of origins what the local stage tells it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.deployment import Deployed, served
from tests.support.http import TILL, call
from tests.support.origins import SHOP, allowing, told
from tests.support.transactions import a_body

pytestmark = pytest.mark.slow

SUBMIT = "/api/v1/payment/submit"
STRANGER = "https://stranger.example"


@pytest.fixture(scope="module")
def open_to_a_shop(aws: None, build: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """What is deployed with AllowedOrigins."""
    del aws
    folder = tmp_path_factory.mktemp("origins")
    with served(build, folder, parameters={"AllowedOrigins": SHOP}) as it:
        yield it


@pytest.fixture
def local_shop(stage: str) -> Iterator[str]:
    """The local stage with the same list of origins."""
    del stage
    with allowing(SHOP) as url:
        yield url


@pytest.mark.parametrize("origin", [SHOP, STRANGER, None])
@pytest.mark.parametrize(
    ("method", "path", "login", "body"),
    [
        ("OPTIONS", SUBMIT, None, None),
        ("OPTIONS", "/api/v1/payment/statusPublic/x", None, None),
        ("OPTIONS", "/nowhere", None, None),
        ("DELETE", SUBMIT, None, None),
        ("POST", SUBMIT, None, {}),
        ("POST", SUBMIT, ("till@demo.example", "wrong"), {}),
        ("POST", SUBMIT, TILL, {}),
        ("POST", SUBMIT, TILL, a_body()),
        ("POST", "/api/v1/user/login/session", None, {}),
        ("GET", "/docs", None, None),
        ("GET", "/docs/nothing", None, None),
    ],
)
def test_both_stages_tell_the_same(  # noqa: PLR0913, PLR0917  two stages and a request
    open_to_a_shop: Deployed,
    local_shop: str,
    method: str,
    path: str,
    login: tuple[str, str] | None,
    body: Any,
    origin: str | None,
) -> None:
    sent = {"Origin": origin} if origin else {}
    local = call(local_shop, method, path, body, login, sent)

    reply = call(open_to_a_shop.url, method, path, body, login, sent)

    assert (reply.status, told(reply.headers)) == (local.status, told(local.headers))
    assert reply.headers.get("Vary") == local.headers.get("Vary")
    assert reply.text == local.text or reply.status == 200
