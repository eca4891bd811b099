from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import integers

from chalicelib.domain import card
from chalicelib.domain.card import CardInput, brand_of, has_check_digit, is_expired, is_usable, read
from chalicelib.domain.kinds import InputType
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import CardDetails, EmvData
from tests.support.cards import AID, APN, EXP, PAN, TRACK1, TRACK2, TSI, TVR, a_card, a_linked_card, an_input, chip_data
from tests.support.transactions import NOW

BRANDS = {
    "4222222222222": "VISA",
    "4242424242424242": "VISA",
    "5555555555554444": "MASTERCARD",
    "2223003122003222": "MASTERCARD",
    "378282246310005": "AMEX",
    "6011111111111117": "DISCOVER",
    "36227206271667": "DINERS",
    "3566002020360505": "JCB",
    "6200000000000005": "UNIONPAY",
    "2200000000000004": "MIR",
    "6759649826438453": "MAESTRO",
    "501800000009": "MAESTRO",
}


def findings(input_type: InputType, sent: CardInput) -> list[tuple[str, int]]:
    return [(found.field.removeprefix("card."), found.code) for found in read(input_type, sent)[1]]


@pytest.mark.parametrize(("pan", "brand"), BRANDS.items())
def test_a_number_tells_its_brand(pan: str, brand: str) -> None:
    assert has_check_digit(pan)
    assert brand_of(pan) == brand


@pytest.mark.parametrize("pan", ["41111111111111", "9999999999999995", "1234567890123452", "0000000000000000"])
def test_a_number_of_nobody_has_no_brand(pan: str) -> None:
    assert brand_of(pan) is None


@given(integers(0, 15), integers(1, 9))
def test_one_mistyped_digit_never_passes_the_check(at: int, by: int) -> None:
    mistyped = PAN[:at] + str((int(PAN[at]) + by) % 10) + PAN[at + 1 :]

    assert not has_check_digit(mistyped)


def test_what_is_kept_of_a_card_is_its_brand_ends_and_expiry() -> None:
    assert a_card().details == CardDetails("VISA", "411111", "1111", EXP)
    assert a_card().details.masked == "411111******1111"


def test_a_card_prints_nothing_but_its_details() -> None:
    swiped, _ = read(InputType.MAGNETIC_STRIPE, an_input(reader_data=TRACK2))
    chip, _ = read(InputType.CHIP, an_input(reader_data=chip_data()))

    for text in (repr(a_card()), str(an_input(reader_data=TRACK2)), f"{swiped}", f"{chip}"):
        assert PAN not in text
        assert "123'" not in text


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"pan": None}, ("pan", 1)),
        ({"exp": None}, ("exp", 1)),
        ({"pan": "41111111111"}, ("pan", 3)),
        ({"pan": "4" * 20}, ("pan", 3)),
        ({"pan": "4111 1111 1111 1111"}, ("pan", 3)),
        ({"pan": "\u0664" * 16}, ("pan", 3)),
        ({"pan": "4111111111111112"}, ("pan", 8)),
        ({"pan": "9999999999999995"}, ("pan", 8)),
        ({"exp": "1330"}, ("exp", 3)),
        ({"exp": "0030"}, ("exp", 3)),
        ({"exp": "12/30"}, ("exp", 3)),
        ({"cvv2": "12"}, ("cvv2", 3)),
        ({"cvv2": "12345"}, ("cvv2", 3)),
        ({"cvv2": "12a"}, ("cvv2", 3)),
    ],
)
def test_each_mistake_in_a_keyed_in_card_is_found(changes: dict[str, Any], found: tuple[str, int]) -> None:
    assert findings(InputType.MANUAL_ENTRY, an_input(**changes)) == [found]


def test_all_mistakes_are_found_at_once_and_none_is_quoted() -> None:
    card_data, problems = read(InputType.MANUAL_ENTRY, an_input(pan="4111111111111112", exp="1399", cvv2="77"))

    assert card_data is None
    assert [found.field.split(".")[-1] for found in problems] == ["pan", "exp", "cvv2"]
    assert not any(text in str(problems) for text in ("4111111111111112", "1399", "77"))


def test_cvv2_may_be_missing() -> None:
    assert findings(InputType.MANUAL_ENTRY, an_input(cvv2=None)) == []


@pytest.mark.parametrize("input_type", [InputType.MAGNETIC_STRIPE, InputType.CHIP, InputType.CONTACTLESS])
def test_a_card_that_is_present_needs_what_its_reader_read(input_type: InputType) -> None:
    assert findings(input_type, an_input()) == [("reader_data", 1)]


