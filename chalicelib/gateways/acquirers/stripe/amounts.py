"""The units in which Stripe counts money, by its table: https://docs.stripe.com/currencies#special-cases."""

from chalicelib.domain.money import Currency
from chalicelib.errors import Check, Finding

WITHOUT_DECIMALS = frozenset(
    ("BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF")
)
THREE_DECIMALS = frozenset(("BHD", "JOD", "KWD", "OMR", "TND"))
MOST_UNITS = 99_999_999  # "up to eight digits"


class UnsayableError(ValueError):
    """Stripe's units have too few decimals for the amount."""


def units(amount_minor: int, currency: Currency) -> int:
    """Return an amount of minor units in Stripe's units. Raise UnsayableError when they cannot say it exactly.

    ISK and UGX have two decimals at Stripe and none in ISO 4217, so they end in 00. A third decimal must be 0.
    """
    code = currency.code
    decimals = 0 if code in WITHOUT_DECIMALS else 3 if code in THREE_DECIMALS else 2
    shift = int(10 ** abs(decimals - currency.digits))
    said, rest = (amount_minor * shift, 0) if decimals > currency.digits else divmod(amount_minor, shift)
    if rest or (code in THREE_DECIMALS and said % 10):
        raise UnsayableError
    return said


def refuse(amount_minor: int, currency: Currency) -> tuple[Finding, ...]:
    """Return the finding about an amount that Stripe cannot take."""
    try:
        said = units(amount_minor, currency)
    except UnsayableError:
        message = f"This acquirer takes fewer decimals of {currency.code}."
        return (Finding("amount", Check.TOO_MANY_DECIMALS, message),)
    if said > MOST_UNITS:
        return (Finding("amount", Check.OUT_OF_RANGE, f"This acquirer takes amounts of at most {MOST_UNITS} units."),)
    return ()
