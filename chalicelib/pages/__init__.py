"""The pages: the shop's and the till's. Their HTML and files, and their security policy.

Each page has a folder, whose `main.js` and `main.css` load the other files. `kit` holds the parts of both pages,
`libraries` files of other projects. In the package, esbuild has put all modules of a page into its `main.js`, all
styles into its `main.css` (`infra.stack.esbuild`); elsewhere browsers load them one by one.
"""

import base64
import hashlib
import json
from functools import cache
from pathlib import Path

from chalicelib.gateways import files as files_gateway
from chalicelib.receipts.html import STYLES

SHOP, TILL = "shop", "till"
FOLDER = Path(__file__).parent
ADDRESSES = {SHOP: "app", TILL: "till"}  # of the pages
WORKER = "service_worker.js"
MEDIA_TYPES = {  # of files that clients load, by the end of their names
    "LICENSE": "text/plain; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "webmanifest": "application/manifest+json",
}


@cache
def files(page: str) -> dict[str, str]:
    """Return the files that a page loads: text by folder and name, such as `kit/api.js`."""
    found = sorted(path for folder in (page, "kit", "libraries") for path in (FOLDER / folder).glob("*"))
    names = (path.relative_to(FOLDER).as_posix() for path in found if path.name != WORKER)
    return {name: _text(FOLDER / name) for name in names if name.rpartition(".")[2] in MEDIA_TYPES}


@cache
def version(page: str) -> str:
    """Return the digest of a page and its files. It is part of the files' addresses."""
    texts = json.dumps([_text(FOLDER / page / "index.html"), files(page)])
    return hashlib.sha256(texts.encode()).hexdigest()[:16]


@cache
def html(page: str) -> str:
    """Return the HTML. Its links are relative to the page's address."""
    text = _text(FOLDER / page / "index.html").replace("{files}", f"{ADDRESSES[page]}/{version(page)}/{page}")
    if page == TILL:  # inside the page, because the API sends only texts
        icon = base64.b64encode((FOLDER / TILL / "touch_icon.png").read_bytes()).decode()
        text = text.replace("{touch_icon}", icon)
    return text


@cache
def worker() -> str:
    """Return the service worker of the till. It names the files of this version, so each version is another worker."""
    text = _text(FOLDER / TILL / WORKER).replace("{version}", version(TILL))
    return text.replace('"{files}"', json.dumps([name for name in files(TILL) if not name.endswith("LICENSE")]))


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
    digests = (base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in sorted(STYLES))
    styles = " ".join(f"'sha256-{digest}'" for digest in digests)
    return POLICY.format(styles=styles, bucket=files_gateway.origin(), types=TYPES[page])
