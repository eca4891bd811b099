"""The format of a request: the table of section 2 and the rules of section 3. What breaks them is answered with 30."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists, sampled_from, tuples

from infra.bank.bank import Bank
from infra.bank.codec import Message, decode, encode
from infra.bank.rules import problems_of
from tests.infra.bank.messages import (
    CHIP,
    NOW,
    OTHER_PAN,
    PAN,
    a_chip_purchase,
    a_purchase,
    a_refund,
    an_advice,
    code,
    raw,
    told,
)

TRACK, CHIP_TRACK = f"{PAN}=30121011234567890123", f"{PAN}=30122011234567890123"
STRIPE: dict[str, Any] = {"f22": "902", "f25": "00", "f48": "610208"}
WITHOUT_CARD: dict[str, Any] = dict.fromkeys(("f2", "f14"))


def swiped(**fields: Any) -> Message:
    return a_purchase(**{**STRIPE, "f35": TRACK, **fields})


def of_a_refund(**fields: Any) -> Message:
    return a_refund(a_purchase(), 100, **fields)


RIGHT = {
    "keyed": a_purchase(now=NOW),
    "keyed without CVV2": a_purchase(now=NOW, f48="610208"),
    "keyed, EntryCaps unknown": a_purchase(now=NOW, f48="610200", f22="010"),
    "with four digits of CVV2": a_purchase(now=NOW, f48="61020892041234"),
    "stripe": swiped(now=NOW),
    "stripe of a chip card at a terminal without a chip reader": swiped(now=NOW, f35=CHIP_TRACK, f48="610207"),
    "stripe of a chip card": swiped(now=NOW, f35=CHIP_TRACK, f22="802"),
    "chip": a_chip_purchase(now=NOW),
    "chip with track and sequence": a_chip_purchase(now=NOW, f35=CHIP_TRACK, f23="001"),
    "contactless": a_chip_purchase(now=NOW, f22="072"),
    "chip with an object of 128 bytes": a_chip_purchase(now=NOW, f55=b"\x9f\x10\x81\x80" + bytes(128)),
    "refund without a card": of_a_refund(now=NOW),
    "refund with a card": of_a_refund(now=NOW, f2=PAN, f14="3012", f22="012"),
    "refund with a chip": of_a_refund(now=NOW, f2=PAN, f14="3012", f22="052", f25="00", f55=CHIP),
    "advice": an_advice(a_purchase()),
    "advice with an approval code": an_advice(a_purchase(), f38="333380"),
    "echo": Message("0800", {7: "1121180003", 11: "000001", 70: "301"}),
}

WRONG: dict[str, Message] = {
    "an approval code in a purchase": a_purchase(f38="123456"),
    "a response code in a purchase": a_purchase(f39="00"),
    "field 90 in a purchase": a_purchase(f90="0" * 42),
    "field 95 in a refund": of_a_refund(f95=f"{'0' * 24}C00000000C00000000"),
    "an amount of zero": a_purchase(f4="0" * 12),
    "a STAN of zero": a_purchase(f11="000000"),
    "a month 13": a_purchase(f7="1321180003"),
    "an hour 24": a_purchase(f12="240000"),
    "a day 32": a_purchase(f13="1132"),
    "an expiry MMYY": a_purchase(f14="1230"),
    "another processing code": a_purchase(f3="010000"),
    "a purchase without a card": a_purchase(**WITHOUT_CARD),
    "the entry mode of a refund in a purchase": a_purchase(f22="002", f48="610208"),
    "an entry mode that is not of the table": a_purchase(f22="812"),
    "a PIN that can be entered": a_purchase(f22="011"),
    "unknown EntryCaps with 2": a_purchase(f48="610200"),
    "EntryCaps missing": a_purchase(f48="9203123"),
    "elements that do not end": a_purchase(f48="610308"),
    "an element without a length": a_purchase(f48="61020892"),
    "an element twice": a_purchase(f48="610208610208"),
    "an element that is not of the table": a_purchase(f48="6102089901X"),
    "a CVV2 of two digits": a_purchase(f48="610208920212"),
    "a CVV2 in a refund": of_a_refund(f48="6102089203123"),
    "a customer who is absent at a chip": a_chip_purchase(f25="01"),
    "a customer who is present at a keyed card": a_purchase(f25="00"),
    "a track in a keyed purchase": a_purchase(f35=TRACK),
    "chip data in a keyed purchase": a_purchase(f55=CHIP),
    "a sequence in a swiped one": swiped(f23="001"),
    "a stripe without its track": a_purchase(**STRIPE),
    "a chip without its data": a_chip_purchase(f55=None),
    "a track of another card": swiped(f35=TRACK.replace(PAN, OTHER_PAN)),
    "a track of another expiry": swiped(f35=TRACK.replace("=3012", "=3011")),
    "a track without a service code": swiped(f35=f"{PAN}=301210"),
    "a chip card swiped as 90 where a chip is read": swiped(f35=CHIP_TRACK),
    "a card without a chip swiped as 80": swiped(f22="802"),
    "80 where no chip is read": swiped(f35=CHIP_TRACK, f22="802", f48="610207"),
    "the track in chip data": a_chip_purchase(f55=CHIP + bytes.fromhex("5701AA")),
    "the number in chip data": a_chip_purchase(f55=bytes.fromhex("5A01AA") + CHIP),
    "an object twice": a_chip_purchase(f55=CHIP + CHIP[:9]),
    "a template": a_chip_purchase(f55=bytes.fromhex("7003") + bytes.fromhex("9501AA")),
    "an object that does not end": a_chip_purchase(f55=CHIP + bytes.fromhex("9B05AA")),
    "a length that is not the shortest": a_chip_purchase(f55=bytes.fromhex("95810100")),
    "an object without a length": a_chip_purchase(f55=bytes.fromhex("9F26")),
    "a card in an advice": an_advice(a_purchase(), f2=PAN),
    "an expiry in an advice": an_advice(a_purchase(), f14="3012"),
    "a track in an advice": an_advice(a_purchase(), f35=TRACK),
    "chip data in an advice": an_advice(a_purchase(), f55=CHIP),
    "private data in an advice": an_advice(a_purchase(), f48="610208"),
    "a reason that is not of the table": an_advice(a_purchase(), f56="4022"),
    "an original that is no 0200": an_advice(a_purchase(), f90="0420" + "0" * 38),
    "an original of another institution": an_advice(a_purchase(), f32="654321"),
    "a replacement with other fees": an_advice(a_purchase(), f95=f"{'0' * 24}D00000000C00000000"),
    "an echo of another kind": Message("0800", {7: "1121180003", 11: "000001", 70: "001"}),
}
MANDATORY = [
    *[(a_purchase(), number) for number in (2, 3, 4, 7, 11, 12, 13, 14, 18, 22, 25, 32, 37, 41, 42, 43, 48, 49)],
    *[(of_a_refund(), number) for number in (4, 7, 11, 12, 13, 18, 22, 25, 32, 37, 41, 42, 43, 48, 49, 90)],
    *[(an_advice(a_purchase()), number) for number in (3, 4, 7, 11, 12, 13, 32, 37, 41, 42, 49, 56, 90)],
    *[(RIGHT["echo"], number) for number in (7, 11, 70)],
]


@pytest.mark.parametrize("message", RIGHT.values(), ids=RIGHT.keys())
def test_a_right_request_is_well_formed(message: Message) -> None:
    assert problems_of(decode(raw(message)), NOW) == []


@pytest.mark.parametrize("message", WRONG.values(), ids=WRONG.keys())
def test_what_breaks_the_table_is_answered_30_and_is_a_violation(message: Message) -> None:
    bank = Bank()

    assert code(bank, message) == "30"
    assert bank.violations
    assert bank.held(PAN) == 0


@pytest.mark.parametrize(("message", "number"), MANDATORY, ids=[f"{one.mti}-{number}" for one, number in MANDATORY])
def test_a_mandatory_field_that_is_missing_is_answered_30_and_the_rest_is_echoed(message: Message, number: int) -> None:
    cut = replace(message, fields={n: value for n, value in message.fields.items() if n != number})

    answer = told(Bank(), cut)

    assert answer.text(39) == "30"
    assert number not in answer.fields
    assert all(answer.text(n) == cut.text(n) for n in (7, 11) if n != number)


def test_a_field_that_is_missing_from_the_table_is_answered_30_with_what_could_be_read() -> None:
    whole = encode("0200", {3: "000000", 4: "000000003000", 11: "000042"})
    bits = int.from_bytes(whole[4:12], "big") | 1 << 64 - 60
    bank = Bank()

    (frame,) = bank.reply(whole[:4] + bits.to_bytes(8, "big") + whole[12:] + b"003abc").steps

    assert isinstance(frame, bytes)
    answer = decode(frame[2:])
    assert (answer.text(3), answer.text(4), answer.text(11), answer.text(39)) == (
        "000000",
        "000000003000",
        "000042",
        "30",
    )


def test_a_field_of_another_form_is_not_echoed() -> None:
    content = raw(a_purchase(f37="ABCDEFGHIJKL")).replace(b"ABCDEFGHIJKL", b"ABCDEFGHIJK\xff")

    (frame,) = Bank().reply(content).steps

    assert isinstance(frame, bytes)
    answer = decode(frame[2:])
    assert (answer.text(39), 37 in answer.fields) == ("30", False)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 40,
        b"GET / HTTP/1.1\r\n\r\n",
        b"0201" + raw(a_purchase())[4:],
        raw(a_purchase())[:-1],
        raw(a_purchase()) + b"0",
    ],
    ids=["nothing", "zeros", "HTTP", "an 0201", "cut", "longer"],
)
def test_bytes_that_are_no_message_of_the_page_are_hung_up_on(content: bytes) -> None:
    bank = Bank()

    reply = bank.reply(content)

    assert (list(reply.steps), reply.closes) == ([], True)
    assert len(bank.violations) == 1


CONTENTS = [raw(message) for message in RIGHT.values()]


@given(sampled_from(CONTENTS), lists(tuples(integers(0, 400), integers(0, 255)), min_size=1, max_size=8))
def test_no_bytes_are_a_defect_of_the_bank(content: bytes, changes: list[tuple[int, int]]) -> None:
    broken = bytearray(content)
    for position, byte in changes:
        broken[position % len(broken)] = byte
    bank = Bank(clock=lambda: NOW)

    reply = bank.reply(bytes(broken))

    assert reply.closes == (not reply.steps)
    assert all(decode(step[2:]).text(39) for step in reply.steps if isinstance(step, bytes))
