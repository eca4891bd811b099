"""The audit: written in the same store transaction as the change it speaks of."""

import secrets
from collections.abc import Iterable

from chalicelib.domain.audit import Act, Audit, audit_entry
from chalicelib.store.query import all_of
from chalicelib.store.table import Write, put_new

TABLE = "audit"


def write(name: str, act: Act, fields: Iterable[str]) -> Write:
    """Record the act, and which fields of the object ("agent#17") it changed."""
    return put_new(TABLE, audit_entry(name, act, fields, secrets.token_hex(4)), "object")


def of(name: str) -> list[Audit]:
    """Everything that was done to an object ("agent#17"), oldest first."""
    return all_of(TABLE, Audit, ("object", name))
