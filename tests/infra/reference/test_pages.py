"""The page of the reference, as it is served. tests/browser looks at them in a browser."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib import outside
from chalicelib import pages as apps
from chalicelib.endpoints import DOCUMENTS, ENDPOINTS
from chalicelib.errors import ErrorCode
from chalicelib.routes import pages as pages_route
from chalicelib.routes.pages import EXPLORER, FOLDER, PARTS, RENDERER
from infra.vendored import renderer
from tests.support.giving import environment
from tests.support.http import Reply, call, get

MAX_PUBLIC_BYTES = 1_500_000  # of an answer to anybody
NAMES = {  # of the public files, by the path of their endpoint
    "/docs/{name}": (*PARTS, *RENDERER),
    "/app/{version}/{folder}/{name}": tuple(f"{apps.version(apps.SHOP)}/{name}" for name in apps.files(apps.SHOP)),
    "/till/{version}/{folder}/{name}": tuple(f"{apps.version(apps.TILL)}/{name}" for name in apps.files(apps.TILL)),
    "/api/v1/payment/statusPublic/{tranId}": ("1",),
}
PUBLIC = [
    re.sub(r"\{.+\}", name, endpoint.path)
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


def test_the_page_is_served_to_anybody_and_keeps_to_itself(stage: str) -> None:
    reply = get(stage, "/docs", login=None)

    assert (reply.status, reply.text) == (200, (FOLDER / "index.html").read_text(encoding="utf-8"))
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert set(reply.headers["Content-Security-Policy"].split("; ")) == POLICY
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(("name", "media_type"), [*zip(PARTS, ("text/css", "text/javascript"), strict=True)])
def test_what_the_page_loads_is_served_to_anybody(stage: str, name: str, media_type: str) -> None:
    reply = get(stage, f"/docs/{name}", login=None)

    assert (reply.status, reply.headers["Content-Type"]) == (200, f"{media_type}; charset=utf-8")
    assert reply.text == (FOLDER / name).read_text(encoding="utf-8")


def test_the_openapi_document_is_served_to_anybody(stage: str) -> None:
    reply = get(stage, "/api/v1/openapi.json", login=None)

    assert (reply.status, reply.headers["Content-Type"]) == (200, "application/json")
    assert reply.text == (FOLDER / "openapi.json").read_text(encoding="utf-8")


@pytest.fixture(params=[["Basic"], ["Basic", "Session"]], ids=",".join)
def schemes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The stage has only these schemes enabled."""
    monkeypatch.setenv("AUTH_SCHEMES", ",".join(request.param))
    outside.forget()
    yield request.param
    monkeypatch.undo()
    outside.forget()


def test_the_document_names_the_schemes_that_the_stage_has_enabled(stage: str, schemes: list[str]) -> None:
    document = get(stage, "/api/v1/openapi.json", login=None).body
    securities = [one["security"] for methods in document["paths"].values() for one in methods.values()]

    assert sorted(document["components"]["securitySchemes"]) == schemes
    assert [one for one in securities if one not in ([], [{name: []} for name in schemes])] == []


@pytest.mark.slow
@pytest.mark.usefixtures("schemes")
def test_the_document_of_the_enabled_schemes_is_valid(stage: str) -> None:
    import openapi_spec_validator  # noqa: PLC0415  a second, which the quick tests do not spend

    document = get(stage, "/api/v1/openapi.json", login=None).body

    openapi_spec_validator.validate(json.loads(json.dumps(document, default=float)))


def test_the_page_with_a_slash_leads_to_the_page(stage: str) -> None:
    reply = get(stage, "/docs/", login=None)

    assert (reply.status, reply.headers["Location"]) == (308, "../docs")


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
    with environment(AUTH_SCHEMES=schemes), monkeypatch.context() as patch:
        first = [visit(stage, path).text for path in files]
        for name in ("read_text", "read_bytes", "open"):
            patch.setattr(Path, name, lambda path, *_args, **_options: work.append(str(path)))
        patch.setattr(pages_route, "security", lambda *_: work.append("the document"))
        second = [visit(stage, path).text for path in files]

    assert work == []
    assert first == second


def links(html: str) -> Iterator[str]:
    """Yield the addresses of a page: what it links to, and what it loads."""
    yield from re.findall(r'(?:href|src)="([^"]*)"', html)


def test_every_address_of_the_page_leads_to_something_of_ours(stage: str) -> None:
    for link in set(links((FOLDER / "index.html").read_text(encoding="utf-8"))) - {"data:,"}:
        assert get(stage, f"/{link}", login=None).status == 200, link


def test_every_file_of_the_folder_is_served() -> None:
    served = {"openapi.json", "index.html", *RENDERER, *PARTS, "version.txt"}  # the last by the health check

    assert {path.name for path in FOLDER.iterdir()} == served
