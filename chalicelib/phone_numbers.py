"""Telephone numbers: stored as E.164, shown in international format.

The package is imported at first use: it takes 31 ms, which only what shows or reads a number needs.
"""

# ruff: noqa: PLC0415
from functools import lru_cache


def parse(text: str, region: str | None) -> str | None:
    """Return a telephone number as E.164 ("+27829876543"), or None when no number has this form.

    It is not checked that the number is assigned: numbering plans change more often than this package.
    """
    import phonenumbers

    try:
        parsed = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_possible_number(parsed):
        return None
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)


@lru_cache(maxsize=1024)
def format_international(number: str) -> str:
    """Return an E.164 number in international format: "+27 82 987 6543"."""
    import phonenumbers

    parsed = phonenumbers.parse(number)
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
