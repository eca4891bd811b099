"""Exact JSON: numbers are parsed as Decimal and written digit by digit, never through a binary float."""

import json
from collections import Counter
from decimal import Decimal, DecimalException
from typing import Any

import simplejson

from chalicelib.errors import ErrorCode, ServiceError

MAX_DEPTH = 64  # levels of a body
MAX_NAMES = 1000  # of an object
MAX_VALUES = 50_000  # values and lists of a body: this limits the time to read any body
LONGEST_NAME = 64  # characters of a field's name in a message
LONGEST_INT = 40  # digits; a longer one becomes a Decimal, because Python converts it in quadratic time


class TooDeepError(ValueError):
    """A JSON text has so many levels that Python cannot read it."""


def text(value: Any) -> str:
    """Return the value as JSON text."""
    written: str = simplejson.dumps(value, use_decimal=True, ensure_ascii=False, separators=(",", ":"))
    return written


def read(text: str) -> Any:
    """Return the value of a JSON text with exact numbers. Raise TooDeepError or ValueError for other texts."""
    try:
        return json.loads(text, parse_float=Decimal, parse_int=_whole, parse_constant=refuse_constant)
    except RecursionError:
        raise TooDeepError from None
    except DecimalException as error:
        raise ValueError(type(error).__name__) from None


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether lists and objects are nested deeper than so many levels. The check itself costs no recursion."""
    level = [value]
    for _ in range(levels + 1):
        level = [one for one in level if isinstance(one, dict | list)]
        if not level:
            return False
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
    return True


def parse(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body, with exact numbers and without nulls. A byte order mark is skipped.

    Raise MALFORMED_JSON, with the reason and its place, when it is not an object in UTF-8, repeats a key, or has too
    many levels, names or values.
    """
    try:
        value = json.loads(
            body.decode("utf-8-sig"),
            parse_float=Decimal,
            parse_int=_whole,
            parse_constant=_refuse_in_body,
            object_pairs_hook=_object,
        )
    except (ValueError, RecursionError, DecimalException) as error:
        raise ServiceError(ErrorCode.MALFORMED_JSON, _reason(error, body)) from None
    if not isinstance(value, dict):
        raise ServiceError(ErrorCode.MALFORMED_JSON, f"The body is {KINDS[type(value)]}: a JSON object is expected.")
    _check_size(value)
    return value


KINDS = {list: "a list", str: "a text", bool: "true or false", type(None): "null", int: "a number", Decimal: "a number"}
# By the beginning of a message of Python's parser: our words for it.
REASONS = {
    "Expecting value": "a value is expected",
    "Expecting property name": "a name in double quotes is expected",
    "Expecting ':'": "a colon is expected",
    "Expecting ','": "a comma or the end of the list or object is expected",
    "Illegal trailing comma": "a comma stands before the end of a list or object",
    "Unterminated string": "a text begins that does not end",
    "Invalid control character": "a line break or control character in a text must be escaped",
    "Invalid \\": "a backslash begins no escape of JSON",
    "Extra data": "something follows the object",
}


def _reason(error: Exception, body: bytes) -> str:
    if isinstance(error, json.JSONDecodeError):
        if not body.strip():
            return "The body is empty: a JSON object is expected."
        words = next((ours for theirs, ours in REASONS.items() if error.msg.startswith(theirs)), "it is not JSON")
        return f"The body is not JSON at line {error.lineno}, column {error.colno}: {words}."
    if isinstance(error, UnicodeDecodeError):
        return f"The body is not UTF-8 at byte {error.start + 1}."
    if isinstance(error, RecursionError):
        return TOO_DEEP
    return str(error) if isinstance(error, _MalformedError) else "A number of the body is too large."


TOO_DEEP = f"The body has more than {MAX_DEPTH} levels."


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
    raise ServiceError(ErrorCode.MALFORMED_JSON, TOO_DEEP)


def _whole(text: str) -> int | Decimal:
    return int(text) if len(text) <= LONGEST_INT else Decimal(text)


class _MalformedError(ValueError):
    """A body that is refused for this reason, although Python would read it."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_NAMES:
        message = f"An object of the body has more than {MAX_NAMES} names."
        raise _MalformedError(message)
    if len({key for key, _ in pairs}) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        message = f"An object of the body repeats the name {json.dumps(twice[:LONGEST_NAME])}."
        raise _MalformedError(message)
    return {key: value for key, value in pairs if value is not None}


def refuse_constant(text: str) -> None:
    """Raise ValueError for NaN and Infinity, which are not JSON. It is the `parse_constant` of json.loads."""
    raise ValueError(text)


def _refuse_in_body(text: str) -> None:
    message = f"The body holds {text}, which is not JSON."
    raise _MalformedError(message)
