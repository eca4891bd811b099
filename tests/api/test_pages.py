"""The shop's page and the till as they are served: policy, size, addresses, modules."""

import gzip
import hashlib
import http.client
import json
import re
import shutil
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from chalicelib import pages
from chalicelib.errors import ErrorCode
from chalicelib.pages import FOLDER, SHOP, TILL
from infra.stack import esbuild
from infra.vendored.page_libraries import FILES, HERE, LIBRARIES, NAMED, SHA256
from tests.support import joined_pages as support
from tests.support.http import get

MAX_COMPRESSED_BYTES = {
    SHOP: 80 * 1024,
    TILL: 60 * 1024,
}  # in the package; of the till, what the shop's page does not share
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


def loaded(stage: str, page: str) -> list[str]:
    """Return the paths of the files that the HTML names."""
    found = re.findall(r'(?:href|src)="(\w+/[^"]+)"', get(stage, ADDRESS[page], login=None).text)
    return [f"/{path}" for path in found]


@every_page
def test_a_page_asks_browsers_not_to_translate_it(stage: str, page: str) -> None:
    """A translation replaces texts, and the page then changes amounts that nobody sees."""
    text = get(stage, ADDRESS[page], login=None).text

    assert '<html lang="en" translate="no">' in text
    assert '<meta name="google" content="notranslate">' in text


