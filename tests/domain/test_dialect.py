"""A dialect: what a document changes, and what it may not say."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.iso8583_dialect import Dialect, DialectError, FieldFormat, LengthHeader, changed

BASE = Dialect(
    fields={
        "3": FieldFormat("n", 6),
        "4": FieldFormat("n", 12),
        "25": FieldFormat("n", 2),
        "41": FieldFormat("ans", 8),
        "55": FieldFormat("b", 255, "binary", "LLL"),
        "56": FieldFormat("n", 4, length="LLL"),
    },
    codes={"Z1": "14"},
)


def test_a_document_without_keys_changes_nothing() -> None:
    assert changed(BASE, {}) == BASE


def test_each_key_changes_what_it_names_and_nothing_else() -> None:
    document = {
        "mti": "bcd",
        "bitmap": "hex",
        "length_header": {"bytes": 4, "encoding": "ascii", "counts_itself": True},
        "fields": {
            "41": {"encoding": "ebcdic"},
            "55": {"length_encoding": "bcd"},
            "56": None,
            "60": {"format": "n", "encoding": "bcd", "length": "LL", "length_encoding": "bcd", "max": 12},
        },
        "constants": {"0200": {"60": "7", "25": "8"}},
        "codes": {"N7": "05"},
    }

    dialect = changed(BASE, document)

    assert dialect == Dialect(
        mti="bcd",
        bitmap="hex",
        length_header=LengthHeader(4, "ascii", counts_itself=True),
        fields={
            "3": FieldFormat("n", 6),
            "4": FieldFormat("n", 12),
            "25": FieldFormat("n", 2),
            "41": FieldFormat("ans", 8, "ebcdic"),
            "55": FieldFormat("b", 255, "binary", "LLL", "bcd"),
            "60": FieldFormat("n", 12, "bcd", "LL", "bcd"),
        },
        constants={"0200": {"60": "7", "25": "08"}},
        codes={"Z1": "14", "N7": "05"},
        added=frozenset({"60"}),
    )


WRONG: list[tuple[Any, str]] = [
    ([], "it is not an object"),
    ({"mtu": "ascii"}, "mtu is not known"),
    ({"mti": None}, "mti is one of"),
    ({"mti": "ebcdic"}, "mti is one of ascii, bcd"),
    ({"mti": ["ascii"]}, "mti is one of"),
    ({"bitmap": "ascii"}, "bitmap is one of binary, hex"),
    ({"length_header": None}, "length_header is not an object"),
    ({"length_header": {"byte": 2}}, "length_header.byte is not known"),
    ({"length_header": {"bytes": 3}}, "length_header has 2 or 4 bytes"),
    ({"length_header": {"bytes": True}}, "length_header.bytes is a number"),
    ({"length_header": {"bytes": "2"}}, "length_header.bytes is a number"),
    ({"length_header": {"encoding": "ascii"}}, "length_header has 2 or 4 bytes"),
    ({"length_header": {"encoding": "bcd"}}, "length_header.encoding is one of"),
    ({"length_header": {"counts_itself": 1}}, "length_header has counts_itself true or false"),
    ({"fields": []}, "fields is not an object"),
    ({"fields": {"4": "n"}}, "fields.4 is not an object"),
    ({"fields": {"4": {"lenght": "LL"}}}, "fields.4.lenght is not known"),
    ({"fields": {"4": {"format": "x"}}}, "fields.4.format is one of"),
    ({"fields": {"4": {"encoding": "binary"}}}, "fields.4.encoding is one of ascii, bcd, ebcdic"),
    ({"fields": {"41": {"encoding": "bcd"}}}, "fields.41.encoding is one of ascii, ebcdic"),
    ({"fields": {"4": {"length": "L"}}}, "fields.4.length is one of LL, LLL, fixed"),
    ({"fields": {"4": {"length_encoding": "ebcdic"}}}, "fields.4.length_encoding is one of"),
    ({"fields": {"4": {"max": 0}}}, "fields.4.max is a number"),
    ({"fields": {"4": {"max": 12.0}}}, "fields.4.max is a number"),
    ({"fields": {"4": {"length": "LL", "max": 100}}}, "fields.4.max is a number from 1 to 99"),
    ({"fields": {"60": {}}}, "fields.60 is a new field"),
    ({"fields": {"60": {"format": "n"}}}, "fields.60 is a new field"),
    *(({"fields": {number: None}}, f"fields.{number} cannot be left out") for number in ("4", "11", "37", "39")),
    *(
        ({"fields": {n: None}}, f"fields.{n} is no field")
        for n in ("0", "1", "65", "129", "-4", "04", "x", "", "٤", "²")
    ),
    ({"constants": {"200": {"25": "00"}}}, "constants names a code that is none"),
    ({"constants": {"0200": "25"}}, "constants.0200 is not an object"),
    ({"constants": {"0200": {"61": "00"}}}, "constants.0200.61 is no field"),
    ({"constants": {"0200": {"4": "000000000001"}}}, "constants.0200.4 is no field that may have a constant"),
    ({"constants": {"0200": {"25": "000"}}}, "constants.0200.25 does not fit its field"),
    ({"constants": {"0200": {"25": 1}}}, "constants.0200.25 does not fit its field"),
    ({"constants": {"0200": {"56": ""}}}, "constants.0200.56 does not fit its field"),
    ({"fields": {"56": None}, "constants": {"0200": {"56": "4000"}}}, "constants.0200.56 is no field"),
    ({"codes": {"n7": "05"}}, "codes names a code that is none"),
    ({"codes": {"N7": "5"}}, "codes.N7 names a code that is none"),
    ({"codes": {"N7": 5}}, "codes.N7 names a code that is none"),
]


@pytest.mark.parametrize(("document", "message"), WRONG, ids=str)
def test_what_makes_no_sense_is_refused_and_named(document: Any, message: str) -> None:
    with pytest.raises(DialectError) as raised:
        changed(BASE, document)

    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("mti", "bitmap", "length_header", "fields", "constants", "codes")


@given(st.dictionaries(st.sampled_from(KEYS), JSON) | JSON)
def test_no_document_does_anything_but_change_a_dialect_or_be_refused(document: Any) -> None:
    try:
        dialect = changed(BASE, document)
    except DialectError:
        return
    assert dialect.fields


@pytest.mark.parametrize(
    ("form", "value", "filled"),
    [
        (FieldFormat("n", 4), "7", "0007"),
        (FieldFormat("ans", 4), "a", "a   "),
        (FieldFormat("an", 4), "A", "A"),
        (FieldFormat("n", 4, length="LL"), "7", "7"),
    ],
)
def test_what_is_too_short_for_a_fixed_field_is_filled(form: FieldFormat, value: str, filled: str) -> None:
    assert form.filled(value) == filled
