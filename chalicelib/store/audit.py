"""The audit. An entry names account, record and changed fields; it is stored in the transaction of the change.

A change keeps the former values of its fields, but no secret and no text that a client sends whole.
"""

import re
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import Any

from chalicelib.domain.masking import mask_foreign
from chalicelib.store.table import AlreadyExistsError, Key, Write, list_records, put_new, update, write_one

OPERATOR = 0
BOOKKEEPING = {"version", "credential_version"}
# Fields without a former value: secrets, and JSON texts as sent, which may hold one.
CLOSED = re.compile(
    ".*(sealed|secret|hash|digest).*|(acquirers|printer)_settings|server_fiscalization|sbp|request_context"
)
URL = re.compile("(.*_)?url")  # names of fields
ADDRESS = re.compile(r"\b(?P<scheme>[a-z][a-z0-9+.-]{0,30}:)//(?:[^/?#\\]*@)?(?P<host>[^\s/?#\\@:]*)\S*", re.IGNORECASE)
LONGEST = 200  # characters of a former value


@dataclass(frozen=True)
class Audit:
    """An audit entry. `object` is the changed record ("agent#17"); `at` is the change's time plus random letters."""

    object: str
    at: str
    kind: str
    by: int
    fields: tuple[str, ...] = ()
    name: str | None = None  # of an operator: its session at AWS, or its login on its machine
    former: Mapping[str, str] | None = None  # texts for people, by field; an erasure takes them away


@dataclass(frozen=True)
class Act:
    """A change of a record: its kind, author and time. `by` is an agent's ID, or OPERATOR with the operator's name."""

    kind: str
    by: int
    at: datetime
    name: str | None = None


def audit_entry(
    name: str, act: Act, names: Iterable[str], token: str, former: Mapping[str, str] | None = None
) -> Audit:
    """Return the audit entry of a write to a record ("agent#17"). `token` distinguishes entries of the same instant."""
    at = f"{act.at.isoformat(timespec='microseconds')}#{token}"
    known = {one: text for one, text in (former or {}).items() if text}
    return Audit(name, at, act.kind, act.by, tuple(sorted(names)), act.name, known or None)


def former_values(before: Any, after: Any = None) -> dict[str, str]:
    """Return the former value of each field that differs in `after`, or of all; "" for none and for a secret."""
    names = filled_fields(before) if after is None else changed_fields(before, after)
    pairs = ((name, getattr(before, name), getattr(after, name, None)) for name in names)
    return {name: "" if CLOSED.fullmatch(name) else _text(was, now, name)[:LONGEST] for name, was, now in pairs}


def _text(value: Any, other: Any = None, name: str = "") -> str:
    """Return a former value for people: of a group of fields those that differ from the other one.

    Card numbers are masked. Of addresses only scheme and host stay: the rest may hold a secret.
    """
    if is_dataclass(value):
        named = ((one.name, getattr(value, one.name), getattr(other, one.name, None)) for one in fields(value))
        return ", ".join(f"{inner} {_text(was, now, inner) or '-'}" for inner, was, now in named if was != now)
    if isinstance(value, tuple | frozenset):
        return "; ".join(sorted(_text(one, name=name) for one in value))
    if not isinstance(value, str):
        return "" if value is None else str(value)
    if URL.fullmatch(name):
        found = ADDRESS.match(value.strip())
        return mask_foreign(_host_of(found), None) if found else ""
    return mask_foreign(ADDRESS.sub(_host_of, value), None)


def _host_of(address: re.Match[str]) -> str:
    """Return scheme and host; of another scheme than HTTP the scheme alone, as in otpauth:."""
    return (
        f"{address['scheme']}//{address['host']}" if address["scheme"].lower().startswith("http") else address["scheme"]
    )


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


def change(name: str, act: Act, before: Any, after: Any = None, also: Iterable[str] = ()) -> Write:
    """Return the write that records a change of an object, or its end, with its former values. `also`: other acts."""
    former = former_values(before, after)
    return put_new(TABLE, audit_entry(name, act, [*former, *also], secrets.token_hex(4), former), "object")


def store(name: str, act: Act, fields: Iterable[str]) -> None:
    """Store the entry of an act that changes no single record. If it exists, our first write succeeded."""
    with suppress(AlreadyExistsError):
        write_one(write(name, act, fields))


def forget(entry: Audit, names: Iterable[str]) -> None:
    """Take former values out of an entry. Who changed which fields when stays."""
    rest = {one: text for one, text in (entry.former or {}).items() if one not in names}
    if rest != (entry.former or {}):
        write_one(update(Key(TABLE, Audit, {"object": entry.object, "at": entry.at}), {"former": rest}))


def of(name: str) -> list[Audit]:
    """List the acts on an object ("agent#17"), oldest first."""
    return list_records(TABLE, Audit, ("object", name))
