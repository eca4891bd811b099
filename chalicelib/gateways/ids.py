"""IDs that the service makes: random, or derived with the stage's digest key. No caller can compute one."""

import uuid

from chalicelib.domain.secret import Secret
from chalicelib.gateways.secrets import keyed_digest


def new_guid() -> str:
    """Return a random GUID in upper case."""
    return str(uuid.uuid4()).upper()


def derived_guid(purpose: str, *content: object) -> str:
    """Return the GUID of a content, the same each time. Only this stage can compute it, with its secret."""
    digest = keyed_digest(Secret("\x1f".join(("guid", purpose, *map(str, content)))))
    return str(uuid.UUID(hex=digest[:32], version=4)).upper()
