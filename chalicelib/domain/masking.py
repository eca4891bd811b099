"""Masking: a card number outside the card fields of a request is stored as 411111******1111."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Any
from unicodedata import normalize, numeric

from chalicelib.domain.card import PAN_DIGITS, brand_of, has_check_digit
from chalicelib.domain.secret import masked_number
from chalicelib.domain.transaction import CardDetails

# The forms of a card number: digits only, in a track, or in groups; in a chip's number (tag 5A) or track 2 (tag 57).
SEPARATORS = re.compile("[ -]")
ALONE = re.compile("(?<![0-9])[0-9]{12,19}(?![0-9])")
REST_OF_TRACK = re.compile(r"(\*{6}[0-9]{4}[=Dd^])[^?]*")  # the rest of a track with a masked number
REST_IN_REQUEST = re.compile(r"(\*{6}[0-9]{4} ?(?:[=Dd]|\^[^^?]{0,26}\^) ?)[0-9]+")  # here other text may follow
GROUPS = re.compile("[0-9]+(?:[ -][0-9]+)*")
MAX_GROUPS = 19  # groups in a card number: at most one per digit
BLANKS = re.compile(r"[\s-]")  # the readers of cards ignore them
LENGTH_OF_LENGTH = "(?:81|8200|830000|84000000)?"
IN_NUMBER = re.compile(f"5A{LENGTH_OF_LENGTH}0([6-9A])")
IN_TRACK2 = re.compile(f"57{LENGTH_OF_LENGTH}[01][0-9A-F]([0-9]{{12,19}})D")
SHORTEST = 12  # card number, in digits
# Characters with digits: of any script, raised, lowered, circled, in brackets. Some have two.
DIGIT = r"\d²³¹¼-¾፩-፱᧚⁰-₉⅐-⅟↉①-⒛⓪⓵-⓿❶-➓㉑-㊿㋀-㋋㍘-㏾𐩀-𐩃𐹠-𐹨𑁒-𑁚🄀-🄊"
MARKUP = re.compile(r"</?[A-Za-z!][^<>]{0,100}>|&#?[0-9A-Za-z]{1,10};")  # a tag or an entity
# Between two digits stand up to eight characters that are no letters or digits, up to three of any kind, or markup.
BETWEEN = rf"(?>(?:[^\w{DIGIT}]|_){{0,8}}+(?=[{DIGIT}])|[^{DIGIT}]{{0,3}}+(?=[{DIGIT}]))"
DIGITS_IN_GROUPS = re.compile(rf"[{DIGIT}](?:{BETWEEN}[{DIGIT}]){{5,}}+")
DIGITS_IN_MARKUP = re.compile(rf"[{DIGIT}](?:(?>(?:{MARKUP.pattern}|[^\w{DIGIT}]|_){{0,8}}+)[{DIGIT}]){{5,}}+")
MAX_DIGITS = 40  # longer numbers keep their exponent when they are searched


def numbers_in(text: str) -> list[str]:
    """Return the card numbers in a card number or a reader's data, even if the data is unreadable as a whole."""
    joined = BLANKS.sub("", normalize("NFKC", text)).upper()
    found = {*ALONE.findall(joined), *IN_TRACK2.findall(joined)}
    for tag in IN_NUMBER.finditer(joined):
        digits = joined[tag.end() : tag.end() + 2 * int(tag[1], 16)].rstrip("F")
        found.add(digits)
    return sorted(number for number in found if PAN_DIGITS.fullmatch(number) and _is_card_number(number))


def mask_foreign(text: str, card: CardDetails | None) -> str:
    """Return a third party's text with all card numbers and tracks masked, and any digits that fit this card."""
    masked = mask_of({*numbers_in(text), *_numbers_in_groups(text)})(text)
    if card and card.bin and card.last4:
        between = "[ -]*"
        own = between.join((*card.bin, "(?:[0-9][ -]*){2,9}", *card.last4))
        masked = re.sub(own, f"{card.masked}", masked)
    return REST_OF_TRACK.sub(r"\1******", masked)


def _numbers_in_groups(text: str) -> Iterator[str]:
    """Yield the card numbers that consist of one or more neighbouring groups of digits."""
    for run in GROUPS.findall(text):
        groups = SEPARATORS.split(run)
        for first in range(len(groups)):
            number = ""
            for group in groups[first : first + MAX_GROUPS]:
                number += group
                if PAN_DIGITS.fullmatch(number) and _is_card_number(number):
                    yield number


