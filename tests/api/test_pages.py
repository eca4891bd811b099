"""The shop's page and the till as they are served: policy, size, names, and the modules as one script."""

import gzip
import hashlib
import http.client
import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from chalicelib import pages
from chalicelib.errors import ErrorCode
from chalicelib.pages import FOLDER, LIBRARIES, SHOP, TILL
from infra.vendored.page_libraries import FILES, SHA256
from tests.support.http import get

MAX_COMPRESSED_BYTES = {SHOP: 100 * 1024, TILL: 60 * 1024}
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
}
OWN_POLICY = {
    SHOP: {"trusted-types": "receipt"},
    TILL: {"trusted-types": "worker", "manifest-src": "'self'", "worker-src": "'self'"},
}
ADDRESS = {SHOP: "/app", TILL: "/till"}
every_page = pytest.mark.parametrize("page", [SHOP, TILL])


@every_page
def test_a_page_is_served_to_anybody_under_a_strict_policy(stage: str, page: str) -> None:
    reply = get(stage, ADDRESS[page], login=None)
    policy = dict(part.split(" ", 1) for part in reply.headers["Content-Security-Policy"].split("; "))
    styles, pictures = policy.pop("style-src"), policy.pop("img-src")

    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert policy == POLICY | OWN_POLICY[page]
    assert re.fullmatch(r"'self' 'unsafe-hashes'( 'sha256-[\w+/=]{44}')+", styles)
    assert re.fullmatch(r"'self' data: https?://[\w.:-]+", pictures)
    assert reply.headers["Cache-Control"] == "no-cache"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"


@every_page
def test_a_page_has_no_script_and_no_style_in_it(stage: str, page: str) -> None:
    text = get(stage, ADDRESS[page], login=None).text

    assert re.findall(r"<script(?![^>]* src=)|<style| style=| on\w+=", text) == []


@every_page
def test_a_file_of_a_page_has_the_digest_of_its_content_in_its_name(page: str) -> None:
    for name, text in pages.files(page).items():
        assert hashlib.sha256(text.encode()).hexdigest()[:16] in name


@pytest.mark.slow
@every_page
def test_a_browser_keeps_the_files_of_a_page_for_a_year(stage: str, page: str) -> None:
    loaded = re.findall(r'(?:href|src)="(\w+/[^"]+)"', get(stage, ADDRESS[page], login=None).text)

    licences = [name for name in pages.files(page) if name in pages.script(page)]

    assert (len(loaded), len(licences)) == (len(pages.files(page)) - 1, 1)
    for name in [*loaded, f"{ADDRESS[page][1:]}/{licences[0]}"]:
        reply = get(stage, f"/{name}", login=None)
        assert (reply.status, reply.headers["Cache-Control"]) == (200, "max-age=31536000, immutable")
        assert reply.text == pages.files(page)[name.rpartition("/")[2]]


