"""Attribute values in the form of the wire, {"S": "text"}: what is stored of them, compared of them, and their size."""

from collections.abc import Callable, Mapping
from decimal import Context, Decimal, InvalidOperation
from typing import Any

Value = Mapping[str, Any]
Item = dict[str, Value]

KINDS = frozenset({"S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"})
ORDERED = frozenset({"S", "N", "B"})  # the types that < compares
SETS = {"SS": "S", "NS": "N", "BS": "B"}
DIGITS, SMALLEST, LARGEST = 38, -130, 125  # of a number: its digits, and the exponent of the first of them
EXACT = Context(prec=400)  # no number is rounded
MAX_ITEM_BYTES = 400 * 1024
MAX_KEY_BYTES = {"HASH": 2048, "RANGE": 1024}


class InvalidError(Exception):
    """A request that is refused with ValidationException."""


def stored(value: Value) -> Value:
    """Return the value as it is stored; raise InvalidError for what is none."""
    if len(value) != 1:
        raise InvalidError
    kind, content = next(iter(value.items()))
    if kind == "S":
        if not isinstance(content, str):
            raise InvalidError
        return value
    if kind == "N":
        return {"N": _number_text(content)}
    if kind in SETS:
        return {kind: _set(SETS[kind], content)}
    if kind == "L":
        return {"L": [stored(each) for each in content]}
    if kind == "M":
        return {"M": {name: stored(each) for name, each in content.items()}}
    if kind not in KINDS:
        raise InvalidError
    if kind == "B" and not isinstance(content, bytes):
        raise InvalidError
    return value


def _number_text(text: object) -> str:
    if not isinstance(text, str):
        raise InvalidError
    if text.isascii() and text.isdigit() and len(text) <= DIGITS and (text[0] != "0" or text == "0"):
        return text
    try:
        number = EXACT.normalize(Decimal(text))
    except InvalidOperation:
        raise InvalidError from None
    if not number.is_finite() or len(number.as_tuple().digits) > DIGITS:
        raise InvalidError
    if number and not SMALLEST <= number.adjusted() <= LARGEST:
        raise InvalidError
    return f"{number:f}" if number else "0"


def _set(kind: str, members: Any) -> list[Any]:
    found = [stored({kind: each})[kind] for each in members]
    if not found or len(set(found)) < len(found):
        raise InvalidError
    return found


def number_of(text: str) -> int | Decimal:
    """Return a number; whole ones are quicker, and equal to the others."""
    try:
        return int(text)
    except ValueError:
        return Decimal(text)


def comparable(value: Value) -> tuple[str, Any]:
    """Return what two values have in common when `=` holds of them; of ordered types it orders them, too."""
    kind, content = next(iter(value.items()))
    if kind == "S":
        return kind, content
    if kind == "N":
        return kind, number_of(content)
    if kind in SETS:
        return kind, frozenset(comparable({SETS[kind]: each})[1] for each in content)
    if kind == "L":
        return kind, tuple(map(comparable, content))
    if kind == "M":
        return kind, frozenset((name, comparable(each)) for name, each in content.items())
    return kind, content


def size(value: Value) -> int:
    """Return the bytes that DynamoDB counts of a value."""
    kind, content = next(iter(value.items()))
    return SIZES[kind](content)


def item_size(item: Mapping[str, Value]) -> int:
    """Return the bytes that DynamoDB counts of an item: its names and its values."""
    return sum(len(name.encode()) + size(value) for name, value in item.items())


def _size_of_number(text: str) -> int:
    digits = text.lstrip("-").replace(".", "").strip("0")
    return (len(digits) + 1) // 2 + 1 + text.startswith("-")


SIZES: dict[str, Callable[[Any], int]] = {
    "S": lambda text: len(text) if text.isascii() else len(text.encode()),
    "N": _size_of_number,
    "B": len,
    "BOOL": lambda _: 1,
    "NULL": lambda _: 1,
    "L": lambda values: 3 + sum(1 + size(each) for each in values),
    "M": lambda values: 3 + sum(len(name.encode()) + 1 + size(each) for name, each in values.items()),
    "SS": lambda texts: sum(len(text.encode()) for text in texts),
    "NS": lambda texts: sum(map(_size_of_number, texts)),
    "BS": lambda values: sum(map(len, values)),
}
