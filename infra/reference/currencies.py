"""The tables of countries, currencies and coins that the pages have, as modules."""

import json

import iso3166

from chalicelib import iso_codes
from chalicelib.domain.money import COINS, ROUNDED_EURO, ROUNDING_EURO


def coins_module() -> str:
    """Return the coins by currency, in minor units, as a module of the pages."""
    coins = ", ".join(f"{currency}: {coin}" for currency, coin in sorted(COINS.items()))
    return f"""\
// The smallest coin in use by currency, in minor units, which `make reference` writes.
const COINS = {{ {coins} }};
const ROUNDING_EURO = {json.dumps(sorted(ROUNDING_EURO))};

// The smallest coin of a currency. Some countries have no use for the smallest ones of the euro.
export const coinOf = (currency, country) =>
  currency === "EUR" && ROUNDING_EURO.includes(country) ? {ROUNDED_EURO} : (COINS[currency] ?? 1);
"""


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
