"""Read the query and the body of a request: the model, or its readable part, and the spelling of each name."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel

from chalicelib.errors import ServiceError, Validation, invalid
from chalicelib.schemas.base import (
    DIGITS,
    Contradiction,
    Request,
    RuledRequest,
    fields_of,
    is_placeholder,
    readable_part,
    validated,
)

Model = TypeVar("Model", bound=BaseModel)


def from_query(model: type[BaseModel], parameters: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return a query string as JSON values: digits become a number where the model expects an int.

    A parameter with two different values is a Contradiction.
    """
    numbers = {field.alias for field in model.model_fields.values() if _is_number(field.annotation)}
    query: dict[str, Any] = {}
    for name, text in parameters:
        value = int(text) if name in numbers and DIGITS.fullmatch(text) else text
        query[name] = value if query.get(name, value) == value else Contradiction()
    return query


def merge_inputs(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of both, with a Contradiction for each field with two different values."""
    differ = {name: Contradiction() for name, value in other.items() if one.get(name, value) != value}
    return {**one, **other, **differ}


def _is_number(hint: Any) -> bool:
    return hint is int or any(_is_number(part) for part in get_args(hint))


def request_or_part(model: type[Model], data: Mapping[str, Any], refused: tuple[Validation, ...] = ()) -> Model:
    """Return the request; of one with faults the part that its service judges, or raise 202 if it judges none.

    `refused` are the errors about names at a wrong place.

    The service loads and decides as for any request. It finds missing records and taken names, and raises the faults
    as soon as it reads another field. So these rules stand once, and a part is never stored.
    """
    try:
        request = validated(model, data)
        if not refused:
            return request
        faults = invalid(*refused)
    except ServiceError as refusal:
        faults = invalid(*refusal.validations, *refused)
    return unread(model, data, faults)


def unread(model: type[Model], data: Mapping[str, Any], faults: ServiceError) -> Model:
    """Return the part of a request with faults that its service judges, or raise the faults if it judges none."""
    if not issubclass(model, Request) or model.JUDGED is None:
        raise faults
    part: Model = _part(model, data, faults)
    return part


def _part(model: type[Request], data: Mapping[str, Any], faults: ServiceError) -> Any:
    """Return the readable fields of `JUDGED`. An optional one that is unreadable counts as absent."""
    values: dict[str, Any] = {"faults": faults, "current_account_id": None}  # only the path and the role come first
    for path in model.JUDGED or ():
        name, _, inner = path.partition(".")
        name = name.removesuffix("*")
        field = model.model_fields[name]
        part = readable_part(model, (path,), data, {})
        if part is None and not field.is_required():
            values.setdefault(name, field.get_default(call_default_factory=True))
        elif part is not None and inner and isinstance(values.get(name), BaseModel):
            vars(values[name])[inner] = getattr(getattr(part, name), inner)
        elif part is not None:
            values[name] = getattr(part, name)
    request = model.model_construct()
    vars(request).clear()
    vars(request).update(values)
    if isinstance(request, RuledRequest):
        request._sent = data  # noqa: SLF001  as RuledRequest does for a request without faults
    return request


def spelling_sent(path: str, sent: Any, model: type[Request] | None) -> str:
    """Return the path of a field with each name as the request spells it. `model` reads the request."""
    written = []
    for part in path.split("."):
        name, *indexes = part.replace("]", "").split("[")
        spelt = spelling_of(name, model, sent) if model and isinstance(sent, dict) else name
        written.append(spelt + "".join(f"[{index}]" for index in indexes))
        sent = sent.get(spelt) if isinstance(sent, dict) else None
        for index in indexes:
            is_place = isinstance(sent, list) and index.isdecimal() and int(index) < len(sent)
            sent = sent[int(index)] if is_place else None
        model = inner_model(model, name)[0] if model else None
    return ".".join(written)


def spelling_of(name: str, model: type[Request], sent: Mapping[str, Any]) -> str:
    """Return the name under which an object holds a field of its model; the model's own if it does not hold it."""
    if name in sent:
        return name
    others = (other for other, known in model.SPELLINGS.items() if known == name and other in sent)
    alike = (one for one in sent if len(one) == len(name) and one.lower() == name.lower())
    return next(others, None) or next(alike, name)


def inner_model(model: type[Request], name: str) -> tuple[type[Request] | None, bool]:
    """Return the model of the object in a field (None: it has none), and whether the field is a list of objects."""
    item = model.ITEMS.get(name)
    return (item, True) if item else _inner_models(model).get(name, (None, False))


@cache
def _inner_models(model: type[Request]) -> Mapping[str, tuple[type[Request] | None, bool]]:
    return {field.alias or name: _model_in(field.annotation) for name, field in model.model_fields.items()}


def _model_in(hint: Any, *, is_list: bool = False) -> tuple[type[Request] | None, bool]:
    if isinstance(hint, type) and issubclass(hint, Request):
        return hint, is_list
    parts = (_model_in(part, is_list=is_list or get_origin(hint) is list) for part in get_args(hint))
    return next((part for part in parts if part[0]), (None, False))


def is_nothing(value: object, name: str = "", model: type[BaseModel] | None = None) -> bool:
    """Return whether a value says nothing: it is empty, or a till's placeholder in the field of a model."""
    if value in ("", [], {}) or (isinstance(value, dict) and all(inner == "" for inner in value.values())):
        return True
    return model is not None and is_placeholder(name, value, fields_of(model))
