"""Texts in print: characters that may not be printed, and the columns that a text takes.

A letter is followed by its marks and joiners: a Sinhala or Persian name, or one emoji of several, is not cut inside.
"""

import unicodedata
from collections.abc import Iterator
from itertools import pairwise

JOINER, NON_JOINER = "\u200d", "\u200c"
BREAKS = frozenset("\u2028\u2029")  # line and paragraph separators; the others are control characters
TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # Unicode: Bidi_Control
CONTROL, WIDE = "Cc", "FW"
ATTACHED = ("M", "Cf")  # categories of Unicode: marks, and characters without a form of their own


def one_line(text: str) -> str:
    """Return a text that can become no other line, header or message, and reads in its own direction."""
    if text.isprintable():
        return text
    return "".join(" " if _is_control(letter) or letter in BREAKS or letter in TURNS else letter for letter in text)


def without_controls(text: str) -> str:
    """Return a text with a blank for each control character."""
    return text if text.isprintable() else "".join(" " if _is_control(letter) else letter for letter in text)


def width_of(text: str) -> int:
    """Return the columns of a text: East Asian letters and emoji take two, marks and joiners none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def letters(text: str) -> Iterator[str]:
    """Yield the letters of a text, each with its marks, and with the letters that a joiner joins to it."""
    start = 0
    for at, (before, letter) in enumerate(pairwise(text), start=1):
        if not _is_attached(letter) and before != JOINER:
            yield text[start:at]
            start = at
    if text:
        yield text[start:]


def beginning(text: str, width: int) -> str:
    """Return the first letters of a text that fit into columns, at least one character."""
    taken, left = "", width
    for letter in letters(text):
        left -= width_of(letter)
        if left < 0:
            break
        taken += letter
    return taken or text[:1]


def without_last(text: str) -> str:
    """Return a text without its last letter."""
    return "".join([*letters(text)][:-1])


def _is_control(letter: str) -> bool:
    return unicodedata.category(letter) == CONTROL


def _is_attached(letter: str) -> bool:
    return not letter.isascii() and unicodedata.category(letter).startswith(ATTACHED)


def _columns(letter: str) -> int:
    if _is_attached(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in WIDE else 1
