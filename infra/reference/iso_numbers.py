"""The numeric codes of countries and currencies, with which the shop's page makes a first terminal."""

import iso3166

from chalicelib import iso_codes


def iso_numbers_module() -> str:
    """Return the numeric codes of the countries with a currency, and of their currencies, as a module of the page."""
    countries = dict(pair.split(":") for pair in " ".join(iso_codes.OF_COUNTRIES).split())
    currencies = {found.code: found.number for found in map(iso_codes.currency, countries.values()) if found}
    known = iso3166.countries_by_alpha2
    numbers = {country: known[country].numeric for country in countries if country in known}
    lines = ["// The numeric codes of ISO 3166-1 and ISO 4217, which `make reference` writes."]
    lines += [f'export const COUNTRY_NUMBERS = "{_listed(numbers)}";']
    lines += [f'export const CURRENCY_NUMBERS = "{_listed(currencies)}";']
    return "\n".join([*lines, ""])


def _listed(numbers: dict[str, str]) -> str:
    return " ".join(f"{code}{number}" for code, number in sorted(numbers.items()))
