"""Exact JSON: numbers are parsed as Decimal and written digit by digit, never through a binary float."""

import json
from decimal import Decimal, DecimalException
from typing import Any

import simplejson

from chalicelib.errors import ErrorCode, ServiceError

MAX_DEPTH = 64  # levels of a body
MAX_VALUES = 50_000  # values and lists of a body: this limits the time to read any body
LONGEST_INT = 40  # digits; a longer one becomes a Decimal, because Python converts it in quadratic time


def text(value: Any) -> str:
    """Return the value as JSON text."""
    written: str = simplejson.dumps(value, use_decimal=True, ensure_ascii=False, separators=(",", ":"))
    return written


def read(text: str) -> Any:
    """Return the value of a JSON text with exact numbers. Raise ValueError for other texts."""
    try:
        return json.loads(text, parse_float=Decimal, parse_int=_whole, parse_constant=refuse_constant)
    except (RecursionError, DecimalException) as error:
        raise ValueError(type(error).__name__) from None


def parse(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body, with exact numbers and without nulls.

    Raise MALFORMED_JSON when it is not an object in UTF-8, repeats a key, or has too many levels or values.
    """
    try:
        value = json.loads(
            body.decode(),
            parse_float=Decimal,
            parse_int=_whole,
            parse_constant=refuse_constant,
            object_pairs_hook=_object,
        )
    except (ValueError, RecursionError, DecimalException) as error:
        reason = str(error) if isinstance(error, _DuplicateKeyError) else None
        raise ServiceError(ErrorCode.MALFORMED_JSON, reason) from None
    if not isinstance(value, dict):
        raise ServiceError(ErrorCode.MALFORMED_JSON)
    _check_size(value)
    return value


def _check_size(value: dict[str, Any]) -> None:
    """Refuse a value with too many levels or values. The check goes level by level, so depth costs no recursion."""
    level: list[Any] = [value]
    count = 0
    for _ in range(MAX_DEPTH):
        count += sum(map(len, level))
        if count > MAX_VALUES:
            raise ServiceError(ErrorCode.MALFORMED_JSON, f"The body has more than {MAX_VALUES} values.")
        items = (item for one in level for item in (one.values() if isinstance(one, dict) else one))
        level = [item for item in items if isinstance(item, dict | list)]
        if not level:
            return
    raise ServiceError(ErrorCode.MALFORMED_JSON, f"The body has more than {MAX_DEPTH} levels.")


def _whole(text: str) -> int | Decimal:
    return int(text) if len(text) <= LONGEST_INT else Decimal(text)


class _DuplicateKeyError(ValueError):
    """The object repeats a key, so its meaning is unclear."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        message = "The body is not a JSON object without repeated names."
        raise _DuplicateKeyError(message)
    return {key: value for key, value in pairs if value is not None}


def refuse_constant(text: str) -> None:
    """Raise ValueError for NaN and Infinity, which are not JSON. It is the `parse_constant` of json.loads."""
    raise ValueError(text)