def test_a_file_of_a_page_is_compressed_for_clients_that_accept_it(stage: str) -> None:
    url, name = urlsplit(stage), next(iter(pages.files(SHOP)))
    connection = http.client.HTTPConnection(url.hostname or "", url.port)
    connection.request("GET", f"/app/{name}", headers={"Accept-Encoding": "gzip, deflate"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()

    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body).decode() == pages.files(SHOP)[name]


@every_page
def test_what_a_page_loads_is_small(page: str) -> None:
    shipped = [text for name, text in pages.files(page).items() if name.endswith((".css", ".js"))]
    shipped.append(re.sub('base64,[^"]*', "", pages.html(page)))  # icons apart

    assert sum(len(gzip.compress(text.encode())) for text in shipped) <= MAX_COMPRESSED_BYTES[page]


@every_page
@pytest.mark.parametrize("name", ["shop-0000000000000000.js", "index.html", "main.js", "..%2Fweb.py", "%00"])
def test_no_other_file_is_served(stage: str, page: str, name: str) -> None:
    assert get(stage, f"{ADDRESS[page]}/{name}", login=None).error == (404, ErrorCode.UNKNOWN_PATH.code)


@every_page
def test_an_address_with_a_slash_redirects_to_the_page(stage: str, page: str) -> None:
    reply = get(stage, f"{ADDRESS[page]}/", login=None)

    assert (reply.status, reply.headers["Location"]) == (308, f"..{ADDRESS[page]}")


def test_the_till_can_be_installed(stage: str) -> None:
    address = re.search(r'rel="manifest" href="([^"]+)"', get(stage, "/till", login=None).text)
    reply = get(stage, f"/{address[1]}" if address else "", login=None)
    manifest = json.loads(reply.text)

    assert reply.headers["Content-Type"] == "application/manifest+json"
    assert (manifest["start_url"], manifest["scope"], manifest["display"]) == ("../till", "../till", "standalone")
    assert {icon["purpose"] for icon in manifest["icons"]} == {"any", "maskable"}
    for icon in manifest["icons"]:
        picture = get(stage, f"/till/{icon['src']}", login=None)
        assert (picture.status, picture.headers["Content-Type"]) == (200, "image/svg+xml")


def test_the_service_worker_is_read_again_each_time_and_answers_for_the_till(stage: str) -> None:
    reply = get(stage, "/till/worker.js", login=None)

    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert (reply.headers["Cache-Control"], reply.headers["Service-Worker-Allowed"]) == ("no-cache", "../till")
    assert [name for name in pages.files(TILL) if name not in reply.text] == []


def test_every_module_is_part_of_a_script() -> None:
    scripts = pages.script(SHOP) + pages.script(TILL)
    modules = [path for path in FOLDER.rglob("*.*js") if path.name != "service_worker.js"]

    assert [path.name for path in modules if pages._name(path) not in scripts] == []  # noqa: SLF001


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/*.js")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_module_stays_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize("folder", ["kit", TILL])
def test_a_language_has_every_text_of_english(folder: str) -> None:
    english, *others = [
        re.findall(r"^ +\[?([\w.]+)\]?:", path.read_text(encoding="utf-8"), re.MULTILINE)
        for path in sorted(FOLDER.glob(f"{folder}/texts/*.js"), key=lambda path: path.stem != "en")
    ]

    assert others == [english]


def a_page(folder: Path, monkeypatch: pytest.MonkeyPatch, **modules: str) -> None:
    """Write the modules of a page, and let the pages be there."""
    (folder / "page").mkdir()
    for name, text in modules.items():
        (folder / "page" / f"{name}.js").write_text(text, encoding="utf-8")
    monkeypatch.setattr(pages, "FOLDER", folder)
    monkeypatch.setattr(pages, "LIBRARIES", folder / "libraries")


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
    a_page(tmp_path, monkeypatch, main=text)

    with pytest.raises(ValueError, match=re.escape(problem)):
        pages.script("page")


def test_a_module_keeps_its_names_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = 'import { a as b } from "./one.js";\nconst a = b;\n'
    a_page(tmp_path, monkeypatch, main=main, one="const b = 1;\nexport const a = b;\n")

    assert pages.script("page").partition("\n")[2] == (
        "const page_one_module = (() => {\nconst b = 1;\nconst a = b;\nreturn { a };\n})();\n"
        "const page_main_module = (() => {\nconst { a: b } = page_one_module;\nconst a = b;\nreturn {  };\n})();\n"
    )


@pytest.mark.parametrize("name", FILES)
def test_a_library_is_the_file_of_its_package(name: str) -> None:
    assert hashlib.sha256((LIBRARIES / name).read_bytes()).hexdigest() == SHA256[name]


def test_every_library_comes_with_its_licence() -> None:
    assert {path.name for path in LIBRARIES.iterdir()} == FILES.keys() == SHA256.keys()
    assert {package.name.partition("@")[0] for package, _ in FILES.values()} == {
        path.stem for path in LIBRARIES.glob("*.LICENSE")
    }
