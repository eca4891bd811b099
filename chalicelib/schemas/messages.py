"""The messages of findings, for people: they say what is expected, and never show a regular expression."""

from typing import Any

from pydantic import Field
from pydantic_core import ErrorDetails

_EXPECTED: dict[str, str] = {}  # a pattern: what it expects, in words

MESSAGES = {
    "missing": "It is required.",
    "string_type": "A text is expected.",
    "string_unicode": "The text is not valid Unicode.",
    "int_type": "A whole number is expected.",
    "int_from_float": "A whole number is expected.",
    "int_parsing": "A whole number is expected.",
    "bool_type": "true or false is expected.",
    "list_type": "A list is expected.",
    "dict_type": "An object is expected.",
    "mapping_type": "An object is expected.",
    "model_type": "An object is expected.",
    "model_attributes_type": "An object is expected.",
    "string_too_long": "At most {max_length} characters are expected.",
    "string_too_short": "At least {min_length} characters are expected.",
    "too_long": "At most {max_length} items are expected.",
    "too_short": "At least {min_length} items are expected.",
    "greater_than": "A number above {gt} is expected.",
    "greater_than_equal": "A number of at least {ge} is expected.",
    "less_than": "A number below {lt} is expected.",
    "less_than_equal": "A number of at most {le} is expected.",
    "decimal_max_digits": "At most {max_digits} digits are expected.",
    "decimal_max_places": "At most {decimal_places} decimals are expected.",
    "decimal_whole_digits": "At most {whole_digits} digits before the decimal point are expected.",
    "literal_error": "One of {expected} is expected.",
}
LENGTHS = {"too_short", "too_long", "string_too_short", "string_too_long"}


def pattern(regex: str, expected: str) -> Any:
    """Return a field of this pattern; `expected` is the message for a text that does not match it."""
    _EXPECTED[regex] = expected
    return Field(pattern=regex)


def message_of(detail: ErrorDetails) -> str:
    """Return the message of a finding of pydantic."""
    context, kind = detail.get("ctx", {}), detail["type"]
    if kind == "string_pattern_mismatch":
        return _EXPECTED[context["pattern"]]
    if kind in LENGTHS and isinstance(detail["input"], str):  # of a secret text, too
        kind = f"string_{kind.removeprefix('string_')}"
        if context.get("min_length") == 1:
            return "It may not be empty."
    template = MESSAGES.get(kind)
    return template.format(**context) if template else detail["msg"]
