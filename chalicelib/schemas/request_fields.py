"""The fields of a request as a till means them: placeholders, other spellings and other capitals."""

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr

from chalicelib.domain.secret import Secret
from chalicelib.record import Record

ZERO_TEXT = re.compile(r"-?0+(\.0+)?")
DECIMAL_TEXTS = {"AmountCashGot"}  # an amount may be a text, and so an empty one
AGENTS = {"CurrentAccountID", "AccountID", "AccountId"}
ZEROS = AGENTS | {"AmountCashGot", "InputType", "CardInputMode", "LinkedCardId", "TerminalGroupID"}
POSITIONS = {"Location", "OfflineLocation"}
COORDINATES = {"latitude", "longitude"}


class Contradiction:
    """The mark of a field that was sent twice with different values, under two spellings or in two places."""


class OtherCapitals(Record):
    """The mark of a known field that was sent in other capitals: ignoring `id` would charge twice."""

    written: str


class RequestFields(Record):
    """The names of a model's fields on the wire, and those in which tills send something for nothing.

    These are optional fields, and stand for absent when a text is empty, a number is 0 or a position has no numbers.
    """

    names: frozenset[str]
    by_lower: Mapping[str, str]
    texts: frozenset[str]
    zeros: frozenset[str]
    positions: frozenset[str]


@cache
def fields_of(model: type[BaseModel]) -> RequestFields:
    """Return the fields of a request's model; `SPELLINGS` of the model are its other spellings."""
    spellings: Mapping[str, str] = getattr(model, "SPELLINGS", {})
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    optional = frozenset(name for name, field in fields.items() if not field.is_required())
    return RequestFields(
        names=frozenset(fields),
        by_lower={name.lower(): name for name in fields} | {one.lower(): name for one, name in spellings.items()},
        texts=optional & DECIMAL_TEXTS | {name for name in optional if _holds(fields[name].annotation)},
        zeros=optional & ZEROS,
        positions=optional & POSITIONS,
    )


def _holds(hint: Any, kinds: tuple[type, ...] = (str, Secret, SecretStr, date)) -> bool:
    """Return whether a text of this kind is expected, itself or as one of several choices."""
    if get_origin(hint) is Literal:
        return all(isinstance(choice, str) for choice in get_args(hint))
    if get_origin(hint) in (Union, UnionType, Annotated):
        return any(_holds(part, kinds) for part in get_args(hint))
    return hint in kinds


def _merged(one: Any, other: Any) -> Any:
    """Return the one value of a field that was sent in two spellings; a mark where they differ."""
    marks = [value for value in (one, other) if isinstance(value, OtherCapitals)]
    if marks:
        return marks[0]
    return one if one == other else Contradiction()


def _is_nothing(name: str, value: object, fields: RequestFields) -> bool:
    """Return whether a value is a till's placeholder."""
    if name in fields.positions and isinstance(value, dict):
        return all(inner == "" for key, inner in value.items() if key.lower() in COORDINATES)
    if name in fields.zeros and value != "":
        zero = isinstance(value, int | Decimal) and not isinstance(value, bool) and value == 0
        return zero or (isinstance(value, str) and ZERO_TEXT.fullmatch(value) is not None)
    return value == "" and name in fields.texts


def as_meant(data: Mapping[str, Any], fields: RequestFields, spellings: Mapping[str, str]) -> dict[str, Any]:
    """Return what a request means: without placeholders and unknown fields, each field under the model's spelling."""
    meant: dict[str, Any] = {}
    for written, sent in data.items():
        name = spellings.get(written, written)
        if name not in fields.names:
            name = fields.by_lower.get(written.lower(), "")
        if not name or _is_nothing(name, sent, fields):
            continue
        is_known = written in fields.names or written in spellings
        value = sent if is_known else OtherCapitals(written)
        meant[name] = _merged(meant.get(name, value), value)
    return meant
