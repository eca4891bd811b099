"""The requests: the tables of sections 2 to 4 of the interface, row by row."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain import emv
from chalicelib.domain.acquirer import ReversalKind
from chalicelib.domain.card import BRANDS, has_check_digit
from chalicelib.domain.kinds import InputType
from chalicelib.domain.transaction import MessageTrace
from chalicelib.gateways.acquirers.iso8583 import messages
from tests.gateways.iso8583.requests import (
    ADVICE,
    CHIP,
    CODEC,
    CVV2,
    NEXT,
    PURCHASE,
    TRACE,
    a_message,
    a_purchase,
    a_reversal,
    a_terminal,
    by_chip,
    fields_of,
    read_card,
)
from tests.support.cards import PAN, a_card, tlv

STRIPE = f";{PAN}=3012201100001230000?4"
COMMON = {"3", "4", "7", "11", "12", "13", "32", "37", "41", "42", "49"}
OF_AN_0200 = COMMON | {"18", "22", "25", "43", "48"}


def test_a_chip_purchase_is_the_one_of_the_interface() -> None:
    content = CODEC.prepared(messages.purchase(by_chip(CHIP)))

    assert CODEC.encode(content) == PURCHASE


@pytest.mark.parametrize(("digits", "begin"), [(n, one.prefixes[0][0]) for one in BRANDS for n in one.lengths])
def test_a_card_number_of_any_length_that_a_payment_takes_is_sent(digits: int, begin: str) -> None:
    number = next(one for tail in "0123456789" if has_check_digit(one := begin.ljust(digits - 1, "0") + tail))

    assert fields_of(a_purchase(card=a_card(pan=number)))["2"] == number


@pytest.mark.parametrize(("is_repeat", "mti"), [(False, b"0420"), (True, b"0421")])
def test_an_advice_is_the_interfaces_and_a_repeat_differs_in_its_type_alone(*, is_repeat: bool, mti: bytes) -> None:
    content = CODEC.prepared(messages.advice(a_reversal(is_repeat=is_repeat)))

    assert CODEC.encode(content) == mti + ADVICE[4:]


@pytest.mark.parametrize(
    ("request_", "fields"),
    [
        (a_purchase(), OF_AN_0200 | {"2", "14"}),
        (a_purchase(input_type=InputType.MAGNETIC_STRIPE, card=read_card(InputType.MAGNETIC_STRIPE, STRIPE)),
         OF_AN_0200 | {"2", "14", "35"}),
        (by_chip(CHIP), OF_AN_0200 | {"2", "14", "23", "35", "55"}),
        (by_chip(CHIP, InputType.CONTACTLESS), OF_AN_0200 | {"2", "14", "23", "35", "55"}),
        (by_chip(tlv("5A", PAN) + tlv("5F24", "301231") + tlv("95", "0000000000")), OF_AN_0200 | {"2", "14", "55"}),
        (a_reversal(ReversalKind.RETURN), OF_AN_0200 | {"90"}),
        (a_reversal(ReversalKind.RETURN, card=read_card(InputType.CHIP, CHIP), input_type=InputType.CHIP),
         OF_AN_0200 | {"2", "14", "23", "35", "55", "90"}),
        (a_reversal(ReversalKind.CANCEL), COMMON | {"56", "90"}),
        (a_reversal(ReversalKind.AUTOMATIC), COMMON | {"56", "90"}),
        (a_reversal(ReversalKind.AUTOMATIC_OF_RETURN), COMMON | {"56", "90"}),
        (a_reversal(ReversalKind.CANCEL, card=a_card(), input_type=InputType.MANUAL_ENTRY), COMMON | {"56", "90"}),
    ],
)  # fmt: skip
def test_each_message_has_the_fields_of_its_column_and_no_other(request_: object, fields: set[str]) -> None:
    assert fields_of(request_).keys() == fields  # type: ignore[arg-type]


def test_the_facts_of_a_purchase_are_in_their_fields() -> None:
    fields = fields_of(a_purchase())

    assert fields == {
        "2": PAN,
        "3": "000000",
        "4": "000000001230",
        "7": "1121180003",
        "11": "000042",
        "12": "200002",
        "13": "1121",
        "14": "3012",
        "18": "5411",
        "22": "012",
        "25": "01",
        "32": "123456",
        "37": "6JX2M0Q7TZ4A",
        "41": "DEMO0001",
        "42": "BANK00000000001",
        "43": "Demo Store               Cape Town    ZA",
        "48": f"6102089203{CVV2}",
        "49": "710",
    }


@pytest.mark.parametrize(
    ("kind", "code", "reason"),
    [
        (ReversalKind.CANCEL, "000000", "4000"),
        (ReversalKind.AUTOMATIC, "000000", "4020"),
        (ReversalKind.AUTOMATIC_OF_RETURN, "200000", "4021"),
    ],
)
def test_an_advice_says_what_it_reverses_and_why(kind: ReversalKind, code: str, reason: str) -> None:
    fields = fields_of(a_reversal(kind, reason=reason))

    assert (fields["3"], fields["56"]) == (code, reason)
    assert fields["90"] == "0200000042112118000300000123456" + "0" * 11
    assert (fields["11"], fields["7"]) == ("000043", "1121180104")


def test_a_refund_names_its_purchase_and_has_its_own_trace() -> None:
    fields = fields_of(a_reversal(ReversalKind.RETURN))

    assert (fields["3"], fields["22"], fields["25"], fields["48"]) == ("200000", "002", "01", "610208")
    assert fields["90"] == "0200000042112118000300000123456" + "0" * 11
    assert fields["11"] == f"{NEXT.stan:06d}"


ENTRIES = [
    (InputType.MANUAL_ENTRY, None, "01", "01"),
    (InputType.MAGNETIC_STRIPE, "101", "90", "00"),
    (InputType.MAGNETIC_STRIPE, "201", "80", "00"),
    (InputType.MAGNETIC_STRIPE, "601", "80", "00"),
    (InputType.MAGNETIC_STRIPE, "20", "90", "00"),
    (InputType.MAGNETIC_STRIPE, "", "90", "00"),
    (InputType.CHIP, None, "05", "00"),
    (InputType.CONTACTLESS, None, "07", "00"),
]


@pytest.mark.parametrize(("input_type", "service_code", "entry", "condition"), ENTRIES)
@pytest.mark.parametrize("entry_caps", ["0", "1", "2", "5", "7", "8", "9", "10"])
def test_field_22_says_how_the_card_was_entered(
    input_type: InputType, service_code: str | None, entry: str, condition: str, entry_caps: str
) -> None:
    data = CHIP if service_code is None else f"{PAN}=3012{service_code}"
    card = a_card() if input_type is InputType.MANUAL_ENTRY else read_card(input_type, data)
    terminal = a_terminal(entry_caps=entry_caps)
    if entry == "80" and entry_caps not in {"5", "8", "9"}:
        entry = "90"

    fields = fields_of(a_purchase(input_type=input_type, card=card, message=a_message(terminal=terminal)))

    assert fields["22"] == entry + ("0" if entry_caps == "0" else "2")
    assert fields["25"] == condition
    assert fields["48"].startswith(f"6102{int(entry_caps):02d}")


def test_a_refund_by_card_says_how_the_card_was_entered() -> None:
    by_stripe = a_reversal(
        ReversalKind.RETURN,
        card=read_card(InputType.MAGNETIC_STRIPE, STRIPE, cvv2=CVV2),
        input_type=InputType.MAGNETIC_STRIPE,
    )

    fields = fields_of(by_stripe)

    assert (fields["22"], fields["25"], fields["35"]) == ("802", "00", f"{PAN}=3012201100001230000")
    assert fields["48"] == "610208"  # CVV2 is in purchases alone


@pytest.mark.parametrize(
    "track",
    [
        f"{PAN}=3012201100001230000",
        f";{PAN}=3012201100001230000?",
        f";{PAN}=3012201100001230000?7",
        f"{PAN}D3012201100001230000",
        f"{PAN}d3012201100001230000F",
    ],
)
def test_track_2_travels_without_sentinels_check_character_and_filling(track: str) -> None:
    card = read_card(InputType.MAGNETIC_STRIPE, track)
    fields = fields_of(a_purchase(input_type=InputType.MAGNETIC_STRIPE, card=card))

    assert fields["35"] == f"{PAN}=3012201100001230000"
    assert (fields["2"], fields["14"]) == (PAN, "3012")


@pytest.mark.parametrize(
    ("sequence", "field"), [("01", "001"), ("99", "099"), ("0A", None), ("0001", None), ("", None)]
)
def test_the_number_in_the_row_of_cards_is_that_of_the_chip(sequence: str, field: str | None) -> None:
    fields = fields_of(by_chip(tlv("5A", PAN) + tlv("5F24", "301231") + tlv("95", "00") + tlv("5F34", sequence)))

    assert fields.get("23") == field


TAGS = [
    "4F", "5F2A", "82", "84", "95", "9A", "9B", "9C", "9F02", "9F03", "9F09", "9F10", "9F1A", "9F1E", "9F26", "9F27",
    "9F33", "9F34", "9F35", "9F36", "9F37", "9F41", "9F6E",
]  # fmt: skip
CARD = tlv("5A", PAN) + tlv("5F24", "301231")


@pytest.mark.parametrize("tag", TAGS)
def test_the_host_gets_each_object_it_knows(tag: str) -> None:
    assert fields_of(by_chip(CARD + tlv(tag, "A1B2")))["55"] == tlv(tag, "A1B2")


@pytest.mark.parametrize("tag", ["50", "5F20", "5F24", "5F34", "9F06", "9F12", "9F1F", "9F6B"])
def test_the_host_gets_no_other_object(tag: str) -> None:
    assert fields_of(by_chip(CARD + tlv("95", "00") + tlv(tag, "3012")))["55"] == tlv("95", "00")


def test_templates_are_opened_and_an_object_travels_once_in_the_order_of_the_reader() -> None:
    inner = tlv("9F26", "AA" * 8) + tlv("82", "3800")
    data = CARD + tlv("9F36", "0001") + tlv("77", inner) + tlv("9F36", "0002") + tlv("95", "00" * 5)

    assert fields_of(by_chip(data))["55"] == tlv("9F36", "0001") + inner + tlv("95", "00" * 5)


def test_lengths_are_written_in_their_shortest_form() -> None:
    data = CARD + "9F10" + "820081" + "AB" * 0x81 + "95" + "8105" + "00" * 5

    assert fields_of(by_chip(data))["55"] == "9F10" + "8181" + "AB" * 0x81 + "9505" + "00" * 5


@given(st.dictionaries(st.sampled_from([int(tag, 16) for tag in TAGS]), st.binary(max_size=300), max_size=6))
def test_what_is_encoded_reads_back_the_same(objects: dict[int, bytes]) -> None:
    data = b"".join(messages.encoded(tag, value) for tag, value in objects.items())

    assert emv.objects(data) == objects
    assert list(emv.objects(data)) == list(objects)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"title": "Café Ünïon"}, "Caf? ?n?on               Cape Town    ZA"),
        ({"title": "A" * 30, "city": "B" * 20}, "A" * 25 + "B" * 13 + "ZA"),
        ({"title": "", "city": ""}, " " * 38 + "ZA"),
        ({"title": "Tab\there"}, "Tab?here                 Cape Town    ZA"),
    ],
)
def test_name_and_place_are_cut_filled_and_printable(changes: dict[str, str], field: str) -> None:
    assert fields_of(a_purchase(message=a_message(terminal=a_terminal(**changes))))["43"] == field


def test_short_names_of_terminal_and_merchant_are_filled() -> None:
    fields = fields_of(a_purchase(message=a_message(tid="T1", terminal=a_terminal(mid="M1"))))

    assert (fields["41"], fields["42"]) == ("T1      ", "M1             ")


def test_field_7_is_in_utc_and_fields_12_and_13_are_as_they_were_given() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    made_at = datetime(2026, 1, 1, 2, 0, 0, tzinfo=east)
    message = a_message(trace=MessageTrace(7, made_at), local_time=made_at)
    fields = fields_of(a_purchase(message=message))

    assert (fields["7"], fields["12"], fields["13"]) == ("1231203000", "020000", "0101")


def test_the_longest_numbers_fit() -> None:
    trace = MessageTrace(999_999, datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC))
    reversal = a_reversal(
        ReversalKind.RETURN,
        amount_minor=999_999_999_999,
        original_trace=trace,
        message=a_message(trace=trace, institution="12345678901"),
    )

    fields = fields_of(reversal)

    assert fields["4"] == "999999999999"
    assert fields["90"] == "0200" + "999999" + "1231235959" + "12345678901" + "0" * 11


def test_an_echo_has_three_fields() -> None:
    assert messages.echo(TRACE).fields == {"7": "1121180003", "11": "000042", "70": "301"}


@pytest.mark.parametrize(
    "request_",
    [
        a_purchase(message=None),
        a_purchase(card=None),
        a_reversal(ReversalKind.RETURN, message=None),
        a_reversal(ReversalKind.RETURN, card=a_card()),
        a_reversal(original_trace=None),
    ],
)
def test_no_message_is_made_without_its_facts(request_: object) -> None:
    with pytest.raises(messages.FactsMissingError):
        fields_of(request_)  # type: ignore[arg-type]


def test_no_message_shows_its_card() -> None:
    request = replace(by_chip(CHIP), card=read_card(InputType.CHIP, CHIP, CVV2))
    fixed = "00000000-0000-4000-8000-000000000000"  # a random one may hold the digits of the CVV2
    shown = repr((messages.purchase(request), a_reversal(card=request.card, reference=fixed, original=fixed)))

    assert PAN not in shown
    assert PAN[6:] not in shown
    assert CVV2 not in shown
