"""Masking: a card number that a request repeats outside its card is stored as 411111******1111."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from chalicelib.domain.card import PAN_DIGITS, brand_of, has_check_digit
from chalicelib.domain.transaction import CardDetails

# Where a card number stands: alone, in a track or in groups; in a chip's number (tag 5A); in its track 2 (tag 57).
SEPARATORS = re.compile("[ -]")
ALONE = re.compile("(?<![0-9])[0-9]{12,19}(?![0-9])")
REST_OF_TRACK = re.compile(r"(\*{6}[0-9]{4}[=Dd^])[^?]*")  # of a track whose number is masked
GROUPS = re.compile("[0-9]+(?:[ -][0-9]+)*")
MAX_GROUPS = 19  # of a card number: one for each digit
IN_NUMBER = re.compile("5A0([6-9A])")
IN_TRACK2 = re.compile("57[01][0-9A-F]([0-9]{12,19})D")
MAX_DIGITS = 100  # of a number that is written out to look for a card number in it


def numbers_in(text: str) -> list[str]:
    """Return the card numbers in a card number or a reader's data, also in data that nobody can read as a whole."""
    joined = SEPARATORS.sub("", text).upper()
    found = {*ALONE.findall(joined), *IN_TRACK2.findall(joined)}
    for tag in IN_NUMBER.finditer(joined):
        digits = joined[tag.end() : tag.end() + 2 * int(tag[1], 16)].rstrip("F")
        found.add(digits)
    return sorted(number for number in found if PAN_DIGITS.fullmatch(number) and _is_card_number(number))


def mask_foreign(text: str, card: CardDetails | None) -> str:
    """Return a text that others wrote with every card number and track in it masked, and what may be this card's."""
    masked = mask(text, sorted({*numbers_in(text), *_numbers_in_groups(text)}, key=len, reverse=True))
    if card and card.bin and card.last4:
        between = "[ -]*"
        own = between.join((*card.bin, "(?:[0-9][ -]*){2,9}", *card.last4))
        masked = re.sub(own, f"{card.masked}", masked)
    return REST_OF_TRACK.sub(r"\1******", masked)


def _numbers_in_groups(text: str) -> Iterator[str]:
    """Yield the card numbers that one or more neighbouring groups of digits make."""
    for run in GROUPS.findall(text):
        groups = SEPARATORS.split(run)
        for first in range(len(groups)):
            number = ""
            for group in groups[first : first + MAX_GROUPS]:
                number += group
                if PAN_DIGITS.fullmatch(number) and _is_card_number(number):
                    yield number


def mask(text: str, numbers: Sequence[str]) -> str:
    """Return a text with these card numbers masked, in groups or not: no other number is touched."""
    for number in numbers:
        grouped = "[ -]?".join(number)
        text = re.sub(grouped, f"{number[:6]}******{number[-4:]}", text)
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


def _is_card_number(digits: str) -> bool:
    return brand_of(digits) is not None and has_check_digit(digits)
