from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis.strategies import decimals, integers, sampled_from

from chalicelib.domain.money import (
    MAX_MINOR,
    Currency,
    OutOfRangeError,
    TooManyDecimalsError,
    canonical,
    from_minor,
    smallest_coin,
    text,
    to_minor,
)

ZAR = Currency("ZAR", "710", 2)
JPY = Currency("JPY", "392", 0)
KWD = Currency("KWD", "414", 3)


@pytest.mark.parametrize(
    ("code", "coin"), [("ILS", 10), ("ZAR", 10), ("CHF", 5), ("AED", 25), ("DKK", 50), ("SEK", 100), ("USD", 1)]
)
def test_cash_is_rounded_to_the_smallest_coin_in_use(code: str, coin: int) -> None:
    assert smallest_coin(Currency(code, "999", 2)) == coin


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [
        ("0.1", ZAR, 10),
        ("10.10", ZAR, 1010),
        ("9999999999.99", ZAR, 999999999999),
        ("5", JPY, 5),
        ("5.000", JPY, 5),
        ("1.005", KWD, 1005),
    ],
)
def test_an_amount_becomes_whole_minor_units(amount: str, currency: Currency, minor: int) -> None:
    assert to_minor(Decimal(amount), currency) == minor


@pytest.mark.parametrize(
    ("amount", "currency"),
    [("0.001", ZAR), ("0.5", JPY), ("1.0001", KWD), ("1e-400", ZAR), ("0.00" + "9" * 33, ZAR)],
)
def test_more_decimals_than_the_currency_has_are_refused_not_rounded(amount: str, currency: Currency) -> None:
    with pytest.raises(TooManyDecimalsError):
        to_minor(Decimal(amount), currency)


@pytest.mark.parametrize("amount", ["0", "-0.01", "10000000000.01", "1e400", "1e400000", "NaN", "Infinity", "-0"])
def test_nothing_less_than_nothing_and_too_much_are_refused(amount: str) -> None:
    with pytest.raises(OutOfRangeError):
        to_minor(Decimal(amount), ZAR)


@given(minor=integers(1, MAX_MINOR), currency=sampled_from([ZAR, JPY, KWD]))
def test_minor_units_and_amounts_are_the_same_thing_both_ways(minor: int, currency: Currency) -> None:
    assert to_minor(from_minor(minor, currency), currency) == minor


def test_the_printed_amount_has_the_digits_of_its_currency() -> None:
    assert str(from_minor(1230, ZAR)) == "12.30"
    assert str(from_minor(1230, JPY)) == "1230"
    assert text(123456, ZAR) == "R 1,234.56"


@given(amount=decimals(allow_nan=False, allow_infinity=False), currency=sampled_from([ZAR, JPY, KWD]))
def test_an_accepted_amount_is_printed_as_it_was_sent(amount: Decimal, currency: Currency) -> None:
    try:
        minor = to_minor(amount, currency)
    except (OutOfRangeError, TooManyDecimalsError):
        return

    assert 0 < minor <= MAX_MINOR
    assert from_minor(minor, currency) == amount


@given(number=integers(1, 10**40), zeros=integers(0, 20), exponent=integers(-30, 30))
def test_equal_amounts_have_one_text_and_others_another(number: int, zeros: int, exponent: int) -> None:
    amount = Decimal((0, tuple(map(int, str(number))), exponent))
    padded = Decimal((0, (*map(int, str(number)), *([0] * zeros)), exponent - zeros))
    larger = Decimal((0, tuple(map(int, str(number + 1))), exponent))

    assert canonical(padded) == canonical(amount) != canonical(larger)
    assert Decimal(canonical(amount)) == amount
