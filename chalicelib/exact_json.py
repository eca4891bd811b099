"""Exact JSON: numbers are parsed as Decimal and written digit by digit, never through a binary float."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal, DecimalException
from typing import Any

import simplejson

from chalicelib.errors import ErrorCode, ServiceError

MAX_DEPTH = 64  # levels of a body
STRING, BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"'), re.compile(rb"[\[\]{}]")


def text(value: Mapping[str, Any]) -> str:
    """Return the value as JSON text."""
    written: str = simplejson.dumps(value, use_decimal=True, ensure_ascii=False, separators=(",", ":"))
    return written


def parse(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body: numbers exact, nulls left out.

    Raise MALFORMED_JSON when it is not an object or has a key twice.
    """
    if _is_deep(body):
        raise ServiceError(ErrorCode.MALFORMED_JSON, f"The body has more than {MAX_DEPTH} levels.")
    try:
        value = json.loads(body, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_object)
    except (ValueError, RecursionError, DecimalException) as error:
        reason = str(error) if isinstance(error, _DuplicateKeyError) else None
        raise ServiceError(ErrorCode.MALFORMED_JSON, reason) from None
    if not isinstance(value, dict):
        raise ServiceError(ErrorCode.MALFORMED_JSON)
    return value


def _is_deep(body: bytes) -> bool:
    """Return whether a body has more levels than any request needs, so that no caller decides about recursion."""
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        return False
    depth = deepest = 0
    for bracket in BRACKET.findall(STRING.sub(b"", body)):
        depth += 1 if bracket in b"{[" else -1
        deepest = max(deepest, depth)
    return deepest > MAX_DEPTH


class _DuplicateKeyError(ValueError):
    """An object with a key twice: no reader can know which value was meant."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        message = "The body is not a JSON object without repeated names."
        raise _DuplicateKeyError(message)
    return {key: value for key, value in pairs if value is not None}


def _no_constant(text: str) -> None:
    raise ValueError(text)
