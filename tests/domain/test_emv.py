import pytest
from hypothesis import given
from hypothesis.strategies import binary

from chalicelib.domain import emv
from chalicelib.domain.emv import MalformedError
from chalicelib.domain.transaction import EmvData
from chalicelib.gateways.acquirers.iso8583 import messages
from tests.support.cards import AID, APN, EXP, PAN, TRACK2, TSI, TVR, chip_data

# The file control information of the payment system environment, as EMV Book 1, section 11.3.4 lays it out.
PSE = bytes.fromhex("6F1A 840E 315041592E5359532E4444463031 A508 880102 5F2D02 656E")


def test_the_example_of_emv_book_1_is_read_through_its_templates() -> None:
    assert emv.objects(PSE) == {0x84: b"1PAY.SYS.DDF01", 0x88: b"\x02", 0x5F2D: b"en"}


def test_zero_bytes_before_between_and_after_objects_have_no_meaning() -> None:
    # EMV Book 3, annex B1
    assert emv.objects(bytes.fromhex("00009F26 02AABB 00 950100 0000")) == {0x9F26: b"\xaa\xbb", 0x95: b"\x00"}


@pytest.mark.parametrize("text", ["FF 9F2602AABB FFFF 950100 FF", "9F2602AABB FF00 950100", "FF 9F2602AABB FF 950100"])
def test_filling_bytes_have_no_meaning(text: str) -> None:
    # ISO/IEC 7816-4
    assert emv.objects(bytes.fromhex(text)) == {0x9F26: b"\xaa\xbb", 0x95: b"\x00"}


def test_a_readers_template_whose_tag_begins_with_ff_is_read() -> None:
    assert emv.objects(bytes.fromhex("FF8105 05 9F2602AABB FFFF")) == {0x9F26: b"\xaa\xbb"}


def test_an_empty_object_counts_as_absent() -> None:
    found = emv.objects(bytes.fromhex("5700 5A00 5A08378282246310005F 5F2403301231"))

    assert emv.card_in(found) == emv.Track2("378282246310005", EXP)


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", "\r\n\r\n", " \t"])
def test_a_stripe_may_end_with_line_ends(end: str) -> None:
    assert emv.stripe(TRACK2 + end) == emv.stripe(TRACK2)
    assert emv.stripe(f"%B{PAN}^MOKOENA/THANDI^3012201?{end}{TRACK2}{end}")[1] == TRACK2


@pytest.mark.parametrize(
    ("header", "length"), [("7F", 127), ("8180", 128), ("81FF", 255), ("820100", 256), ("83000100", 256)]
)
def test_a_length_takes_one_byte_up_to_127_and_says_how_many_follow_beyond(header: str, length: int) -> None:
    # EMV Book 3, annex B2
    assert emv.objects(bytes.fromhex("50" + header) + b"x" * length) == {0x50: b"x" * length}


@pytest.mark.parametrize("tag", [0x50, 0x5F20, 0x9F06, 0xDF8106])
@pytest.mark.parametrize("length", [0, 127, 128, 255, 256, 65_535, 65_536])
def test_an_object_that_is_written_reads_back_the_same(tag: int, length: int) -> None:
    assert emv.objects(messages.encoded(tag, b"x" * length)) == {tag: b"x" * length}


@pytest.mark.parametrize(
    ("text", "tag"), [("5001AA", 0x50), ("9F0601AA", 0x9F06), ("DF810601AA", 0xDF8106), ("5F2001AA", 0x5F20)]
)
def test_a_tag_goes_on_while_its_number_does(text: str, tag: int) -> None:
    # EMV Book 3, annex B1
    assert emv.objects(bytes.fromhex(text)) == {tag: b"\xaa"}


def test_the_first_of_two_objects_with_one_tag_counts() -> None:
    assert emv.objects(bytes.fromhex("9502AAAA 9502BBBB")) == {0x95: b"\xaa\xaa"}


@pytest.mark.parametrize(
    "text", ["9F", "9F26", "9F2608AABB", "5080", "5085", "5081", "DF818106 01AA", "6F0A 9F26 08 AABB", "57 13 4111"]
)
def test_what_is_cut_or_lies_about_its_length_is_refused(text: str) -> None:
    with pytest.raises(MalformedError):
        emv.objects(bytes.fromhex(text))


def test_templates_within_templates_have_a_limit() -> None:
    data = b""
    for _ in range(10):
        data = bytes([0x6F, len(data)]) + data

    with pytest.raises(MalformedError):
        emv.objects(data)


