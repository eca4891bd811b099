"""A partner that fills in the fields of a product: its request, answer and signature."""

import hashlib
import hmac
from dataclasses import dataclass

from chalicelib.domain.secret import Secret


@dataclass(frozen=True)
class PartnerRequest:
    """A request to a partner: a product, and the names and values of its fields.

    The partner fills in a value that is None.
    """

    product: str
    client_product_code: str | None
    fields: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class PreparedField:
    """A field that the partner filled in."""

    code: str
    value: str


@dataclass(frozen=True)
class Problem:
    """A field that the partner refuses; the name is None when the problem concerns no single field."""

    name: str | None
    message: str


def sign(secret: Secret, timestamp: str, body: bytes) -> str:
    """Return the signature of a request: HMAC-SHA-256 over timestamp, a full stop and body, in hex."""
    return hmac.new(secret.reveal().encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
