"""Telephone numbers, read once, at the edge. The package phonenumbers takes 20 ms to import, so its first use does."""

from typing import NamedTuple


class PhoneNumber(NamedTuple):
    """A telephone number in both its forms."""

    e164: str  # to send to and to compare: "+27829876543"
    international: str  # to show: "+27 82 987 6543", the digits of E.164 in groups


def parse(text: str, region: str | None) -> PhoneNumber | None:
    """Return a telephone number, or None when no number has this form.

    The number may be unassigned, because numbering plans change more often than this package.
    """
    import phonenumbers  # noqa: PLC0415  slow to import

    try:
        parsed = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_possible_number(parsed):
        return None
    parsed.extension = None  # E.164 has none
    formats = phonenumbers.PhoneNumberFormat
    return PhoneNumber(*(phonenumbers.format_number(parsed, one) for one in (formats.E164, formats.INTERNATIONAL)))


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
