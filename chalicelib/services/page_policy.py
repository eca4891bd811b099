"""The Content-Security-Policy of the shop's page: the origins it may load from, and the scripts it may run."""

import base64
import hashlib

from chalicelib.gateways import files
from chalicelib.receipts.html import STYLES

# Scripts and styles of our own origin alone, none in the page, and no text becomes HTML but a receipt. A receipt is
# shown in a frame, which has this policy too: its styles are known. Pictures are in the bucket.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-hashes' {styles}; img-src 'self' data: {bucket}; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types receipt"
)


def policy() -> str:
    """Return the policy of the page."""
    return POLICY.format(styles=" ".join(map(_digest, sorted(STYLES))), bucket=files.origin())


def _digest(style: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"
