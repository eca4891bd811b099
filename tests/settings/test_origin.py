"""Which origins may be allowed: the setting of a process and the parameter of the template agree."""

import re

import pytest

from chalicelib.settings import ORIGIN, settings
from infra.stack import resources
from tests.support.origins import allowed

PARAMETER = resources.definition()["Parameters"]["AllowedOrigins"]
PATTERN = PARAMETER["AllowedPattern"]


def test_a_stage_allows_no_origin_unless_it_names_one() -> None:
    assert settings().allowed_origins == ()
    assert PARAMETER["Default"] == ""
    assert re.fullmatch(PATTERN, "")
    assert f"({ORIGIN}(,{ORIGIN})*)?" == PATTERN


@pytest.mark.parametrize(
    "text",
    [
        "https://shop.example",
        "https://shop.example:8443",
        "https://shop.example:4433,https://xn--bcher-kva.example",
        "http://localhost",
        "http://localhost:3000,http://127.0.0.1:5173,https://a",
    ],
)
def test_an_origin_is_named_as_a_browser_writes_it(text: str) -> None:
    with allowed(text):
        assert settings().allowed_origins == tuple(text.split(","))
    assert re.fullmatch(PATTERN, text)


@pytest.mark.parametrize(
    "text",
    [
        "*",
        "null",
        "https://*.shop.example",
        "http://shop.example",
        "http://localhost.shop.example",
        "http://127.0.0.10:80",
        "https://shop.example/",
        "https://shop.example/pay",
        "https://Shop.example",
        "https://shop.example:443",
        "http://localhost:80",
        "https://shop.example:0",
        "https://user@shop.example",
        'https://a.example"])#set($x=1)',
        "https://a.example\nhttps://b.example",
        "shop.example",
        "https://a.example;https://b.example",
    ],
)
def test_what_no_browser_would_send_as_an_origin_stops_the_stage_and_the_deployment(text: str) -> None:
    with allowed(text), pytest.raises(SystemExit, match="ALLOWED_ORIGINS names"):
        settings()
    assert not re.fullmatch(PATTERN, text)
