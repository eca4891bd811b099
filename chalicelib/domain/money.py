"""Money: exact decimals in requests and answers, whole minor units inside, never rounded."""

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
        """Return the sign of a well-known currency, else its code: printed beside an amount."""
        return SIGNS.get(self.code, self.code)


class TooManyDecimalsError(ValueError):
    """An amount with more decimals than its currency has."""


class OutOfRangeError(ValueError):
    """An amount that is not above zero, or above the largest amount of one payment."""


def to_minor(amount: Decimal, currency: Currency) -> int:
    """Return an amount in minor units.

    Raise OutOfRangeError unless it is above zero and at most 10^12 minor units, TooManyDecimalsError when it has more
    decimals than the currency.
    """
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
    """Return an amount as an exact decimal with the currency's digits: 1230 minor units of ZAR are 12.30."""
    return Decimal(amount_minor).scaleb(-currency.digits)


def text(amount_minor: int, currency: Currency) -> str:
    """Return an amount for people: R 12.30."""
    return f"{currency.sign} {from_minor(amount_minor, currency):,f}"
