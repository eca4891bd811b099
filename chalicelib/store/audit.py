"""The audit. An entry names account, record and changed fields; it is stored in the transaction of the change."""

import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from chalicelib.store.table import AlreadyExistsError, Write, list_records, put_new, write_one

OPERATOR = 0
BOOKKEEPING = {"version", "credential_version"}


@dataclass(frozen=True)
class Audit:
    """An audit entry. `object` is the changed record ("agent#17"); `at` is the change's time plus random letters."""

    object: str
    at: str
    kind: str
    by: int
    fields: tuple[str, ...] = ()
    name: str | None = None  # of an operator, on the operator's machine


@dataclass(frozen=True)
class Act:
    """A change of a record: its kind, author and time. `by` is an agent's ID, or OPERATOR with the operator's name."""

    kind: str
    by: int
    at: datetime
    name: str | None = None


def audit_entry(name: str, act: Act, names: Iterable[str], token: str) -> Audit:
    """Return the audit entry of a write to a record ("agent#17"). `token` distinguishes entries of the same instant."""
    at = f"{act.at.isoformat(timespec='microseconds')}#{token}"
    return Audit(name, at, act.kind, act.by, tuple(sorted(names)), act.name)


def changed_fields(before: Any, after: Any) -> tuple[str, ...]:
    """Return the names of the fields in which two versions of a record differ."""
    names = (field.name for field in fields(after) if field.name not in BOOKKEEPING)
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))


def filled_fields(record: Any) -> tuple[str, ...]:
    """Return the names of the fields that have a value in a new record."""
    names = (field.name for field in fields(record) if field.name not in BOOKKEEPING)
    return tuple(name for name in names if getattr(record, name) not in (None, (), False))


TABLE = "audit"


def write(name: str, act: Act, fields: Iterable[str]) -> Write:
    """Return the write that records an act and the fields it changed in the object ("agent#17")."""
    return put_new(TABLE, audit_entry(name, act, fields, secrets.token_hex(4)), "object")


def store(name: str, act: Act, fields: Iterable[str]) -> None:
    """Store the entry of an act that changes no single record. If it exists, our first write succeeded."""
    with suppress(AlreadyExistsError):
        write_one(write(name, act, fields))


def of(name: str) -> list[Audit]:
    """List the acts on an object ("agent#17"), oldest first."""
    return list_records(TABLE, Audit, ("object", name))
