"""The bytes of messages: what the interface says of encodings, and what a dialect changes."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chalicelib.domain.iso8583_dialect import Dialect, FieldFormat
from chalicelib.gateways.acquirers.iso8583.codec import Codec, CodecError, Content
from chalicelib.settings.iso8583 import usual
from tests.gateways.iso8583.requests import ADVICE, APPROVAL, CODEC, PURCHASE, a_dialect
from tests.support.cards import PAN

ALPHABETS = {
    "n": "0123456789",
    "an": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "ans": "".join(map(chr, range(0x20, 0x7F))),
}


def values(form: FieldFormat) -> st.SearchStrategy[str]:
    """Return values that fit a field."""
    least = form.max if form.is_fixed else 1
    if form.format == "b":
        return st.binary(min_size=least, max_size=form.max).map(lambda value: value.hex().upper())
    if form.format == "z":
        return st.just(f"{PAN}=30122010000012345678")
    return st.text(ALPHABETS[form.format], min_size=least, max_size=form.max)


def contents(dialect: Dialect) -> st.SearchStrategy[Content]:
    each = {number: values(form) for number, form in dialect.fields.items()}
    fields = st.fixed_dictionaries({"4": each.pop("4")}, optional=each)
    return st.builds(Content, st.text("0123456789", min_size=4, max_size=4), fields)


@pytest.mark.parametrize("message", [PURCHASE, APPROVAL, ADVICE])
def test_the_messages_of_the_interface_are_read_and_written_alike(message: bytes) -> None:
    assert CODEC.encode(CODEC.decode(message)) == message


def test_the_approval_of_the_interface_says_what_it_says() -> None:
    answer = CODEC.decode(APPROVAL)

    assert answer == Content(
        "0210",
        {
            "3": "000000",
            "4": "000000001230",
            "7": "1121180003",
            "11": "000042",
            "12": "200002",
            "13": "1121",
            "15": "1121",
            "32": "123456",
            "37": "6JX2M0Q7TZ4A",
            "38": "333380",
            "39": "00",
            "41": "DEMO0001",
            "42": "BANK00000000001",
            "49": "710",
            "55": "8A023030910A11223344556677883030",
            "63": "HOST000000000001",
        },
    )


DIALECTS = [
    {},
    {"mti": "bcd", "bitmap": "hex"},
    {"fields": {number: {"encoding": "ebcdic"} for number in ("2", "11", "35", "37", "43", "63")}},
    {"fields": {"48": {"length_encoding": "bcd"}, "55": {"length_encoding": "bcd"}, "63": {"length_encoding": "bcd"}}},
    {"fields": {number: {"encoding": "bcd"} for number in ("3", "4", "11", "22", "35", "49", "90")}},
    {"fields": {"55": {"encoding": "ascii", "length": "LLL"}, "128": {"format": "b", "max": 8}}},
]


@pytest.mark.slow
@pytest.mark.parametrize("document", DIALECTS)
@given(data=st.data())
def test_what_is_written_reads_back_the_same(document: dict[str, Any], data: st.DataObject) -> None:
    codec = Codec(a_dialect(**document))
    content = data.draw(contents(codec.dialect))
    try:
        message = codec.encode(content)
    except CodecError:  # longer than a message may be
        assume(False)  # noqa: FBT003  hypothesis has no other form

    assert codec.decode(message) == content


@given(st.binary(max_size=400))
def test_no_bytes_are_read_in_another_way_than_they_are_written(data: bytes) -> None:
    try:
        content = CODEC.decode(data)
    except CodecError:
        return
    assert CODEC.encode(content) == data


@given(at=st.integers(0, len(APPROVAL) - 1), octet=st.integers(0, 255), size=st.integers(0, len(APPROVAL)))
def test_a_damaged_answer_is_refused_or_is_another_whole_message(at: int, octet: int, size: int) -> None:
    damaged = (APPROVAL[:at] + bytes([octet]) + APPROVAL[at + 1 :])[:size]
    try:
        content = CODEC.decode(damaged)
    except CodecError:
        return
    assert CODEC.encode(content) == damaged


def changed(message: bytes, old: bytes, new: bytes) -> bytes:
    assert message.count(old) == 1
    return message.replace(old, new)


WRONG = {
    "nothing": b"",
    "eleven bytes": APPROVAL[:11],
    "half of it": APPROVAL[: len(APPROVAL) // 2],
    "one byte less": APPROVAL[:-1],
    "one byte more": APPROVAL + b"0",
    "too long": APPROVAL + b" " * 2048,
    "letters in a number": changed(APPROVAL, b"000000001230", b"00000000123A"),
    "small letters": changed(APPROVAL, b"6JX2M0Q7TZ4A", b"6jx2m0q7tz4a"),
    "a control character": changed(APPROVAL, b"DEMO0001", b"DEMO\x0001"),
    "beyond ASCII": changed(APPROVAL, b"DEMO0001", b"DEMO000\xe9"),
    "a length with a sign": changed(APPROVAL, b"06123456", b"+6123456"),
    "a length with a space": changed(APPROVAL, b"06123456", b" 6123456"),
    "a length that is negative": changed(APPROVAL, b"06123456", b"-1123456"),
    "a length above the field's": changed(APPROVAL, b"06123456", b"12123456"),
    "nothing in a field with a length": changed(APPROVAL, b"06123456", b"00"),
    "a field nobody knows": changed(APPROVAL, bytes.fromhex("323A00010EC08202"), bytes.fromhex("323A00010EC08203")),
    "a second bitmap for nothing": changed(
        APPROVAL, bytes.fromhex("323A00010EC08202"), bytes.fromhex("B23A00010EC082020000000000000000")
    ),
    "a third bitmap": changed(
        APPROVAL, bytes.fromhex("323A00010EC08202"), bytes.fromhex("B23A00010EC0820280000000000000000000000000000000")
    ),
    "a type in letters": b"02A0" + APPROVAL[4:],
}


@pytest.mark.parametrize("message", WRONG.values(), ids=WRONG.keys())
def test_what_is_not_of_the_form_is_no_message(message: bytes) -> None:
    with pytest.raises(CodecError):
        CODEC.decode(message)


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("4", "00000000123"),
        ("4", "-00000001230"),
        ("2", ""),
        ("2", "1" * 20),
        ("37", "6jx2m0q7tz4a"),
        ("41", "DEMO000é"),
        ("43", "short"),
        ("55", ""),
        ("55", "8"),
        ("55", "00" * 256),
        ("35", "not a track"),
        ("60", "1"),
    ],
)
def test_a_value_that_does_not_fit_its_field_is_not_written(number: str, value: str) -> None:
    content = CODEC.decode(PURCHASE)

    with pytest.raises(CodecError):
        CODEC.encode(Content("0200", {**content.fields, number: value}))


def test_no_error_quotes_or_holds_the_message() -> None:
    content = CODEC.decode(PURCHASE)
    errors: list[BaseException] = []
    for attempt in (lambda: CODEC.decode(PURCHASE[:-1]), lambda: CODEC.encode(Content("02", content.fields))):
        with pytest.raises(CodecError) as raised:
            attempt()
        errors.append(raised.value)

    for error in errors:
        assert error.__context__ is None
        assert PAN not in f"{error!r} {error.__dict__}"


def test_a_second_host_writes_types_and_bitmaps_in_its_own_way() -> None:
    codec = Codec(a_dialect(mti="bcd", bitmap="hex"))
    message = codec.encode(CODEC.decode(ADVICE))

    assert message[:2] == b"\x04\x20"
    assert message[2:34] == b"B238000108C081000000004000000000"
    assert message[34:] == ADVICE[20:]


def test_numbers_in_bcd_take_half_a_byte_for_each_digit() -> None:
    fields = {"4": {"encoding": "bcd"}, "22": {"encoding": "bcd"}, "32": {"encoding": "bcd", "length_encoding": "bcd"}}
    codec = Codec(a_dialect(fields=fields))
    content = Content("0200", {"4": "000000001230", "22": "052", "32": "12345"})
    message = codec.encode(content)

    assert message[12:] == bytes.fromhex("000000001230005203012345")
    assert codec.decode(message).fields == {"4": "000000001230", "22": "052", "32": "012345"}


def test_the_longest_number_of_an_institution_is_read_in_bcd_too() -> None:
    codec = Codec(a_dialect(fields={"32": {"encoding": "bcd"}}))
    content = Content("0200", {"4": "000000001230", "32": "12345678901"})

    assert codec.decode(codec.encode(content)) == content


@pytest.mark.parametrize("track", [f"{PAN}=301220100000123", f"{PAN}=3012201000001234"], ids=["even", "odd"])
def test_a_track_in_bcd_is_filled_up_and_read_without_its_filling(track: str) -> None:
    codec = Codec(a_dialect(fields={"35": {"encoding": "bcd"}}))
    content = Content("0200", {"4": "000000001230", "35": track})
    message = codec.encode(content)

    packed = track.replace("=", "D")
    assert message.endswith(bytes.fromhex(packed if len(packed) % 2 == 0 else f"{packed}F"))
    assert codec.decode(message) == content


def test_bytes_in_hexadecimal_text_are_as_many_as_in_binary() -> None:
    codec = Codec(a_dialect(fields={"55": {"encoding": "ascii", "length": "LLL"}}))
    longest = Content("0200", {"4": "000000001230", "55": "8A" * 255})

    assert codec.decode(codec.encode(longest)) == longest
    with pytest.raises(CodecError):
        codec.encode(Content("0200", {"4": "000000001230", "55": "8A" * 256}))


def test_ebcdic_is_not_ascii() -> None:
    codec = Codec(a_dialect(fields={"37": {"encoding": "ebcdic"}}))
    content = Content("0200", {"4": "000000001230", "37": "6JX2M0Q7TZ4A"})

    assert codec.encode(content)[-12:] == "6JX2M0Q7TZ4A".encode("cp037")


def test_a_field_left_out_is_not_sent_and_not_taken() -> None:
    codec = Codec(a_dialect(fields={"56": None, "63": None}))

    assert codec.prepared(CODEC.decode(ADVICE)).fields.keys() == CODEC.decode(ADVICE).fields.keys() - {"56"}
    with pytest.raises(CodecError):
        codec.decode(APPROVAL)


def test_constants_are_sent_with_the_messages_of_their_type() -> None:
    document = {"fields": {"60": {"format": "n", "max": 12}}, "constants": {"0200": {"60": "77", "25": "08"}}}
    codec = Codec(a_dialect(**document))

    assert codec.prepared(CODEC.decode(PURCHASE)).fields["60"] == "000000000077"
    assert codec.prepared(CODEC.decode(PURCHASE)).fields["25"] == "08"
    assert "60" not in codec.prepared(CODEC.decode(ADVICE)).fields


def test_the_usual_dialect_is_the_table_of_the_interface() -> None:
    forms = {int(number): (form.format, form.length, form.max) for number, form in usual().fields.items()}

    assert forms == {
        2: ("n", "LL", 19), 3: ("n", "fixed", 6), 4: ("n", "fixed", 12), 7: ("n", "fixed", 10), 11: ("n", "fixed", 6),
        12: ("n", "fixed", 6), 13: ("n", "fixed", 4), 14: ("n", "fixed", 4), 15: ("n", "fixed", 4),
        18: ("n", "fixed", 4), 22: ("n", "fixed", 3), 23: ("n", "fixed", 3), 25: ("n", "fixed", 2),
        32: ("n", "LL", 11), 35: ("z", "LL", 37), 37: ("an", "fixed", 12), 38: ("an", "fixed", 6),
        39: ("an", "fixed", 2), 41: ("ans", "fixed", 8), 42: ("ans", "fixed", 15), 43: ("ans", "fixed", 40),
        44: ("ans", "LL", 25), 48: ("ans", "LLL", 999), 49: ("n", "fixed", 3), 55: ("b", "LLL", 255),
        56: ("n", "LLL", 4), 63: ("ans", "LLL", 32), 70: ("n", "fixed", 3), 90: ("n", "fixed", 42),
        95: ("an", "fixed", 42),
    }  # fmt: skip
