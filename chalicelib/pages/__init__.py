"""The pages: the shop's and the till's. HTML, style and modules, joined into one script, and the security policy.

`kit` holds the parts that both pages have. Each page has a folder: `main.js` begins, `texts.js` chooses the language.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from chalicelib.gateways import files as files_gateway
from chalicelib.receipts.html import STYLES

SHOP, TILL = "shop", "till"
FOLDER = Path(__file__).parent
LIBRARIES = FOLDER / "kit" / "libraries"
LIBRARY_FILES = {"preact": "preact.mjs", "preact/hooks": "hooks.mjs", "htm": "htm.mjs"}
# The forms of import and export in the modules. `import name` imports a library's default. "texts" is the page's own.
IMPORT = re.compile(r'^import *(?:\{([^}]*)\}|(\w+)) *from *"([^"]+)";?', re.MULTILINE)
EXPORT_DEFAULT = re.compile(r"\bexport default (?=function)")
EXPORT_DECLARED = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
EXPORT_LISTED = re.compile(r"\bexport *\{([^}]*)\};?")
COMMENT = re.compile(r"^ *//.*\n?| +// [^\n\"'`]*$", re.MULTILINE)
INDENT = re.compile(r"^ +", re.MULTILINE)

ADDRESSES = {SHOP: "app", TILL: "till"}  # of the pages
WORKER = "worker.js"
ICON = "icon.svg"


@cache
def files(page: str) -> dict[str, str]:
    """Return the files that a page loads: text by file name. Each name contains a digest of the text."""
    style = "".join(_text(path) for path in (FOLDER / "kit" / "base.css", FOLDER / page / "style.css"))
    style = INDENT.sub("", style + _text(FOLDER / "kit" / "print.css"))
    found = dict([_named(page, "css", style), _named(page, "js", script(page)), _licences()])
    if page == TILL:
        icon, picture = _named("icon", "svg", _text(FOLDER / TILL / ICON))
        manifest = json.loads(_text(FOLDER / TILL / "manifest.json"))
        for one in manifest["icons"]:
            one["src"] = icon
        found |= dict([(icon, picture), _named("manifest", "webmanifest", json.dumps(manifest))])
    return found


def _named(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.{kind}", text


@cache
def html(page: str) -> str:
    """Return the HTML. Its links are relative to the page's address."""
    links = {name.rpartition(".")[2]: f"{ADDRESSES[page]}/{name}" for name in files(page)}
    if page == TILL:  # inside the page, because the API sends only texts
        links["touch_icon"] = base64.b64encode((FOLDER / TILL / "touch_icon.png").read_bytes()).decode()
    text = _text(FOLDER / page / "index.html")
    return re.sub(r"\{(\w+)\}", lambda found: links[found[1]], text)


@cache
def worker() -> str:
    """Return the service worker of the till. It names the files of this version, so each version is another worker."""
    return _text(FOLDER / TILL / "service_worker.js").replace('"{files}"', json.dumps(sorted(files(TILL))))


def script(page: str) -> str:
    """Return the modules as one script, each after its imports, without comments and indents."""
    name, _ = _licences()
    modules = [
        f"const {_name(path)} = (() => {{\n{INDENT.sub('', _scoped(path, page))}}})();\n" for path in _in_order(page)
    ]
    return "".join([f"/*! The licences of the libraries: {name} */\n", *modules])


def _licences() -> tuple[str, str]:
    """Return the name and the text of the file of licences."""
    texts = (f"{path.stem}\n\n{_text(path)}\n" for path in sorted(LIBRARIES.glob("*.LICENSE")))
    return _named("licences", "txt", "".join(texts))


def _in_order(page: str) -> Iterable[Path]:
    """Return the modules, each after those that it imports; raise CycleError for a circle of imports."""
    imported: dict[Path, list[Path]] = {}
    found = [FOLDER / page / "main.js"]
    while found:
        path = found.pop()
        if path not in imported:
            imported[path] = [_located(source, path, page) for _, _, source in IMPORT.findall(_text(path))]
            found += imported[path]
    return TopologicalSorter(imported).static_order()


def _located(source: str, importer: Path, page: str) -> Path:
    if source == "texts":
        return FOLDER / page / "texts.js"
    return LIBRARIES / LIBRARY_FILES[source] if source in LIBRARY_FILES else (importer.parent / source).resolve()


def _name(path: Path) -> str:
    return "_".join(path.relative_to(FOLDER).with_suffix("").parts).replace("-", "_") + "_module"


def _scoped(path: Path, page: str) -> str:
    """Return a module as the body of a function that returns its exports; raise ValueError for an unknown form."""
    text = COMMENT.sub("", _text(path))
    exported = [name for _, name in EXPORT_DECLARED.findall(text)]
    exported += [_as_properties(names, renamed="{1}: {0}") for names in EXPORT_LISTED.findall(text)]
    exported += ["standard"] if EXPORT_DEFAULT.search(text) else []
    text = EXPORT_LISTED.sub("", EXPORT_DECLARED.sub(r"\1", EXPORT_DEFAULT.sub("const standard = ", text)))
    text = IMPORT.sub(lambda found: _imported(found, path, page), text)
    if left := re.search(r"^(import|export)\b.*", text, re.MULTILINE):
        message = f"{path.name}: {left[0]}"
        raise ValueError(message)
    return f"{text.rstrip()}\nreturn {{ {', '.join(exported)} }};\n"


def _imported(found: re.Match[str], importer: Path, page: str) -> str:
    names, standard, source = found.groups()
    taken = f"standard: {standard}" if standard else _as_properties(names, renamed="{0}: {1}")
    return f"const {{ {taken} }} = {_name(_located(source, importer, page))};"


def _as_properties(names: str, renamed: str) -> str:
    """Return the names in an import or export as properties of an object."""
    pairs = [name.split(" as ") for name in re.split(r"\s*,\s*", names.strip().rstrip(",").strip())]
    return ", ".join(renamed.format(*pair) if len(pair) > 1 else pair[0] for pair in pairs)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


# Scripts and styles come only from our own origin, none is inline, and only a receipt may become HTML. The receipt's
# frame inherits this policy, so the policy lists its styles. Pictures come from the bucket.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-hashes' {styles}; img-src 'self' data: {bucket}; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types {types}"
)
TYPES = {SHOP: "receipt", TILL: "worker; manifest-src 'self'; worker-src 'self'"}


def policy(page: str) -> str:
    """Return the policy of a page."""
    styles = " ".join(map(_digest, sorted(STYLES)))
    return POLICY.format(styles=styles, bucket=files_gateway.origin(), types=TYPES[page])


def _digest(style: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"
