"""The conversion of records to DynamoDB attribute values and back: no floats, and absent fields are left out."""

import types
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Value = dict[str, Any]  # {"S": "text"}: an attribute value in the form DynamoDB takes
Decoder = Callable[[Value], Any]
R = TypeVar("R")
EMPTY: tuple[Any, ...] = (None, (), frozenset())


def attributes_of(record: Any) -> dict[str, Any]:
    """Return the values of a record by the attribute each is stored under.

    A field's metadata may say otherwise than its name: `stored_as` another name, because stored data outlives the names
    in the code; `inline` that the fields of the record it holds are attributes of the item itself.
    """
    attributes: dict[str, Any] = {}
    for name, attribute in _stored_as(type(record)):  # type: ignore[arg-type]  # a class is hashable
        value = getattr(record, name)
        if attribute is None:
            attributes |= attributes_of(value)
        else:
            attributes[attribute] = value
    return attributes


@cache
def _stored_as(record: type) -> list[tuple[str, str | None]]:
    """Return each field with its attribute; None for one whose fields are attributes themselves."""
    return [
        (field.name, None if field.metadata.get("inline") else field.metadata.get("stored_as", field.name))
        for field in fields(record)
    ]


def encode(record: Any) -> dict[str, Value]:
    """Return the item of a record: a field that is None or empty is not written, and reads back as its default."""
    return {name: value_of(value) for name, value in attributes_of(record).items() if value not in EMPTY}


def value_of(value: Any) -> Value:  # noqa: C901, PLR0911  one line a type is the clearest form of this table
    """Convert one value to an attribute value; refuse a float, because no amount may be one."""
    match value:
        case Enum():
            return value_of(value.value)
        case str():
            return {"S": str(value)}
        case bool():
            return {"BOOL": value}
        case int() | Decimal():
            return {"N": str(value)}
        case bytes():
            return {"B": b64encode(value).decode()}
        case datetime():
            return {"S": value.isoformat(timespec="microseconds")}
        case date():
            return {"S": value.isoformat()}
        case frozenset():
            return {"SS": sorted(value)}
        case tuple() | list():
            return {"L": [value_of(item) for item in value]}
        case Mapping():
            return {"M": {key: value_of(item) for key, item in value.items()}}
        case _ if is_dataclass(value):
            return {"M": encode(value)}
        case _:
            message = f"{type(value).__name__} cannot be stored"
            raise TypeError(message)


def decode(record: type[R], item: Mapping[str, Value]) -> R:
    """Return the record an item holds. Attributes the record does not know (keys of indexes) are passed over."""
    attributes, inlined = _decoders(record)  # type: ignore[arg-type]  # a class is hashable
    values = {attributes[name][0]: attributes[name][1](value) for name, value in item.items() if name in attributes}
    return record(**values, **{name: decode(part, item) for name, part in inlined.items()})


@cache
def _decoders(record: type) -> tuple[dict[str, tuple[str, Decoder]], dict[str, type]]:
    """Return the field and decoder of each attribute, and the fields whose attributes stand in the item itself."""
    hints = get_type_hints(record)
    inlined = {field.name: hints[field.name] for field in fields(record) if field.metadata.get("inline")}
    attributes = {
        field.metadata.get("stored_as", field.name): (field.name, _decoder(hints[field.name]))
        for field in fields(record)
        if field.name not in inlined
    }
    return attributes, inlined


def _decoder(hint: Any) -> Decoder:  # noqa: PLR0911  one return a type is the clearest form of this table
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        arms = set(get_args(hint)) - {type(None)}
        return _text_or_number if arms == {int, str} else _decoder(*arms)
    if origin is tuple:
        item = _decoder(get_args(hint)[0])
        return lambda value: tuple(item(one) for one in value["L"])
    if origin is frozenset:
        return lambda value: frozenset(value["SS"])
    if is_dataclass(hint):
        return lambda value: decode(hint, value["M"])  # type: ignore[arg-type]  # `hint` is a class here
    if issubclass(hint, Enum):
        return lambda value: hint(int(value["N"]) if "N" in value else value["S"])
    if issubclass(hint, datetime | date):
        return lambda value: hint.fromisoformat(value["S"])
    if issubclass(hint, bool):
        return lambda value: bool(value["BOOL"])
    if issubclass(hint, int | Decimal):
        return lambda value: hint(value["N"])
    if issubclass(hint, bytes):
        return lambda value: b64decode(value["B"])
    return lambda value: str(value["S"])


def _text_or_number(value: Value) -> str | int:
    return int(value["N"]) if "N" in value else str(value["S"])
