"""Stripe's codes of declines, as response codes of ISO 8583.

Sources: D is https://docs.stripe.com/declines/codes (`decline_code`), E is https://docs.stripe.com/error-codes (`code`
of an error). The pages describe each code in words; ISO 8583 field 39 has the nearest meaning.
"""

from collections.abc import Mapping
from typing import Any

DO_NOT_HONOUR = 5
INVALID_AMOUNT = 13
AUTHENTICATION = 65
CODES: Mapping[str, int] = {
    "incorrect_number": 14,  # D E
    "invalid_number": 14,  # D E
    "lost_card": 41,  # D
    "stolen_card": 43,  # D
    "insufficient_funds": 51,  # D E
    "expired_card": 54,  # D E
    "card_not_supported": 57,  # D
    "currency_not_supported": 57,  # D
    "fraudulent": 59,  # D
    "card_velocity_exceeded": 61,  # D
    "authentication_not_handled": AUTHENTICATION,  # D, no longer listed
    "authentication_required": AUTHENTICATION,  # D E
    "incorrect_pin": AUTHENTICATION,  # D
    "invalid_pin": AUTHENTICATION,  # D
    "mobile_device_authentication_required": AUTHENTICATION,  # D
    "offline_pin_required": AUTHENTICATION,  # D
    "online_or_offline_pin_required": AUTHENTICATION,  # D
    "payment_intent_action_required": AUTHENTICATION,  # E
    "payment_intent_authentication_failure": AUTHENTICATION,  # E
    "pin_try_exceeded": AUTHENTICATION,  # D
    "setup_intent_authentication_failure": AUTHENTICATION,  # E
    "incorrect_cvc": 82,  # D E
    "invalid_cvc": 82,  # D E
    "issuer_not_available": 91,  # D
    "try_again_later": 91,  # D
    "processing_error": 96,  # D E
}
AMOUNTS = frozenset(
    {
        "amount_too_large",  # E
        "amount_too_small",  # E
        "invalid_charge_amount",  # E
        "invalid_charge_amount_no_decimal_compatible",  # https://support.stripe.com, on whole amounts of ISK
    }
)


def code_of(error: Mapping[str, Any]) -> int:
    """Return the response code of a declined payment's error: by its `decline_code`, without one by its `code`."""
    found = error.get("decline_code") or error.get("code")
    return CODES.get(found, DO_NOT_HONOUR) if isinstance(found, str) else DO_NOT_HONOUR


def is_about_amount(error: Mapping[str, Any]) -> bool:
    """Return whether Stripe cannot take the amount."""
    return str(error.get("code")) in AMOUNTS or error.get("param") == "amount"
