"""The words of receipts in a language, and how it writes numbers and times. Each language is a file of texts."""

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from pathlib import Path

from chalicelib.domain.language import language_of

FOLDER = Path(__file__).with_name("languages")
Words = Mapping[str, str]


@cache
def words_of(language: str) -> Words:
    """Return the words of a language, by their key; English for a language without a file."""
    words: Words = json.loads((FOLDER / f"{language_of(language)}.json").read_text(encoding="utf-8"))
    return words


def number(amount: Decimal, words: Words, *, grouped: bool = True) -> str:
    """Return an exact number as the language writes it: 1,234.50 or 1 234,50."""
    text = f"{amount:,f}" if grouped else f"{amount:f}"
    marks = {",": words["group_mark"], ".": words["decimal_mark"]}
    return "".join(marks.get(character, character) for character in text)


def time(at: datetime, zone_hours: int, words: Words) -> str:
    """Return a local time as the language writes it: 14 Mar 2026, 11:26 (UTC+2)."""
    month = words[f"month_{at.month}"]
    return words["time"].format(day=at.day, month=month, year=at.year, clock=f"{at:%H:%M}", zone=f"{zone_hours:+d}")
