"""The shop's page: its HTML, style and modules, joined into one script, and its Content-Security-Policy."""

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from chalicelib.gateways import files as files_gateway
from chalicelib.receipts.html import STYLES

FOLDER = Path(__file__).parent
LIBRARIES = {"preact": "libraries/preact.mjs", "preact/hooks": "libraries/hooks.mjs", "htm": "libraries/htm.mjs"}
# The forms of import and export in the modules. `import name` imports a library's default.
IMPORT = re.compile(r'^import *(?:\{([^}]*)\}|(\w+)) *from *"([^"]+)";?', re.MULTILINE)
EXPORT_DEFAULT = re.compile(r"\bexport default (?=function)")
EXPORT_DECLARED = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
EXPORT_LISTED = re.compile(r"\bexport *\{([^}]*)\};?")
SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


@cache
def files() -> dict[str, str]:
    """Return the files that the page loads: text by file name. Each name contains a digest of the text."""
    style = "".join(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("styles/*.css")))
    return {
        f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.{kind}": text
        for name, kind, text in (("shop", "css", style), ("shop", "js", script()))
    }


@cache
def page() -> str:
    """Return the HTML. Its links are relative to the page's address."""
    style, program = files()
    text = (FOLDER / "index.html").read_text(encoding="utf-8")
    return text.replace("{style}", f"app/{style}").replace("{script}", f"app/{program}")


def script() -> str:
    """Return the modules as one script, each after its imports. The licences of the libraries come first."""
    licences = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("libraries/*.LICENSE"))}
    notices = [f"/*! {name}\n\n{text}*/\n" for name, text in licences.items()]
    modules = [f"const {_name(path)} = (() => {{\n{_scoped(path)}}})();\n" for path in _in_order()]
    return "".join([*notices, *modules])


def _in_order() -> Iterable[Path]:
    """Return the modules, each after those that it imports; raise CycleError for a circle of imports."""
    imported: dict[Path, list[Path]] = {}
    found = [FOLDER / "main.js"]
    while found:
        path = found.pop()
        if path not in imported:
            sources = [source for _, _, source in IMPORT.findall(path.read_text(encoding="utf-8"))]
            imported[path] = [_located(source, path) for source in sources]
            found += imported[path]
    return TopologicalSorter(imported).static_order()


def _located(source: str, importer: Path) -> Path:
    return FOLDER / LIBRARIES[source] if source in LIBRARIES else (importer.parent / source).resolve()


def _name(path: Path) -> str:
    return "_".join(path.relative_to(FOLDER).with_suffix("").parts).replace("-", "_") + "_module"


def _scoped(path: Path) -> str:
    """Return a module as the body of a function that returns its exports; raise ValueError for an unknown form."""
    text = SOURCE_MAP.sub("", path.read_text(encoding="utf-8"))
    exported = [name for _, name in EXPORT_DECLARED.findall(text)]
    exported += [_as_properties(names, renamed="{1}: {0}") for names in EXPORT_LISTED.findall(text)]
    exported += ["standard"] if EXPORT_DEFAULT.search(text) else []
    text = EXPORT_LISTED.sub("", EXPORT_DECLARED.sub(r"\1", EXPORT_DEFAULT.sub("const standard = ", text)))
    text = IMPORT.sub(lambda found: _imported(found, path), text)
    if left := re.search(r"^(import|export)\b.*", text, re.MULTILINE):
        message = f"{path.name}: {left[0]}"
        raise ValueError(message)
    return f"{text.rstrip()}\nreturn {{ {', '.join(exported)} }};\n"


def _imported(found: re.Match[str], importer: Path) -> str:
    names, standard, source = found.groups()
    taken = f"standard: {standard}" if standard else _as_properties(names, renamed="{0}: {1}")
    return f"const {{ {taken} }} = {_name(_located(source, importer))};"


def _as_properties(names: str, renamed: str) -> str:
    """Return the names in an import or export as properties of an object."""
    pairs = [name.split(" as ") for name in re.split(r"\s*,\s*", names.strip().rstrip(",").strip())]
    return ", ".join(renamed.format(*pair) if len(pair) > 1 else pair[0] for pair in pairs)


# Scripts and styles come only from our own origin, none is inline, and only a receipt may become HTML. The receipt's
# frame inherits this policy, so the policy lists its styles. Pictures come from the bucket.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-hashes' {styles}; img-src 'self' data: {bucket}; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types receipt"
)


def policy() -> str:
    """Return the policy of the page."""
    return POLICY.format(styles=" ".join(map(_digest, sorted(STYLES))), bucket=files_gateway.origin())


def _digest(style: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"
