import subprocess
import sys
from typing import Any

import iso3166
import iso4217
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib import iso_codes, phone_numbers


@pytest.mark.parametrize(
    ("code", "number", "digits"), [("ZAR", "710", 2), ("JPY", "392", 0), ("KWD", "414", 3), ("ALL", "008", 2)]
)
def test_a_currency_has_one_alpha_and_one_numeric_code(code: str, number: str, digits: int) -> None:
    by_code, by_number = iso_codes.currency(code), iso_codes.currency(number)

    assert by_code == by_number
    assert by_code
    assert (by_code.code, by_code.number, by_code.digits) == (code, number, digits)


@pytest.mark.parametrize("code", ["XAU", "XXX", "XTS", "CHW", "999", "zar", "", "000"])
def test_what_nobody_pays_with_is_no_currency(code: str) -> None:
    assert iso_codes.currency(code) is None


@pytest.mark.parametrize("code", ["ZA", "ZAF", "710", "za"])
def test_a_country_is_known_by_each_of_its_codes(code: str) -> None:
    assert iso_codes.country_code(code) == "ZA"


@pytest.mark.parametrize(
    ("code", "name"), [("ZA", "South Africa"), ("ZAF", "South Africa"), ("710", "South Africa"), ("ZZ", None)]
)
def test_a_country_has_a_name(code: str, name: str | None) -> None:
    assert iso_codes.country_name(code) == name


@pytest.mark.parametrize(("code", "alpha"), [("710", "ZAR"), ("ZAR", "ZAR")])
def test_a_currency_is_shown_by_its_alpha_code(code: str, alpha: str) -> None:
    assert iso_codes.currency_code(code) == alpha


@pytest.mark.parametrize("code", ["ZZ", "", "South Africa", "999"])
def test_anything_else_is_no_country(code: str) -> None:
    assert iso_codes.country_code(code) is None


@pytest.mark.parametrize(
    ("country", "currency"),
    [("ZA", "ZAR"), ("DE", "EUR"), ("LS", "LSL"), ("TR", "TRY"), ("KR", "KRW"), ("TW", "TWD"), ("BO", "BOB")],
)
def test_a_country_has_its_currency(country: str, currency: str) -> None:
    assert iso_codes.currency_of_country(country) == currency


def test_every_country_that_has_a_currency_gets_one_that_iso_4217_lists_for_it() -> None:
    found = {country: iso_codes.currency_of_country(country) for country in iso3166.countries_by_alpha2}
    names = {country: entry.name.upper() for country, entry in iso3166.countries_by_alpha2.items()}
    table: Any = iso4217.raw_table
    listed = {
        country: {code for code, row in table.items() if row["CtryNm"] & {name, f"{name} (THE)"}}
        for country, name in names.items()
    }

    assert {country for country, code in found.items() if code is None} == {"AQ", "GS", "PS"}
    assert [code for code in found.values() if code and iso_codes.currency(code) is None] == []
    assert [country for country, codes in listed.items() if codes and found[country] not in codes] == []


@pytest.mark.parametrize(
    "text", ["+27 82 987 6543", "+27829876543", "082 987 6543", "0027829876543", "082 987 6543 ext. 12"]
)
def test_a_phone_number_is_sent_to_in_one_form_and_shown_in_one(text: str) -> None:
    assert phone_numbers.parse(text, "ZA") == ("+27829876543", "+27 82 987 6543")


@pytest.mark.parametrize("text", ["", "abc", "12", "+", "+0", "\0", "+999 1", "9" * 60])
def test_anything_else_is_no_phone_number(text: str) -> None:
    assert phone_numbers.parse(text, "ZA") is None


@given(number=st.from_regex(r"\+[1-9][0-9]{3,14}", fullmatch=True))
def test_a_number_is_shown_with_all_its_digits(number: str) -> None:
    read = phone_numbers.parse(number, None)

    assert read is None or read.e164 == "+" + "".join(filter(str.isdecimal, read.international))


def test_a_local_number_needs_a_country() -> None:
    assert phone_numbers.parse("082 987 6543", None) is None


def test_the_packages_are_loaded_at_first_use_alone() -> None:
    program = "import app, sys; print({'iso4217', 'iso3166', 'phonenumbers'} & set(sys.modules))"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert output.strip() == "set()"
