"""Barcodes: a wrong digit is always noticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.price_list import BARCODE_LENGTHS, compared_barcode, is_barcode

BARCODES = ("96385074", "036000291452", "6001240100011", "4006381333931", "15400141288763")


@pytest.mark.parametrize("text", BARCODES)
def test_barcodes_of_each_kind_are_accepted(text: str) -> None:
    assert is_barcode(text)


@given(text=st.sampled_from(BARCODES), place=st.integers(0, 13), by=st.integers(1, 9))
def test_one_wrong_digit_is_noticed(text: str, place: int, by: int) -> None:
    place %= len(text)
    wrong = text[:place] + str((int(text[place]) + by) % 10) + text[place + 1 :]

    assert not is_barcode(wrong)


@given(st.text(alphabet="0123456789\uff10\uff11 -", max_size=16))
def test_other_lengths_and_other_digits_are_refused(text: str) -> None:
    assert not is_barcode(text) or (len(text) in BARCODE_LENGTHS and text.isascii())


def test_the_forms_of_one_number_are_compared_as_equal() -> None:
    for text in (*BARCODES, "0036000291452"):
        assert compared_barcode(text) == f"{text:0>14}"
