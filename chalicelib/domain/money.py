"""Money: exact decimals in requests and answers, whole minor units inside, never rounded."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal

MAX_MINOR = 10**12  # the largest amount of one payment, in minor units
AMOUNT = {"within": range(MAX_MINOR + 1)}  # a stored amount
MAX_SHIFT = 100  # decimals: more are too many without a division
EXACT = Context(prec=64, Emin=-999999, Emax=999999)  # more digits than a request can have, so nothing is rounded
# The smallest coin in use, in minor units, of currencies whose smaller coins are gone: cash sums are rounded to it.
COINS = {
    **dict.fromkeys(("AUD", "AWG", "BAM", "BBD", "BND", "BRL", "BSD", "BWP", "CAD", "CHF", "FJD", "GEL", "GTQ"), 5),
    **dict.fromkeys(("MYR", "PGK", "SGD", "TRY", "TTD", "XCD", "XCG"), 5),
    **dict.fromkeys(
        ("BOB", "CLP", "HKD", "ILS", "LSL", "MOP", "MXN", "NAD", "NZD", "PEN", "SBD", "SZL", "WST", "ZAR"), 10
    ),
    **dict.fromkeys(("AED", "QAR", "THB"), 25),
    **dict.fromkeys(("DKK", "UAH"), 50),
    **dict.fromkeys(("BDT", "CZK", "DOP", "GYD", "INR", "JMD", "KES", "LKR", "MKD", "NOK", "NPR", "PKR", "RSD"), 100),
    **dict.fromkeys(("SEK", "TWD", "UYU"), 100),
    **dict.fromkeys(("CRC", "HUF"), 500),
    **dict.fromkeys(("AMD",), 1000),
    **dict.fromkeys(("COP", "IDR", "TZS"), 5000),
}
EURO, ROUNDED_EURO = "EUR", 5
ROUNDING_EURO = frozenset({"BE", "EE", "FI", "IE", "IT", "LT", "NL", "SK"})  # countries without coins of 1 and 2 cents
SIGNS = {"ZAR": "R", "USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "NGN": "₦", "KES": "KSh", "RUB": "₽"}


@dataclass(frozen=True)
class Currency:
    """A currency as ISO 4217 lists it: alpha code, numeric code, digits after the decimal point."""

    code: str
    number: str
    digits: int = field(metadata={"within": range(5)})

    @property
    def unit(self) -> str:
        """Return it with its digits, as the names of numbers have it: 2ZAR."""
        return f"{self.digits}{self.code}"

    @property
    def sign(self) -> str:
        """Return the sign of a well-known currency, else its code."""
        return SIGNS.get(self.code, self.code)


class TooManyDecimalsError(ValueError):
    """An amount has more decimals than its currency."""


class OutOfRangeError(ValueError):
    """An amount is not above zero, or above the largest amount of one payment."""


def to_minor(amount: Decimal, currency: Currency) -> int:
    """Return an amount in minor units.

    Raise OutOfRangeError unless it is above zero and at most 10^12 minor units. Raise TooManyDecimalsError when it has
    more decimals than the currency.
    """
    sign, digits, exponent = amount.as_tuple()
    if sign or not isinstance(exponent, int) or amount.adjusted() > len(str(MAX_MINOR)):
        raise OutOfRangeError
    number, shift = int("".join(map(str, digits))), exponent + currency.digits
    if shift < -MAX_SHIFT:  # finer than any currency, or zero
        raise TooManyDecimalsError if number else OutOfRangeError
    minor, rest = (number * 10**shift, 0) if shift >= 0 else divmod(number, 10**-shift)
    if rest:
        raise TooManyDecimalsError
    if not 0 < minor <= MAX_MINOR:
        raise OutOfRangeError
    return int(minor)


def canonical(amount: Decimal) -> str:
    """Return one text for equal amounts, without rounding, for fingerprints."""
    return str(amount.normalize(EXACT))


def from_minor(amount_minor: int, currency: Currency) -> Decimal:
    """Return an amount as an exact decimal with the currency's digits: 1230 minor units of ZAR are 12.30."""
    return amount_minor * minor_unit(currency)


def minor_unit(currency: Currency) -> Decimal:
    """Return the minor unit of a currency as an exact decimal: 0.01 for ZAR. It converts several amounts at once."""
    return Decimal(1).scaleb(-currency.digits)


def rounded(amount: Decimal, currency: Currency) -> int:
    """Return an exact amount in minor units, rounded half up; a half below zero is rounded away from zero."""
    return int(amount.scaleb(currency.digits, EXACT).to_integral_value(ROUND_HALF_UP))


def smallest_coin(currency: Currency, country: str | None = None) -> int:
    """Return the smallest coin in use, in minor units. Without a country (alpha-2), return that of any country."""
    if currency.code == EURO and (country is None or country in ROUNDING_EURO):
        return ROUNDED_EURO
    return COINS.get(currency.code, 1)


def text(amount_minor: int, currency: Currency) -> str:
    """Return an amount for people: R 12.30."""
    return f"{currency.sign} {from_minor(amount_minor, currency):,f}"


def amount_in(currency: str | None, taken: Iterable[tuple[str, int, int]]) -> Decimal:
    """Return AmountCvt: the sum of the payments in the merchant's currency. Currencies are never added.

    Each of `taken` is a currency, its decimals and minor units. A merchant without a currency gets the currency of its
    payments, if they have only one.
    """
    amounts = [(code, Decimal(minor).scaleb(-digits)) for code, digits, minor in taken if minor]
    currencies = {code for code, _ in amounts}
    own = currency or (currencies.pop() if len(currencies) == 1 else None)
    return sum((amount for code, amount in amounts if code == own), Decimal())
