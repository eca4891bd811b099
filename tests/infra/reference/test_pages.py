"""The pages of /docs, as they are made and as they are served. tests/browser looks at them in a browser."""

import hashlib
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from chalicelib import pages as apps
from chalicelib.endpoints import DOCUMENTS, ENDPOINTS
from chalicelib.errors import ErrorCode
from chalicelib.routes import pages as pages_route
from chalicelib.routes.pages import EXPLORER, FOLDER, GUIDES, PARTS, RENDERER
from chalicelib.settings import settings
from infra.reference import ROOT
from infra.reference.pages import guide, guide_title, pages
from infra.vendored import renderer
from tests.support.http import Reply, call, get

PAGES = {"/docs": "index.html", **{f"/docs/{name}": f"{name}.html" for name in GUIDES}}
WORDS = ("refund", "void", "idempotency", "4000000000000002", "rate limit")
MAX_PUBLIC_BYTES = 1_500_000  # of an answer to anybody
NAMES = {  # of the public files, by the path of their endpoint
    "/docs/{name}": (*GUIDES, *PARTS, *RENDERER),
    "/app/{name}": tuple(apps.files(apps.SHOP)),
    "/till/{name}": (apps.WORKER, *apps.files(apps.TILL)),
    "/api/v1/payment/statusPublic/{tranId}": ("1",),
}
PUBLIC = [
    re.sub(r"\{\w+\}", name, endpoint.path)
    for endpoint in (*ENDPOINTS, *DOCUMENTS)
    if endpoint.public and endpoint.method == "GET"
    for name in NAMES.get(endpoint.path, ("",))
]
POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
}


@pytest.mark.parametrize(("path", "file"), PAGES.items())
def test_a_page_is_served_to_anybody_and_keeps_to_itself(stage: str, path: str, file: str) -> None:
    reply = get(stage, path, login=None)

    assert (reply.status, reply.text) == (200, (FOLDER / file).read_text(encoding="utf-8"))
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert set(reply.headers["Content-Security-Policy"].split("; ")) == POLICY
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(("name", "media_type"), PARTS.items())
def test_what_a_page_loads_is_served_to_anybody(stage: str, name: str, media_type: str) -> None:
    reply = get(stage, f"/docs/{name}", login=None)

    assert (reply.status, reply.headers["Content-Type"]) == (200, media_type)
    assert reply.text == (FOLDER / name).read_text(encoding="utf-8")


def test_the_openapi_document_is_served_to_anybody(stage: str) -> None:
    reply = get(stage, "/api/v1/openapi.json", login=None)

    assert (reply.status, reply.headers["Content-Type"]) == (200, "application/json")
    assert reply.text == (FOLDER / "openapi.json").read_text(encoding="utf-8")


