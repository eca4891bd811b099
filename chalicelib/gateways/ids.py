"""IDs that the service makes: random, or derived with the stage's digest key. No caller can compute one."""

import uuid
from datetime import datetime

from chalicelib.domain.guid import time_part
from chalicelib.domain.secret import Secret
from chalicelib.gateways.secrets import keyed_digest


def new_guid() -> str:
    """Return a random GUID in upper case."""
    return str(uuid.uuid4()).upper()


def new_guid_of(at: datetime) -> str:
    """Return a random GUID that sorts by its time (version 7), in upper case."""
    return f"{time_part(at)}-7{new_guid()[15:]}"


def derived_guid(purpose: str, *content: object) -> str:
    """Return the GUID of a content, the same each time. Only this stage can compute it, with its secret."""
    digest = keyed_digest(Secret("\x1f".join(("guid", purpose, *map(str, content)))))
    return str(uuid.UUID(hex=digest[:32], version=4)).upper()
