"""The IDs and references the service makes: random, or derived under the stage's secret. No caller can compute one."""

import uuid

from chalicelib.domain.secret import Secret
from chalicelib.gateways.secrets import keyed_digest

DIGEST_LENGTH = 32  # hex digits, 128 bits


def new_guid() -> str:
    """Return a random GUID in upper case."""
    return str(uuid.uuid4()).upper()


def card_digest(transaction_id: str, pan: Secret) -> str:
    """Return what tells a payment's card from another; it is another one for the same card in another payment."""
    return keyed_digest(Secret(f"card\x1f{transaction_id}\x1f{pan.reveal()}"))[:DIGEST_LENGTH]


def derived_guid(purpose: str, *content: object) -> str:
    """Return the GUID of a content, the same each time; only this stage can make it, under its secret."""
    digest = keyed_digest(Secret("\x1f".join(("guid", purpose, *map(str, content)))))
    return str(uuid.UUID(hex=digest[:32], version=4)).upper()
