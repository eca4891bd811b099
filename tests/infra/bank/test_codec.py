"""The bank's codec, against the three messages of the interface's page."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import DataObject, binary, data, from_regex, sampled_from, sets

from infra.bank import bank
from infra.bank.codec import FORMATS, Message, NotAMessageError, Value, decode, encode, framed
from infra.bank.ledger import entry_of
from infra.bank.rules import problems_of
from tests.infra.bank.messages import NOW, a_purchase, raw

PURCHASE = bytes.fromhex(
    "011230323030723C468128E18200313634313131313131313131313131313131303030303030303030303030303031323330313132313138"
    "3030303330303030343232303030303231313231333031323534313130353230303130303036313233343536333734313131313131313131"
    "3131313131313D3330313232303130303030303132333435363738364A58324D305137545A344144454D4F3030303142414E4B3030303030"
    "30303030303144656D6F2053746F72652020202020202020202020202020204361706520546F776E202020205A4130303636313032303837"
    "31303034378407A00000000310109F2608A1B2C3D4E5F607189F2701809F3602001E9F37041A2B3C4D9505000000800082023800"
)
APPROVAL = bytes.fromhex(
    "009830323130323A00010EC08202303030303030303030303030303031323330313132313138303030333030303034323230303030323131"
    "3231313132313036313233343536364A58324D305137545A3441333333333830303044454D4F3030303142414E4B30303030303030303030"
    "313731303031368A023030910A11223344556677883030303136484F5354303030303030303030303031"
)
ADVICE = bytes.fromhex(
    "009F30343230B238000108C08100000000400000000030303030303030303030303030303132333031313231313830313034303030303433"
    "323030303032313132313036313233343536364A58324D305137545A344144454D4F3030303142414E4B3030303030303030303031373130"
    "30303434303231303230303030303034323131323131383030303330303030303132333435363030303030303030303030"
)


@pytest.mark.parametrize("frame", [PURCHASE, APPROVAL, ADVICE], ids=["0200", "0210", "0420"])
def test_a_message_of_the_page_is_read_and_made_byte_for_byte(frame: bytes) -> None:
    message = decode(frame[2:])

    assert not message.problems
    assert framed(encode(message.mti, message.fields)) == frame


@pytest.mark.parametrize("frame", [PURCHASE, ADVICE], ids=["0200", "0420"])
def test_a_request_of_the_page_is_well_formed(frame: bytes) -> None:
    assert problems_of(decode(frame[2:]), NOW) == []


def test_the_approval_of_the_page_is_what_the_bank_answers_to_its_purchase() -> None:
    request = decode(PURCHASE[2:])
    ruling = {"code": "00", "taken_minor": 1230, "approval": "333380", "number": "HOST000000000001"}
    entry = type(unruled := entry_of(request, NOW, b"secret"))(**unruled.document() | ruling)

    answer = bank.answer(request, entry, NOW)
    assert framed(encode(answer.mti, answer.fields)) == APPROVAL


def test_the_facts_of_the_page_are_read() -> None:
    advice = decode(ADVICE[2:])

    assert (advice.mti, advice.text(37), advice.text(56)) == ("0420", "6JX2M0Q7TZ4A", "4021")
    assert advice.text(90) == "020000004211211800030000012345600000000000"


def test_the_second_bitmap_is_there_exactly_with_a_field_above_64() -> None:
    assert len(encode("0800", {7: "1121180003", 11: "000001"})) == 4 + 8 + 16
    assert len(encode("0800", {7: "1121180003", 11: "000001", 70: "301"})) == 4 + 16 + 19
    with pytest.raises(NotAMessageError):
        decode(b"0800" + bytes.fromhex("82200000000000000000000000000000") + b"1121180003000001")


def fields_of(some: DataObject) -> dict[int, Value]:
    fields: dict[int, Value] = {}
    for number in some.draw(sets(sampled_from(sorted(FORMATS)), min_size=1)):
        pattern = FORMATS[number].pattern
        value: Any = binary(min_size=1, max_size=255) if pattern is None else from_regex(pattern, fullmatch=True)
        fields[number] = some.draw(value)
    return fields


@given(data())
def test_what_is_written_is_read(some: DataObject) -> None:
    fields = fields_of(some)

    assert decode(encode("0200", fields)) == Message("0200", fields)


@given(binary(max_size=2100))
def test_any_bytes_are_a_message_or_are_refused(content: bytes) -> None:
    try:
        message = decode(content)
    except NotAMessageError:
        return
    assert set(message.fields) <= set(FORMATS)


@given(sampled_from(range(len(PURCHASE) - 2)))
def test_a_message_that_was_cut_is_none(size: int) -> None:
    with pytest.raises(NotAMessageError):
        decode(PURCHASE[2:][:size])


def test_what_follows_an_unknown_field_is_not_read_and_what_precedes_it_is() -> None:
    bitmap = (1 << 61 | 1 << 4).to_bytes(8, "big")  # 3 and 60

    message = decode(b"0200" + bitmap + b"000000" + b"003abc")

    assert message.fields == {3: "000000"}
    assert message.problems == ("field 60 is not of the table",)


@pytest.mark.parametrize("number", sorted(set(FORMATS) - {55}))
def test_a_value_of_another_form_is_not_written(number: int) -> None:
    with pytest.raises(ValueError, match=f"field {number} has another form"):
        encode("0200", {number: "\x7f"})


def test_a_message_does_not_show_its_fields() -> None:
    purchase = a_purchase()

    assert purchase.text(2) not in repr(purchase) + repr(decode(raw(purchase)))
