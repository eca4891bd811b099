"""The tables of telephone numbers that the service and the till use, from the metadata of phonenumbers."""

import json

import phonenumbers
from phonenumbers.phonemetadata import PhoneMetadata


def phone_formats() -> str:
    """Return the formats of each country code as JSON, in the order of the attempts."""
    codes = sorted(phonenumbers.supported_calling_codes())
    lines = [f"{json.dumps(str(code))}: {json.dumps(_formats_of(code))}" for code in codes]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def phone_lengths_module() -> str:
    """Return the possible lengths of a national number by country code, as a module of the till."""
    lines = ["// The digits after the country code, which `make reference` writes from the metadata of phonenumbers."]
    lines += ["export const PHONE_LENGTHS = {"]
    for code in sorted(phonenumbers.supported_calling_codes()):
        found = _metadata_of(code)
        lengths = found.general_desc.possible_length if found and found.general_desc else ()
        lines.append(f"  {code}: {json.dumps([length for length in lengths if length > 0])},")
    return "\n".join([*lines, "};", ""])


def _metadata_of(code: int) -> PhoneMetadata | None:
    region = phonenumbers.region_code_for_country_code(code)
    return PhoneMetadata.metadata_for_region_or_calling_code(code, region)


def _formats_of(code: int) -> list[tuple[str, str, str]]:
    found = _metadata_of(code)
    if found is None:
        return []
    return [
        (one.leading_digits_pattern[-1] if one.leading_digits_pattern else "", one.pattern, one.format)
        for one in found.intl_number_format or found.number_format
        if one.pattern and one.format
    ]
