"""Telephone numbers: stored as E.164, shown in international format.

The package phonenumbers takes 20 ms to import. Most answers only show numbers, for which a table of formats is enough.
`make reference` writes this table.
"""

import json
import re
from functools import cache, lru_cache
from pathlib import Path

FORMATS = Path(__file__).with_name("phone_formats.json")


def parse(text: str, region: str | None) -> str | None:
    """Return a telephone number as E.164 ("+27829876543"), or None when no number has this form.

    The number may be unassigned, because numbering plans change more often than this package.
    """
    import phonenumbers  # noqa: PLC0415  slow to import

    try:
        parsed = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_possible_number(parsed):
        return None
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)


def sms_country(number: str) -> str | None:
    """Return the country (alpha-2) of an E.164 number. A satellite telephone and a premium number have none.

    An unassigned number of several countries belongs to the largest: +44 to Great Britain.
    """
    import phonenumbers  # noqa: PLC0415  slow to import

    parsed = phonenumbers.parse(number)
    if phonenumbers.number_type(parsed) == phonenumbers.PhoneNumberType.PREMIUM_RATE:
        return None
    largest: str = phonenumbers.region_code_for_country_code(parsed.country_code or 0)
    country: str = phonenumbers.region_code_for_number(parsed) or largest
    return country if country.isalpha() else None  # the code of a network of several countries is "001"


@lru_cache(maxsize=1024)
def format_international(number: str) -> str:
    """Return an E.164 number in international format: "+27 82 987 6543"."""
    formats = _formats()
    code = next((number[1:end] for end in (2, 3, 4) if number[1:end] in formats), "")
    national = number.removeprefix(f"+{code}")
    for leading, pattern, template in formats.get(code, ()):
        if re.match(leading, national) and (found := re.fullmatch(pattern, national)):
            return f"+{code} {found.expand(template)}"
    return f"+{code} {national}" if code else number


@cache
def _formats() -> dict[str, list[tuple[str, str, str]]]:
    """Return by country code the formats of its numbers: the first digits, a pattern for all, and the template."""
    parsed: dict[str, list[tuple[str, str, str]]] = json.loads(FORMATS.read_text(encoding="utf-8"))
    return parsed
