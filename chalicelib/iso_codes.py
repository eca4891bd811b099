"""ISO codes: currencies (ISO 4217) and countries (ISO 3166-1).

Their packages are imported at first use. They take 26 and 5 ms, and only management requests need them.
"""

# ruff: noqa: PLC0415
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from chalicelib.domain.money import Currency

if TYPE_CHECKING:
    import iso3166

FUNDS = frozenset({"BOV", "CHE", "CHW", "CLF", "COU", "MXV", "USN", "UYI", "UYW"})  # ISO 4217: units of account


@cache
def _currencies() -> Mapping[str, Currency]:
    """Return the currencies by numeric and alpha code, without gold, test codes and units of account."""
    import iso4217

    listed = [
        Currency(entry.code, f"{entry.number:03}", entry.exponent)
        for entry in iso4217.Currency
        if entry.exponent is not None and entry.code not in FUNDS
    ]
    return {currency.code: currency for currency in listed} | {currency.number: currency for currency in listed}


def currency(code: str) -> Currency | None:
    """Return the currency of a code, numeric ("710") or alpha ("ZAR"), or None."""
    return _currencies().get(code)


def currency_code(code: str) -> str:
    """Return the alpha code of a known currency from either of its codes. Only a numeric code needs the package."""
    found = currency(code) if code.isdigit() else None
    return found.code if found else code


@cache
def currency_of_country(country: str) -> str | None:
    """Return the alpha code of the currency of a country (alpha-2), or None if ISO 4217 lists no single one."""
    import iso3166
    import iso4217

    name = iso3166.countries_by_alpha2[country].name.upper()
    names = {name, f"{name} (THE)"}
    table: Mapping[str, Any] = iso4217.raw_table
    codes = [code for code, row in table.items() if row["CtryNm"] & names and code in _currencies()]
    own = [code for code in codes if code.startswith(country)]
    return next((found[0] for found in (own, codes) if len(found) == 1), None)


def country_code(code: str) -> str | None:
    """Return the alpha-2 code of a country from any of its ISO 3166-1 codes ("ZA", "ZAF", "710"), or None."""
    country = _country(code)
    return str(country.alpha2) if country else None


def country_name(code: str) -> str | None:
    """Return the ISO 3166-1 name of a country from any of its codes, or None."""
    country = _country(code)
    return str(country.name) if country else None


def _country(code: str) -> "iso3166.Country | None":
    import iso3166

    for register in (iso3166.countries_by_alpha2, iso3166.countries_by_alpha3, iso3166.countries_by_numeric):
        if found := register.get(code.upper()):
            return found
    return None
