"""What a browser looks at: the links of `/`, and the reference, as `make reference` wrote it.

The OpenAPI document and the page are files, because building them needs modules that would slow down every cold start.
"""

from functools import cache
from pathlib import Path

from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.web import Document, Headers

FOLDER = Path(__file__).parents[1] / "reference"


HOME = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Payments</title>
<h1>Payments</h1>
<ul>
<li><a href="docs">The reference of the interface</a></li>
<li><a href="api/v1/openapi.json">The OpenAPI document</a></li>
</ul>
</html>
"""


def home(headers: Headers) -> Document:
    """Show a person where to go; a program that does not ask for HTML gets 404/207, as on any unknown path."""
    if "text/html" not in headers.get("accept", ""):
        raise ServiceError(ErrorCode.UNKNOWN_PATH)
    return Document(HOME, "text/html; charset=utf-8")


def document() -> Document:
    """Return the OpenAPI document."""
    return Document(_text("openapi.json"), "application/json")


def page() -> Document:
    """Return the page; it needs no other file and no other host."""
    return Document(_text("index.html"), "text/html; charset=utf-8")


@cache
def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
