"""The shop's page as it is served: its policy, its size, its names; its modules as one script."""

import gzip
import hashlib
import http.client
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from chalicelib import shop
from chalicelib.errors import ErrorCode
from infra.vendored.shop_libraries import FILES, LIBRARIES, SHA256
from tests.support.http import get

MAX_COMPRESSED_BYTES = 100 * 1024
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "receipt",
}


def test_the_page_is_served_to_anybody_under_a_strict_policy(stage: str) -> None:
    reply = get(stage, "/app", login=None)
    policy = dict(part.split(" ", 1) for part in reply.headers["Content-Security-Policy"].split("; "))
    styles, pictures = policy.pop("style-src"), policy.pop("img-src")

    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert policy == POLICY
    assert re.fullmatch(r"'self' 'unsafe-hashes'( 'sha256-[\w+/=]{44}')+", styles)
    assert re.fullmatch(r"'self' data: https?://[\w.:-]+", pictures)
    assert reply.headers["Cache-Control"] == "no-cache"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"


def test_the_page_has_no_script_and_no_style_in_it(stage: str) -> None:
    text = get(stage, "/app", login=None).text

    assert re.findall(r"<script(?![^>]* src=)|<style| style=| on\w+=", text) == []


def test_what_the_page_loads_is_kept_for_a_year_under_the_digest_of_its_content(stage: str) -> None:
    loaded = re.findall(r'(?:href|src)="(app/[^"]+)"', get(stage, "/app", login=None).text)

    assert len(loaded) == 2
    for name in loaded:
        reply = get(stage, f"/{name}", login=None)
        assert (reply.status, reply.headers["Cache-Control"]) == (200, "max-age=31536000, immutable")
        assert hashlib.sha256(reply.text.encode()).hexdigest()[:16] in name


def test_what_the_page_loads_comes_compressed_to_who_takes_it(stage: str) -> None:
    url, name = urlsplit(stage), next(iter(shop.files()))
    connection = http.client.HTTPConnection(url.hostname or "", url.port)
    connection.request("GET", f"/app/{name}", headers={"Accept-Encoding": "gzip, deflate"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()

    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body).decode() == shop.files()[name]


def test_all_that_is_shipped_for_the_page_has_a_hundred_kilobytes_at_most() -> None:
    shipped = [shop.page(), *shop.files().values()]

    assert sum(len(gzip.compress(text.encode())) for text in shipped) <= MAX_COMPRESSED_BYTES


@pytest.mark.parametrize("name", ["shop-0000000000000000.js", "index.html", "main.js", "..%2Fweb.py", "%00"])
def test_nothing_else_is_served(stage: str, name: str) -> None:
    assert get(stage, f"/app/{name}", login=None).error == (404, ErrorCode.UNKNOWN_PATH.code)


def test_a_page_with_a_slash_leads_to_the_page(stage: str) -> None:
    reply = get(stage, "/app/", login=None)

    assert (reply.status, reply.headers["Location"]) == (308, "../app")


def test_every_module_is_part_of_the_script() -> None:
    modules = shop.FOLDER.rglob("*.*js")

    assert [path.name for path in modules if shop._name(path) not in shop.script()] == []  # noqa: SLF001


@pytest.mark.parametrize("path", sorted(shop.FOLDER.glob("*.js")), ids=lambda path: path.name)
def test_a_module_stays_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 250


def test_a_language_has_every_text_of_english() -> None:
    english, *others = [
        re.findall(r"^ +(\w+):", path.read_text(encoding="utf-8"), re.MULTILINE)
        for path in sorted(shop.FOLDER.glob("texts/*.js"), key=lambda path: path.stem != "en")
    ]

    assert [other for other in others if other != english] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('import * as all from "./other.js";', "import * as all"),
        ("export let changed = 1;", "export let changed"),
        ('import { a } from "./main.js";\nexport const b = a;', "cycle"),
    ],
)
def test_a_module_of_another_form_is_refused(
    text: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.js").write_text(text, encoding="utf-8")
    monkeypatch.setattr(shop, "FOLDER", tmp_path)

    with pytest.raises(ValueError, match=re.escape(problem)):
        shop.script()


def test_a_module_keeps_its_names_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.js").write_text('import { a as b } from "./one.js";\nconst a = b;\n', encoding="utf-8")
    (tmp_path / "one.js").write_text("const b = 1;\nexport const a = b;\n", encoding="utf-8")
    monkeypatch.setattr(shop, "FOLDER", tmp_path)

    assert shop.script() == (
        "const one_module = (() => {\nconst b = 1;\nconst a = b;\nreturn { a };\n})();\n"
        "const main_module = (() => {\nconst { a: b } = one_module;\nconst a = b;\nreturn {  };\n})();\n"
    )


@pytest.mark.parametrize("name", FILES)
def test_a_library_is_the_file_of_its_package(name: str) -> None:
    assert hashlib.sha256((LIBRARIES / name).read_bytes()).hexdigest() == SHA256[name]


def test_every_library_comes_with_its_licence() -> None:
    assert {path.name for path in LIBRARIES.iterdir()} == FILES.keys() == SHA256.keys()
    assert {package.name.partition("@")[0] for package, _ in FILES.values()} == {
        path.stem for path in LIBRARIES.glob("*.LICENSE")
    }
