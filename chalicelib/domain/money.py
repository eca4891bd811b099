"""Money: exact decimals outside, whole minor units inside, no rounding on the way."""

from dataclasses import dataclass
from decimal import Decimal

MAX_MINOR = 10**12  # the largest amount of one payment, in minor units
SIGNS = {"ZAR": "R", "USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "NGN": "₦", "KES": "KSh", "RUB": "₽"}


@dataclass(frozen=True)
class Currency:
    """A currency as ISO 4217 lists it: alpha code, numeric code, digits after the decimal point."""

    code: str
    number: str
    digits: int

    @property
    def sign(self) -> str:
        """What is printed beside an amount: its sign where it is well known, its code elsewhere."""
        return SIGNS.get(self.code, self.code)


class TooManyDecimalsError(ValueError):
    """An amount is finer than its currency."""


class OutOfRangeError(ValueError):
    """An amount is not above zero, or is above what one payment may move."""


def to_minor(amount: Decimal, currency: Currency) -> int:
    """`amount` in minor units: above zero, at most 10^12, with no more decimals than the currency has."""
    if not amount.is_finite() or amount <= 0 or amount.adjusted() > len(str(MAX_MINOR)):
        raise OutOfRangeError
    exponent = amount.normalize().as_tuple().exponent
    if isinstance(exponent, int) and -exponent > currency.digits:
        raise TooManyDecimalsError
    minor = int(amount.scaleb(currency.digits))
    if minor > MAX_MINOR:
        raise OutOfRangeError
    return minor


def from_minor(amount_minor: int, currency: Currency) -> Decimal:
    """`amount_minor` as the exact decimal that is printed: 1230 minor units of ZAR are 12.30."""
    return Decimal(amount_minor).scaleb(-currency.digits)


def text(amount_minor: int, currency: Currency) -> str:
    """An amount for people: R 12.30."""
    return f"{currency.sign} {from_minor(amount_minor, currency):,f}"
