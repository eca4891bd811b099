"""Texts of others: no card number in them is stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.card import brand_of, has_check_digit
from chalicelib.domain.masking import mask_foreign, mask_of, mask_value, numbers_in
from tests.support.cards import PAN, STEADY, TRACK2, a_card, chip_data

CARD = a_card().details
NUMBERS = st.sampled_from((PAN, STEADY, "5105105105105100", "371449635398431", "30569309025904"))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"card {STEADY}.", "card 424242******4242."),
        ("card 4242 4242 4242 4242", "card 424242******4242"),
        ("4242-4242-4242-4242 12", "424242******4242 12"),
        (f"12 {STEADY}", "12 424242******4242"),
        (f"REF001{PAN}99", "REF001411111******111199"),
        ("ref 00-4111 1111 1111 1111-9", "ref 00-411111******1111-9"),
        (f"track {TRACK2} 1", "track ;411111******1111=******? 1"),
        (f"%B{PAN}^DOE/J M^30122011000?;", "%B411111******1111^******?;"),
        ("BATCH=123;TRACE=456789", "BATCH=123;TRACE=456789"),
        ("order 9876543210987654", "order 9876543210987654"),
        ("411111******1111", "411111******1111"),
        ("", ""),
    ],
)
def test_a_card_number_is_masked_and_nothing_else(text: str, masked: str) -> None:
    assert mask_foreign(text, CARD) == masked


def test_a_chips_data_are_masked_too() -> None:
    assert PAN not in mask_foreign(f"data {chip_data()}", None)


def test_a_chips_number_of_odd_length_is_found_without_the_digit_that_fills_it_up() -> None:
    assert numbers_in("9F02060000000010005A08371449635398431F5F24033012315F280207105F3401019F3303E0F8C8") == [
        "371449635398431"
    ]


def test_the_digits_of_a_known_card_alone_are_masked() -> None:
    assert mask_of((PAN,))(f"{PAN} {PAN[:-1]} {STEADY}") == f"411111******1111 {PAN[:-1]} {STEADY}"
    assert mask_value({"a": [PAN, True, None, 1.5]}, mask_of((PAN,))) == {"a": ["411111******1111", True, None, 1.5]}


@pytest.mark.parametrize(
    "between",
    ["", " ", "  ", " - ", ".", "/", "_", ",", "\t", "\n", "\u00a0", "\u2009", "\u2013", "\u2011", "\u200b", "(", ")("],
)
def test_a_known_number_is_masked_with_anything_short_between_its_digits(between: str) -> None:
    groups = (PAN[:4], PAN[4:8], PAN[8:12], PAN[12:])

    assert mask_of((PAN,))(f"no {between.join(groups)} x") == "no 411111******1111 x"
    assert mask_of((PAN,))(f"no {between.join(PAN)} x") == "no 411111******1111 x"


FORMS = {
    "full width": "".join(map(chr, range(0xFF10, 0xFF1A))),
    "arabic": "".join(map(chr, range(0x660, 0x66A))),
    "superscript": "⁰¹²³⁴⁵⁶⁷⁸⁹",
    "subscript": "₀₁₂₃₄₅₆₇₈₉",
    "circled": "⓪①②③④⑤⑥⑦⑧⑨",
    "double circled": "0⓵⓶⓷⓸⓹⓺⓻⓼⓽",
    "black": "⓿❶❷❸❹❺❻❼❽❾",
    "with a full stop": "🄀⒈⒉⒊⒋⒌⒍⒎⒏⒐",
    "in brackets": "0⑴⑵⑶⑷⑸⑹⑺⑻⑼",
    "mathematical": "".join(map(chr, range(0x1D7D8, 0x1D7E2))),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("between", ["", " - "])
def test_a_known_number_is_masked_in_every_form_of_its_digits(form: str, between: str) -> None:
    written = between.join(FORMS[form][int(digit)] for digit in PAN)

    assert mask_of((PAN,))(f"no {written} x") == "no 411111******1111 x"
    assert mask_of((PAN,))(f"no ㊶⑪⑪⑪{PAN[8:]} x") == "no 411111******1111 x"
    assert numbers_in(FORMS["full width"][4] + PAN[1:]) == [PAN]


TAG = '<span class="x1">'


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"{PAN[:4]}--------{PAN[4:]}", "411111******1111"),
        (f"{PAN[:4]}, : ; /_{PAN[4:]}", "411111******1111"),
        (f"{PAN[:4]}---------{PAN[4:]}", f"{PAN[:4]}---------{PAN[4:]}"),
        (f"{PAN[:4]}&nbsp;{PAN[4:8]}&#160;{PAN[8:12]} &#xA0; {PAN[12:]}", "411111******1111"),
        (f"{PAN[:4]}{TAG}{PAN[4:8]}</span>{PAN[8:]}", f"411111******1111{TAG}</span>"),
        (f"<b>{PAN[:4]}</b> {PAN[4:8]}<br/>\n{PAN[8:]}.", "<b>411111******1111</b><br/>."),
        (f"{PAN[:4]}<!-- 12 -->{PAN[4:]}", "411111******1111<!-- 12 -->"),
        (f'1 <td title="{PAN}"> 2', '1 <td title="411111******1111"> 2'),
        (f"<{PAN}>, 1<b{PAN}>1", "<411111******1111>, 1<b411111******1111>1"),
        (f"{PAN[:4]}<{PAN[4:8]}>{PAN[8:]}", "411111******1111"),
    ],
)
def test_a_known_number_is_masked_with_signs_tags_and_entities_between_its_groups(text: str, masked: str) -> None:
    assert mask_of((PAN,))(text) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"{TRACK2} x", ";411111******1111=******? x"),
        (f"{PAN}D35121011234567890000 1", "411111******1111D****** 1"),
        (f"%B{PAN}^DOE/J M^30122011000?", "%B411111******1111^DOE/J M^******?"),
        (f"{PAN} Delivered 12", "411111******1111 Delivered 12"),
    ],
)
def test_the_rest_of_a_known_cards_track_is_masked(text: str, masked: str) -> None:
    assert mask_of((PAN,))(text) == masked


@pytest.mark.parametrize(
    "data",
    [
        f"5A08{PAN}5F2403351231",
        f"5A8108{PAN}5F2403351231",
        f"5A820008{PAN}",
        f"578113{PAN}D35121011234567890000F",
        f"5A08\t{PAN[:8]}\n{PAN[8:]}",
        f"5a 08 {PAN}",
    ],
)
def test_a_number_is_found_in_every_form_of_a_chips_data(data: str) -> None:
    assert numbers_in(data) == [PAN]


@given(NUMBERS, st.text(st.characters(codec="utf-8", exclude_categories=["N"]), max_size=20), st.text(max_size=20))
def test_no_text_around_it_hides_a_number(number: str, before: str, after: str) -> None:
    assert brand_of(number) is not None
    assert has_check_digit(number)
    if after[:1].isdigit():
        after = f" {after}"

    assert number not in mask_foreign(f"{before}{number}{after}", CARD)


@given(st.text(st.sampled_from("0123456789 -"), max_size=30), st.text(st.sampled_from("0123456789 -x"), max_size=30))
def test_the_cards_own_number_is_found_within_longer_numbers(before: str, after: str) -> None:
    text = f"{before}{PAN}{after}"

    assert PAN not in mask_foreign(text, CARD)
    assert mask_of((PAN,))(text).startswith(f"{before}411111******1111")