@given(binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        found = emv.objects(data)
    except MalformedError:
        return

    assert sum(map(len, found.values())) <= len(data)


def test_every_cut_of_a_chips_data_is_refused_or_lacks_what_stood_behind_the_cut() -> None:
    whole = bytes.fromhex(chip_data())

    for end in range(len(whole)):
        try:
            found = emv.objects(whole[:end])
        except MalformedError:
            continue
        assert len(found) < len(emv.objects(whole))


@pytest.mark.parametrize(
    "text",
    [
        f";{PAN}=30122011000012300000?",
        f"{PAN}=3012201",
        f"{PAN}D30122011000012300000F",
        f"{PAN}D30122011000012300000FFF",
        f";{PAN}=30122011000012300000?7",
    ],
)
def test_a_track_2_comes_with_or_without_its_sentinels(text: str) -> None:
    assert (emv.track2(text).pan, emv.track2(text).exp) == (PAN, EXP)


@pytest.mark.parametrize(
    "text", ["", PAN, f"{PAN}=30", f"%B{PAN}^NAME^3012", f"{PAN}==30122011", "\u0664" * 16 + "=3012"]
)
def test_what_is_no_track_2_is_refused(text: str) -> None:
    with pytest.raises(MalformedError):
        emv.track2(text)


def test_a_track_does_not_print_its_number() -> None:
    assert PAN not in repr(emv.track2(f"{PAN}=3012201"))


def test_a_chips_number_comes_from_its_track_2_equivalent_or_from_its_own_objects() -> None:
    by_track = emv.objects(bytes.fromhex(chip_data()))
    by_objects = {emv.PAN: bytes.fromhex("378282246310005F"), emv.EXPIRATION: bytes.fromhex("301231")}

    assert emv.card_in(by_track) == emv.Track2(PAN, EXP, "201100001230000")
    assert emv.card_in(by_objects) == emv.Track2("378282246310005", EXP)


@pytest.mark.parametrize(
    ("service", "has_chip"), [("201", True), ("601", True), ("101", False), ("^", False), ("", False)]
)
def test_the_service_code_of_track_1_says_whether_the_card_has_a_chip(service: str, *, has_chip: bool) -> None:
    track, _ = emv.stripe(f"%B{PAN}^MOKOENA/THANDI^3012{service}?{TRACK2}")

    assert track.has_chip_on_track1 is has_chip


@pytest.mark.parametrize("found", [{}, {emv.PAN: b"\x41\x11"}, {emv.EXPIRATION: b"\x30\x12\x31"}])
def test_a_chip_without_a_card_is_refused(found: dict[int, bytes]) -> None:
    with pytest.raises(MalformedError):
        emv.card_in(found)


def test_a_receipt_prints_application_name_status_and_verification_results() -> None:
    found = emv.objects(bytes.fromhex(chip_data()))

    assert emv.printed(found) == EmvData(aid=AID, apn=APN, tsi=TSI, tvr=TVR)
    assert emv.cardholder(found) == "MOKOENA/THANDI"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("MOKOENA/THANDI            ", "MOKOENA/THANDI"),
        ("MOKOENA/THANDI.MS", "MOKOENA/THANDI.MS"),
        (" /", None),
        ("CARD 4111111111111111", None),
        ("VISA\x07CARD", None),
    ],
)
def test_the_name_of_a_swiped_card_is_on_track_1(written: str, name: str | None) -> None:
    track, text = emv.stripe(f"%B{PAN}^{written}^30121011000000000123000000?{TRACK2}")

    assert (track.cardholder, text) == (name, TRACK2)
    assert emv.stripe(TRACK2)[0].cardholder is None
    assert emv.cardholder({emv.CARDHOLDER: written.encode()}) == name


def test_what_has_the_wrong_size_is_not_printed() -> None:
    found = {emv.AID: b"\xa0", emv.TSI: b"\x00" * 3, emv.TVR: b"", emv.LABEL: b"x" * 17, emv.CARDHOLDER: PAN.encode()}

    assert emv.printed(found) == emv.printed({}) == EmvData()
    assert emv.cardholder(found) is None


@pytest.mark.parametrize(("code", "text"), [(0, "8A023030"), (5, "8A023035"), (51, "8A023531")])
def test_the_chip_gets_the_issuers_response_code(code: int, text: str) -> None:
    assert emv.online_result(code) == text


@pytest.mark.parametrize("text", ["8A023030", "8A02303091083132333435363738", "8a023035", "72059F18020011"])
def test_an_issuers_answer_goes_to_the_chip_as_it_is(text: str) -> None:
    assert emv.issuer_answer(text) == text.upper()


@pytest.mark.parametrize(
    "text", [None, "", "8A", "8A0230", "8A02303", "approved", chip_data(), f"5A08{PAN}", f"710A5A08{PAN}", "00" * 256]
)
def test_what_is_no_answer_of_an_issuer_or_quotes_the_card_is_none(text: str | None) -> None:
    assert emv.issuer_answer(text) is None
