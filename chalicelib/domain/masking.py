"""Masking: a card number that a request repeats outside its card is stored as 411111******1111."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any


def mask(text: str, numbers: Sequence[str]) -> str:
    """Return a text with these card numbers masked: exactly these digits, so that no other number is touched."""
    for number in numbers:
        text = text.replace(number, f"{number[:6]}******{number[-4:]}")
    return text


def mask_value(value: Any, numbers: Sequence[str]) -> Any:
    """Return a JSON value with these card numbers masked in every text, name and number of it."""
    match value:
        case str():
            return mask(value, numbers)
        case dict():
            return {mask(name, numbers): mask_value(item, numbers) for name, item in value.items()}
        case list() | tuple():
            return [mask_value(item, numbers) for item in value]
        case int() | Decimal() if not isinstance(value, bool):
            text = f"{value:f}" if isinstance(value, Decimal) and abs(value.adjusted()) < MAX_DIGITS else str(value)
            return mask(text, numbers) if any(number in text for number in numbers) else value
        case _:
            return value


MAX_DIGITS = 100  # of a number that is written out to look for a card number in it
