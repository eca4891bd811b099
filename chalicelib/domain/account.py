"""What an account may take payments with, as its application asks for it."""

from dataclasses import dataclass

from chalicelib.domain.agent import MobileSettings
from chalicelib.domain.transaction import KINDS, InputType


@dataclass(frozen=True)
class PaymentOption:
    """One way to pay: its InputType, and the acquirer code that goes with it."""

    input_type: InputType
    acquirer_code: str


def payment_options(effective: MobileSettings, card_acquirer: str | None) -> tuple[PaymentOption, ...]:
    """One option for each kind of payment that is enabled.

    `effective` are the settings in force; `card_acquirer` takes the cards of the stage, None when nobody does.
    """
    return tuple(
        PaymentOption(input_type, acquirer)
        for input_type, kind in KINDS.items()
        if is_enabled(kind.feature, effective) and (acquirer := kind.acquirer or card_acquirer)
    )


def is_enabled(feature: str, effective: MobileSettings) -> bool:
    """Whether the feature that gates a kind is on: one of the features, or a setting beside them."""
    where = effective.features if hasattr(effective.features, feature) else effective
    return bool(getattr(where, feature))
