"""The conversion of records to DynamoDB attribute values and back: no floats, and absent fields are left out."""

import types
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


def encode(record: Any) -> dict[str, Value]:
    """Convert a record to an item: a field that is None or empty is not written, and is read as its default."""
    return {
        field.name: value_of(value)
        for field in fields(record)
        if (value := getattr(record, field.name)) is not None and value != ()
    }


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
            return {"B": value}
        case datetime():
            return {"S": value.isoformat(timespec="microseconds")}
        case date():
            return {"S": value.isoformat()}
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
    """Convert an item to a record; ignore attributes the record does not have, such as keys of indexes."""
    decoders: dict[str, Decoder] = _decoders(record)  # type: ignore[arg-type]  # a class is hashable
    return record(**{name: decoders[name](value) for name, value in item.items() if name in decoders})


@cache
def _decoders(record: type) -> dict[str, Decoder]:
    hints = get_type_hints(record)
    return {field.name: _decoder(hints[field.name]) for field in fields(record)}


def _decoder(hint: Any) -> Decoder:  # noqa: PLR0911  one return a type is the clearest form of this table
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _decoder(next(arm for arm in get_args(hint) if arm is not type(None)))
    if origin is tuple:
        item = _decoder(get_args(hint)[0])
        return lambda value: tuple(item(one) for one in value["L"])
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
        return lambda value: bytes(value["B"])
    return lambda value: str(value["S"])
