"""Who changed what: which fields, never their values."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

BOOKKEEPING = {"version", "credential_version"}


@dataclass(frozen=True)
class Audit:
    """One management write. `object` is what was changed ("agent#17"), `at` the instant and a few random letters."""

    object: str
    at: str
    kind: str
    by: int
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Act:
    """Who is changing something, how and when. `by` is an agent's ID, 0 the operator of the stage."""

    kind: str
    by: int
    at: datetime


def entry(name: str, act: Act, names: Iterable[str], token: str) -> Audit:
    """The entry of a write to an object ("agent#17"); `token` keeps two entries of one instant apart."""
    at = f"{act.at.isoformat(timespec='microseconds')}#{token}"
    return Audit(name, at, act.kind, act.by, tuple(sorted(names)))


def changed(before: Any, after: Any) -> tuple[str, ...]:
    """The names of the fields in which two versions of a record differ."""
    names = (field.name for field in fields(after) if field.name not in BOOKKEEPING)
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))


def present(record: Any) -> tuple[str, ...]:
    """The names of the fields a new record was given."""
    names = (field.name for field in fields(record) if field.name not in BOOKKEEPING)
    return tuple(name for name in names if getattr(record, name) not in (None, (), False))
