"""The audit: entries that are written in the same store transaction as the change they describe."""

import secrets
from collections.abc import Iterable

from chalicelib.domain.audit import Act, Audit, audit_entry
from chalicelib.store.query import list_records
from chalicelib.store.table import Write, put_new

TABLE = "audit"


def write(name: str, act: Act, fields: Iterable[str]) -> Write:
    """Record an act and the fields of the object ("agent#17") that it changed."""
    return put_new(TABLE, audit_entry(name, act, fields, secrets.token_hex(4)), "object")


def of(name: str) -> list[Audit]:
    """List the acts on an object ("agent#17"), oldest first."""
    return list_records(TABLE, Audit, ("object", name))
