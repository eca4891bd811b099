"""The table of telephone formats that the service uses, from the metadata of phonenumbers."""

import json

import phonenumbers
from phonenumbers.phonemetadata import PhoneMetadata


def phone_formats() -> str:
    """Return the formats of each country code as JSON, in the order of the attempts."""
    codes = sorted(phonenumbers.supported_calling_codes())
    lines = [f"{json.dumps(str(code))}: {json.dumps(_formats_of(code))}" for code in codes]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _formats_of(code: int) -> list[tuple[str, str, str]]:
    region = phonenumbers.region_code_for_country_code(code)
    found = PhoneMetadata.metadata_for_region_or_calling_code(code, region)
    if found is None:
        return []
    return [
        (one.leading_digits_pattern[-1] if one.leading_digits_pattern else "", one.pattern, one.format)
        for one in found.intl_number_format or found.number_format
        if one.pattern and one.format
    ]