@pytest.fixture(params=[["Basic"], ["Basic", "Session"]], ids=",".join)
def schemes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The stage has only these schemes enabled."""
    monkeypatch.setenv("AUTH_SCHEMES", ",".join(request.param))
    settings.cache_clear()
    yield request.param
    monkeypatch.undo()
    settings.cache_clear()


def test_the_document_names_the_schemes_that_the_stage_has_enabled(stage: str, schemes: list[str]) -> None:
    document = get(stage, "/api/v1/openapi.json", login=None).body
    securities = [one["security"] for methods in document["paths"].values() for one in methods.values()]

    assert sorted(document["components"]["securitySchemes"]) == schemes
    assert [one for one in securities if one not in ([], [{name: []} for name in schemes])] == []


@pytest.mark.usefixtures("schemes")
def test_the_document_of_the_enabled_schemes_is_valid(stage: str) -> None:
    import openapi_spec_validator  # noqa: PLC0415  a second, which the quick tests do not spend

    document = get(stage, "/api/v1/openapi.json", login=None).body

    openapi_spec_validator.validate(json.loads(json.dumps(document, default=float)))


@pytest.mark.parametrize("path", PAGES)
def test_a_page_with_a_slash_leads_to_the_page(stage: str, path: str) -> None:
    reply = get(stage, f"{path}/", login=None)

    assert (reply.status, reply.headers["Location"]) == (308, "../" + path.rpartition("/")[2])


@pytest.mark.parametrize(
    "name", ["nothing", "index.html", "openapi.json", "openapi-explorer-1.0.0-1.js", "..%2Fapp.py", "%00"]
)
def test_nothing_else_is_served(stage: str, name: str) -> None:
    assert get(stage, f"/docs/{name}", login=None).error == (404, ErrorCode.UNKNOWN_PATH.code)


@pytest.mark.parametrize("name", RENDERER)
def test_the_renderer_is_served_behind_its_licence_and_kept_by_browsers(stage: str, name: str) -> None:
    reply = get(stage, f"/docs/{name}", login=None)

    assert reply.headers["Cache-Control"] == "max-age=31536000, immutable"
    assert reply.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert reply.text.startswith(f"/*! {EXPLORER}, part ")
    assert "Licensed under the Apache License, Version 2.0" in reply.text[:400]


def test_the_renderer_is_made_of_the_file_of_its_package() -> None:
    hashes = tuple(hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in RENDERER)

    assert hashes == renderer.SHA256


def test_the_parts_of_the_renderer_make_its_script() -> None:
    modules = [f"{number}:e=>{{e.exports='é{number}'}}" for number in (4, *renderer.FIRST_MODULES)]
    script = f"/*! name */\n{renderer.BEGINNING}{','.join(modules)}}};run(r)}})();"

    *kept, last = renderer.parts(renderer.in_ascii(script))

    assert [re.findall(r"\d+:", part) for part in (*kept, last)] == [["4:"], ["781:"], ["784:"]]
    assert last.startswith(renderer.BEGINNING)
    assert "\\u00e94" in kept[0]


def visit(stage: str, path: str) -> Reply:
    """Request a page as a browser does."""
    return call(stage, "GET", path, None, None, {"Accept": "text/html"})


@pytest.mark.parametrize("path", PUBLIC)
def test_an_answer_to_anybody_is_small(stage: str, path: str) -> None:
    reply = visit(stage, path)

    assert reply.status == 200
    assert len(reply.text.encode()) < MAX_PUBLIC_BYTES


@pytest.mark.parametrize("schemes", ["Basic", "Basic,Jwt,Session"])
def test_a_public_file_is_read_and_made_once(stage: str, monkeypatch: pytest.MonkeyPatch, schemes: str) -> None:
    files = [path for path in PUBLIC if "/payment/" not in path]
    work: list[str] = []
    with monkeypatch.context() as patch:
        patch.setenv("AUTH_SCHEMES", schemes)
        settings.cache_clear()
        first = [visit(stage, path).text for path in files]
        for name in ("read_text", "read_bytes", "open"):
            patch.setattr(Path, name, lambda path, *_args, **_options: work.append(str(path)))
        patch.setattr(pages_route, "security", lambda *_: work.append("the document"))
        second = [visit(stage, path).text for path in files]
    settings.cache_clear()

    assert work == []
    assert first == second


def links(html: str) -> Iterator[str]:
    """Yield the addresses of a page: what it links to, and what it loads."""
    yield from re.findall(r'(?:href|src)="([^"]*)"', html)


@pytest.mark.parametrize(("path", "file"), PAGES.items())
def test_every_address_of_a_page_leads_to_something_of_ours(stage: str, path: str, file: str) -> None:
    folder = path.rpartition("/")[0]
    for link in set(links((FOLDER / file).read_text(encoding="utf-8"))) - {"data:,"}:
        target, _, anchor = link.partition("#")
        found = get(stage, f"{folder}/{target}".replace("/docs/../", "/") if target else path, login=None)
        assert found.status == 200, link
        assert not anchor or f'id="{anchor}"' in found.text, link


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_has_the_words_of_its_document(name: str) -> None:
    def words(text: str) -> Any:
        return set(re.findall(r"[A-Za-z]{4,}", text))

    document = re.sub(r"<!--.*?-->|\]\([^)]*\)|```(sh|mermaid)|stateDiagram-v2|direction LR", " ", read(name))
    text = unescape(re.sub(r"<[^>]*>", " ", guide(name)))

    assert words(document) - words(text) <= {"state", "Owed"}  # the diagram is a table


def read(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def test_a_guide_shows_no_markup_of_its_document() -> None:
    for name in GUIDES:
        text = re.sub(r"<pre.*?</pre>|<[^>]*>", "", guide(name), flags=re.DOTALL)
        assert re.findall(r"\*\*|```|\|---|\]\(|&lt;!--|stateDiagram", text) == [], name


def test_the_guides_are_listed_for_the_search_with_the_words_people_look_for() -> None:
    listed = {one["name"]: one for one in json.loads(pages()["guides.json"])}
    words = " ".join(one["about"] for one in listed.values()).lower()

    assert {name: one["title"] for name, one in listed.items()} == {name: guide_title(name) for name in GUIDES}
    assert [
        word for word in ("refund", "void", "idempotency", "4000000000000002", "rate limit") if word not in words
    ] == []


def test_every_file_of_the_folder_is_served() -> None:
    served = {"openapi.json", *RENDERER, *PARTS, *PAGES.values()}

    assert {path.name for path in FOLDER.iterdir()} == served