Mask = Callable[[str], str]
HIDDEN = "******"
MOST_SECRETS = 4  # of a request that are looked for: it has one card


def mask_of(numbers: Collection[str]) -> Mask:
    """Return a function that masks these card numbers in a text, and the rest of their tracks.

    It changes no other number. Its time is linear in the length of the text, for any number of card numbers.
    """
    known = frozenset(numbers)
    starts = {number[:SHORTEST] for number in numbers}
    lengths = sorted({len(number) for number in numbers}, reverse=True)

    def number_at(digits: str, at: int) -> str | None:
        if digits[at : at + SHORTEST] not in starts:
            return None
        candidates = (digits[at : at + length] for length in lengths)
        return next((candidate for candidate in candidates if candidate in known), None)

    def mask(text: str) -> str:
        masked = DIGITS_IN_GROUPS.sub(lambda run: _masked_run(run[0], run[0], number_at), text)
        if "<" in masked or "&" in masked:
            masked = DIGITS_IN_MARKUP.sub(lambda run: _masked_run(run[0], _blanked(run[0]), number_at), masked)
        return text if masked == text else REST_IN_REQUEST.sub(r"\1******", masked)

    return mask


def with_secrets(mask: Mask, readers: Iterable[str], codes: Iterable[str]) -> Mask:
    """Return a mask that hides a reader's data as a whole too, and a CVV2 next to its name or to a masked number."""
    known = [one for one in islice(readers, MOST_SECRETS) if len(one) >= SHORTEST]
    own = "|".join(one for one in islice(codes, MOST_SECRETS) if one.isdecimal() and one.isascii())
    code = None
    if own:
        named = r"(?:\b(?:cvv|cvc|cvn|csc|cid)2?\b|\*{6}[0-9]{4})[^0-9a-z]{0,8}"
        code = re.compile(rf"({named})(?:{own})(?![0-9])", re.IGNORECASE)

    def hide(text: str) -> str:
        for one in known:
            text = text.replace(one, HIDDEN)
        masked = mask(text)
        return code.sub(rf"\1{HIDDEN[:3]}", masked) if code else masked

    return hide


def _blanked(text: str) -> str:
    return MARKUP.sub(lambda markup: " " * len(markup[0]), text)


def _masked_run(run: str, read: str, number_at: Callable[[str, int], str | None]) -> str:
    """Return digits in groups with each card number masked, and the tags in it after it.

    `read` is the run as its digits are read: without markup. `number_at` returns the card number at a digit.
    """
    found_digits = [(place, digit) for place, character in enumerate(read) for digit in _digits_of(character)]
    digits = "".join(digit for _, digit in found_digits)
    written, shown, at = [], 0, 0  # `shown`: the length of the run's written part
    while at <= len(digits) - SHORTEST:
        found = number_at(digits, at)
        if found is None:
            at += 1
            continue
        begin = found_digits[at][0]
        at += len(found)
        end = found_digits[at - 1][0] + 1
        tags = (tag for tag in MARKUP.findall(run[begin:end]) if run is not read and tag[0] == "<")
        written += [run[shown:begin], masked_number(found[:6], found[-4:]), *tags]
        shown = end
    return "".join(written) + run[shown:]


def _digits_of(character: str) -> str:
    """Return the digits that a character stands for."""
    if character.isascii():
        return character if character.isdecimal() else ""
    digits = "".join(str(int(one)) for one in normalize("NFKC", character) if one.isdecimal())
    return digits or (f"{numeric(character):.0f}" if numeric(character, -1) >= 0 else "")


def mask_value(value: Any, mask: Mask) -> Any:
    """Return a JSON value with every text, name and number in it masked."""
    match value:
        case str():
            return mask(value)
        case dict():
            return {mask(name): mask_value(item, mask) for name, item in value.items()}
        case list() | tuple():
            return [mask_value(item, mask) for item in value]
        case int() | Decimal() if not isinstance(value, bool):
            text = f"{value:f}" if isinstance(value, Decimal) and abs(value.adjusted()) < MAX_DIGITS else str(value)
            return masked if (masked := mask(text)) != text else value
        case _:
            return value


def _is_card_number(digits: str) -> bool:
    return brand_of(digits) is not None and has_check_digit(digits)