def test_a_swiped_card_is_read_from_its_track() -> None:
    swiped, _ = read(InputType.MAGNETIC_STRIPE, CardInput(reader_data=Secret(TRACK2)))

    assert swiped is not None
    assert swiped.details == CardDetails("VISA", "411111", "1111", EXP)
    assert (swiped.pan.reveal(), swiped.track2) == (PAN, Secret(TRACK2))


def test_a_track_1_is_read_and_track_2_alone_goes_to_the_acquirer() -> None:
    swiped, _ = read(InputType.MAGNETIC_STRIPE, CardInput(reader_data=Secret(TRACK1 + TRACK2)))

    assert swiped is not None
    assert swiped.track2 == Secret(TRACK2)


@pytest.mark.parametrize("input_type", [InputType.CHIP, InputType.CONTACTLESS])
def test_a_chip_is_read_from_its_data_objects(input_type: InputType) -> None:
    chip, _ = read(input_type, CardInput(reader_data=Secret(chip_data())))

    assert chip is not None
    assert chip.details == CardDetails("VISA", "411111", "1111", EXP, "MOKOENA/THANDI")
    assert chip.emv == EmvData(AID, APN, TSI, TVR)


@pytest.mark.parametrize(
    ("input_type", "data", "found"),
    [
        (InputType.MAGNETIC_STRIPE, "4111111111111112=3012201", 8),
        (InputType.MAGNETIC_STRIPE, f"{PAN}=3013201", 3),
        (InputType.MAGNETIC_STRIPE, chip_data(), 3),
        (InputType.CHIP, chip_data()[:60], 3),
        (InputType.CHIP, chip_data(pan="4111111111111112"), 8),
        (InputType.CHIP, chip_data(exp="1330"), 3),
        (InputType.CHIP, TRACK2, 3),
        (InputType.CONTACTLESS, "9505" + TVR, 3),
    ],
)
def test_what_a_reader_sends_is_checked_like_what_is_keyed_in(input_type: InputType, data: str, found: int) -> None:
    assert findings(input_type, CardInput(reader_data=Secret(data))) == [("reader_data", found)]


def test_a_number_beside_the_readers_data_must_be_the_same_card() -> None:
    assert findings(InputType.CHIP, an_input(reader_data=chip_data())) == []
    assert findings(InputType.CHIP, an_input(pan="4242424242424242", reader_data=chip_data())) == [("pan", 12)]


def test_no_printed_field_smuggles_the_number_out() -> None:
    data = chip_data().replace(APN.encode().hex().upper(), PAN.encode().hex()[: 2 * len(APN)].upper())
    aid_is_pan = chip_data().replace("8407" + AID, "8408" + PAN)

    for text in (data, aid_is_pan):
        chip, _ = read(InputType.CHIP, CardInput(reader_data=Secret(text)))
        assert chip is not None
        assert PAN not in f"{chip.emv} {chip.details.cardholder}"


@pytest.mark.parametrize(
    ("exp", "today", "expired"),
    [
        ("0226", date(2026, 2, 28), False),
        ("0226", date(2026, 3, 1), True),
        ("0228", date(2028, 2, 29), False),
        ("1226", date(2026, 12, 31), False),
        ("1225", date(2026, 1, 1), True),
    ],
)
def test_a_card_is_good_through_the_last_day_of_its_month(exp: str, today: date, *, expired: bool) -> None:
    assert is_expired(exp, today) == expired


def test_an_expired_card_is_found_where_its_expiry_was_read() -> None:
    keyed_in = card.expired(a_card(exp="0226"), NOW.date())
    swiped, _ = read(InputType.MAGNETIC_STRIPE, CardInput(reader_data=Secret(f"{PAN}=2602201")))

    assert swiped is not None
    assert [(found.field, found.code) for found in keyed_in] == [("card.exp", 9)]
    assert [found.field for found in card.expired(swiped, NOW.date())] == ["card.reader_data"]


@pytest.mark.parametrize(
    "changes",
    [
        {"account_id": 18},
        {"state": card.CARD_BLOCKED},
        {"status": card.CREATED},
        {"status": card.IN_VERIFICATION},
        {"status": card.FAILED},
        {"deleted": True},
        {"details": a_card(exp="0226").details},
    ],
)
def test_an_agent_pays_with_its_own_verified_card_and_with_no_other(changes: dict[str, Any]) -> None:
    assert is_usable(a_linked_card(), 17, NOW.date())
    assert not is_usable(a_linked_card(**changes), 17, NOW.date())
