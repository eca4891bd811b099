"""Pages: the links of `/`, the reference, the shop's page, the till, and the health check.

The OpenAPI document and the pages are files, because the modules that build them would slow down every cold start.
"""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from chalicelib import pages
from chalicelib.domain.sign_in import Scheme
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.schemas.base import Headers
from chalicelib.schemas.request_context import HealthAnswer, HealthQuery
from chalicelib.services import authentication
from chalicelib.services.health import check_store
from chalicelib.web import FOR_A_YEAR, Document, Moved, RequestPath

FOLDER = Path(__file__).parents[1] / "reference"
EXPLORER = "openapi-explorer@2.4.820"  # the package of the renderer
RENDERER = tuple(f"{EXPLORER.replace('@', '-')}-{number}.js" for number in (1, 2, 3))
PARTS = ("explorer.css", "explorer.js")

HOME = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>Payments</title>
<h1>Payments</h1>
<ul>
<li><a href="till">The till</a></li>
<li><a href="app">The shop's page</a></li>
<li><a href="docs">The reference of the interface</a></li>
<li><a href="api/v1/openapi.json">The OpenAPI document</a></li>
</ul>
</html>
"""


def home(headers: Headers) -> Document:
    """Return a page of links for people. A client that does not accept HTML gets 404/207, like for any unknown path."""
    if "text/html" not in headers.get("accept", ""):
        raise ServiceError(ErrorCode.UNKNOWN_PATH)
    return Document(HOME, "text/html; charset=utf-8")


def document() -> Document:
    """Return the OpenAPI document with the schemes of the Authorization header that the stage has enabled."""
    return Document(_document_of(authentication.enabled_schemes()), "application/json")


@cache
def _document_of(schemes: frozenset[str]) -> str:
    """Return the document as text. It is not parsed, because that takes thirty times as long as a health check."""
    text = _text("openapi.json")
    if schemes == frozenset(Scheme):
        return text
    before, key, rest = text.partition('"securitySchemes":')
    described, end = json.JSONDecoder().raw_decode(rest)
    enabled = {name: described[name] for name in described if name in schemes}
    return f"{before}{key}{json.dumps(enabled)}{rest[end:]}".replace(security(described), security(enabled))


def security(schemes: Iterable[str]) -> str:
    """Return the text of an operation's `security` in the document: any of the schemes."""
    return json.dumps([{name: []} for name in schemes], separators=(",", ":"))


def page(path: RequestPath) -> Document:
    """Return the page of the reference. Its links are relative, so an address with a final slash is redirected."""
    if path.endswith("/"):
        return Moved("../docs")
    return Document(_text("index.html"), "text/html; charset=utf-8")


def part(name: str) -> Document:
    """Return a file that the reference loads."""
    if name in PARTS:
        return Document(_text(name), pages.MEDIA_TYPES[name.rpartition(".")[2]])
    if name in RENDERER:
        return Document(_text(name), pages.MEDIA_TYPES["js"], cached=FOR_A_YEAR)
    raise ServiceError(ErrorCode.UNKNOWN_PATH)


@cache
def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def shop_page(path: RequestPath) -> Document:
    """Return the shop's page."""
    return _app(pages.SHOP, path)


def shop_file(version: str, folder: str, name: str) -> Document:
    """Return a file that the shop's page loads."""
    return _loaded(pages.SHOP, version, f"{folder}/{name}")


def till_page(path: RequestPath) -> Document:
    """Return the till."""
    return _app(pages.TILL, path)


def till_worker() -> Document:
    """Return the till's service worker, which answers for `till` itself."""
    worker = Document(pages.worker(), pages.MEDIA_TYPES["js"], cached="no-cache", policy=pages.policy(pages.TILL))
    worker.headers["Service-Worker-Allowed"] = "../till"
    return worker


def till_file(version: str, folder: str, name: str) -> Document:
    """Return a file that the till loads."""
    return _loaded(pages.TILL, version, f"{folder}/{name}")


def _app(page: str, path: RequestPath) -> Document:
    """Return a page. Its links are relative, so an address with a final slash is redirected to one without.

    Browsers load it at each visit, because it names the files of this version.
    """
    if path.endswith("/"):
        return Moved(f"../{pages.ADDRESSES[page]}")
    return Document(pages.html(page), "text/html; charset=utf-8", cached="no-cache", policy=pages.policy(page))


def _loaded(page: str, version: str, name: str) -> Document:
    text = pages.files(page).get(name)
    if text is None or version != pages.version(page):
        raise ServiceError(ErrorCode.UNKNOWN_PATH)
    return Document(text, pages.MEDIA_TYPES[name.rpartition(".")[2]], cached=FOR_A_YEAR)


def health(body: HealthQuery) -> HealthAnswer:
    """Report that the service is up; with `deep=1`, only if the tables of payments answer, else 503/903."""
    if body.deep:
        check_store()
    return HealthAnswer(version=_text("version.txt"))
