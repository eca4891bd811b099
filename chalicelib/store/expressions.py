"""Expressions of DynamoDB: every attribute is written `#name` in them, so that none can be a reserved word."""

import re
from collections.abc import Iterable

ATTRIBUTE = re.compile(r"#\w+")


def set_attributes(names: Iterable[str]) -> str:
    """Return the SET clause that gives each attribute the value of its own name."""
    return "SET " + ", ".join(f"#{name} = :{name}" for name in names)


def attribute_names(text: str) -> dict[str, str]:
    """Return the attributes an expression mentions, each under its placeholder: {"#at": "at"}."""
    return {word: word[1:] for word in ATTRIBUTE.findall(text)}