@pytest.mark.parametrize("changed", ["shop/today.js", "kit/base.css", "libraries/htm.mjs", "shop/index.html"])
def test_the_addresses_change_with_each_file_of_a_page(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = pages.version(SHOP)
    folder = shutil.copytree(FOLDER, tmp_path / "pages")
    support.serve_from(folder, monkeypatch)
    same = pages.version(SHOP)
    (folder / changed).write_text("changed", encoding="utf-8")
    support.forget()
    after = pages.version(SHOP)
    monkeypatch.undo()
    support.forget()

    assert same == before != after


@every_page
def test_a_browser_keeps_the_files_of_a_page_for_a_year(stage: str, page: str) -> None:
    named = loaded(stage, page)

    assert len(named) == {SHOP: 2, TILL: 4}[page]
    for path in named:
        reply = get(stage, path, login=None)
        assert (reply.status, reply.headers["Cache-Control"]) == (200, "max-age=31536000, immutable")


@every_page
@pytest.mark.usefixtures("joined_pages")
def test_each_file_of_the_package_is_served_as_it_is(stage: str, page: str) -> None:
    main = next(path for path in loaded(stage, page) if path.endswith("main.js"))

    for name, text in pages.files(page).items():
        reply = get(stage, urljoin(main, f"../{name}"), login=None)
        assert (reply.status, reply.text) == (200, text), name
        assert reply.headers["Content-Type"] == pages.MEDIA_TYPES[name.rpartition(".")[2]]


def test_a_file_of_a_page_is_compressed_for_clients_that_accept_it(stage: str) -> None:
    url, (path,) = urlsplit(stage), [one for one in loaded(stage, SHOP) if one.endswith("main.js")]
    connection = http.client.HTTPConnection(url.hostname or "", url.port)
    connection.request("GET", path, headers={"Accept-Encoding": "gzip, deflate"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()

    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body).decode() == get(stage, path, login=None).text


@pytest.mark.parametrize(("page", "left_out"), [(SHOP, ()), (TILL, ("kit", "libraries"))])
def test_what_a_page_loads_is_small_in_the_package(
    page: str, left_out: tuple[str, ...], tmp_path: Path, joined_folder: Path
) -> None:
    """A telephone that has one page has the shared parts of the other."""
    assert joined_folder.exists()  # esbuild is there
    folder = shutil.copytree(FOLDER, tmp_path / "pages")
    externals = [f"--external:../{name}/*" for name in left_out]
    mains = [f"{page}/main.js", f"{page}/main.css"]
    esbuild.run([str(esbuild.program()), *mains, *esbuild.OPTIONS, *externals, "--outdir=out"], folder)
    shipped = [path.read_bytes() for path in sorted((folder / "out").iterdir())]
    shipped.append(re.sub('base64,[^"]*', "", pages.html(page)).encode())  # icons apart

    assert len(shipped) == 3
    assert sum(len(gzip.compress(one)) for one in shipped) <= MAX_COMPRESSED_BYTES[page]


@every_page
@pytest.mark.usefixtures("joined_pages")
def test_a_script_of_the_package_names_the_licences_of_its_libraries(stage: str, page: str) -> None:
    script = next(path for path in loaded(stage, page) if path.endswith(".js"))
    licences = re.findall(r"\S+\.LICENSE", get(stage, script, login=None).text.partition("*/")[0])

    assert len(licences) == 2
    for path in licences:
        text = (LIBRARIES / path.rpartition("/")[2]).read_text(encoding="utf-8")
        assert get(stage, urljoin(script, path), login=None).text == text


@every_page
@pytest.mark.parametrize(
    "name",
    [
        *("index.html", "main.js", "{version}/main.js", "{version}/{page}/index.html", "{version}/{page}/nothing.js"),
        *("0000000000000000/{page}/main.js", "{version}/till/service_worker.js", "{version}/{page}/__init__.py"),
        *("{version}/..%2Froutes/pages.py", "{version}/{page}/..%2F..%2Fweb.py", "{version}/{page}/%00"),
    ],
)
def test_no_other_file_is_served(stage: str, page: str, name: str) -> None:
    path = name.format(version=loaded(stage, page)[0].split("/")[2], page=page)

    assert get(stage, f"{ADDRESS[page]}/{path}", login=None).error == (404, ErrorCode.UNKNOWN_PATH.code)


@every_page
def test_an_address_with_a_slash_redirects_to_the_page(stage: str, page: str) -> None:
    reply = get(stage, f"{ADDRESS[page]}/", login=None)

    assert (reply.status, reply.headers["Location"]) == (308, f"..{ADDRESS[page]}")


def test_the_till_can_be_installed(stage: str) -> None:
    (path,) = (path for path in loaded(stage, TILL) if path.endswith(".webmanifest"))
    reply = get(stage, path, login=None)
    manifest = json.loads(reply.text)

    assert reply.headers["Content-Type"] == "application/manifest+json"
    assert manifest["display"] == "standalone"
    assert [urljoin(path, manifest[name]) for name in ("start_url", "scope")] == ["/till", "/till"]
    assert {icon["purpose"] for icon in manifest["icons"]} == {"any", "maskable"}
    for icon in manifest["icons"]:
        picture = get(stage, urljoin(path, icon["src"]), login=None)
        assert (picture.status, picture.headers["Content-Type"]) == (200, "image/svg+xml")


def test_the_service_worker_is_read_again_each_time_and_answers_for_the_till(stage: str) -> None:
    reply = get(stage, "/till/worker.js", login=None)

    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert (reply.headers["Cache-Control"], reply.headers["Service-Worker-Allowed"]) == ("no-cache", "../till")
    for path in loaded(stage, TILL):
        _, version, name = path.removeprefix("/till").split("/", 2)
        assert f'"{version}"' in reply.text
        assert f'"{name}"' in reply.text
    assert "LICENSE" not in reply.text


def test_every_module_is_loaded_by_a_page_and_imports_only_its_files() -> None:
    found = [f"{page}/main.{kind}" for page in (SHOP, TILL) for kind in ("js", "css")]
    for name in found:
        text = (FOLDER / name).read_text(encoding="utf-8")
        imported = re.findall(r'(?:^@?import\b[^;"]*|\bimport\()"([^"]+)"', text, re.MULTILINE)
        found += {urljoin(name, path) for path in imported} - set(found)

    code = (name for page in (SHOP, TILL) for name in pages.files(page) if name.endswith(("js", "css")))
    assert set(found) == set(code)


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("*/[!.][!.][!.]*.js")), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_a_module_stays_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("folder", ["kit", TILL])
def test_a_language_has_every_text_of_english(folder: str) -> None:
    english, *others = [
        re.findall(r"^ +\[?([\w.]+)\]?:", path.read_text(encoding="utf-8"), re.MULTILINE)
        for path in sorted(FOLDER.glob(f"{folder}/??.js"), key=lambda path: path.stem != "en")
    ]

    assert others == [english]


@pytest.mark.parametrize("name", FILES)
def test_a_library_is_the_file_of_its_package(name: str) -> None:
    content = (LIBRARIES / name).read_bytes().replace(HERE, NAMED)

    assert hashlib.sha256(content).hexdigest() == SHA256[name]


def test_every_library_comes_with_its_licence() -> None:
    of_the_shop = {
        f"../{SHOP}/{path.name}" for kind in ("mjs", "LICENSE") for path in (FOLDER / SHOP).glob(f"*.{kind}")
    }
    assert {path.name for path in LIBRARIES.iterdir()} | of_the_shop == FILES.keys() == SHA256.keys()
    assert {package.name.partition("@")[0] for package, _ in FILES.values()} == {
        path.stem for path in FOLDER.glob("*/*.LICENSE")
    }
