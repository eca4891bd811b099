"""Digests with a key of the stage: they stand for credentials, logins, addresses and cards."""

import hashlib
import hmac

from chalicelib.domain.secret import Secret
from chalicelib.gateways.secrets import digest_key

PSEUDONYM_LENGTH = 24  # hex digits, 96 bits: no two texts of a stage share a pseudonym
CARD_DIGEST_LENGTH = 32  # hex digits, 128 bits


def keyed_digest(secret: Secret) -> str:
    """Return the HMAC-SHA-256, in hex, under which a credential is stored and compared.

    A dictionary of likely credentials could reverse a plain SHA-256. It cannot reverse this digest without the key.
    """
    return hmac.new(digest_key().reveal().encode(), secret.reveal().encode(), hashlib.sha256).hexdigest()


def pseudonym(kind: str, text: str) -> str:
    """Return a short keyed digest that replaces a text in places where the text must not be: in logs and keys.

    Each kind has its own digests, so a pseudonym from one place cannot be looked up in another.
    """
    return keyed_digest(Secret(f"{kind}\0{text}"))[:PSEUDONYM_LENGTH]


def card_digest(transaction_id: str, pan: Secret) -> str:
    """Return the digest of a payment's card. The same card has another digest in every other payment."""
    return keyed_digest(Secret(f"card\x1f{transaction_id}\x1f{pan.reveal()}"))[:CARD_DIGEST_LENGTH]
