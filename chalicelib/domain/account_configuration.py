"""The configuration of an account: the ways to pay that its application may offer."""

from collections.abc import Callable

from chalicelib.domain.agent import Agent, MobileSettings
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.transaction import KINDS, InputType
from chalicelib.record import Record


class PaymentOption(Record):
    """One way to pay: its InputType, and the acquirer that goes with it."""

    input_type: InputType
    acquirer_code: str
    acquirer_name: str


class AccountConfiguration(Record):
    """An account and its ways to pay; a system user has no merchant.

    `currency` is alpha-3; `products` are the ProductDescCodes that payment/prepare serves.
    """

    agent: Agent
    merchant: Merchant | None
    currency: str | None
    options: tuple[PaymentOption, ...]
    products: tuple[str, ...]


def payment_options(
    effective: MobileSettings, card_acquirer: Callable[[InputType], tuple[str, str] | None]
) -> tuple[PaymentOption, ...]:
    """Return one option for each kind of payment that is enabled.

    `effective` are the settings in force; `card_acquirer` returns code and name of the stage's card acquirer for a kind
    of payment, if it has one. A kind that needs no acquirer is shown with its own name instead.
    """
    return tuple(
        PaymentOption(input_type, *acquirer)
        for input_type, kind in KINDS.items()
        if is_enabled(kind.feature, effective)
        and (acquirer := (kind.acquirer, kind.name) if kind.acquirer else card_acquirer(input_type))
    )


def is_enabled(feature: str, effective: MobileSettings) -> bool:
    """Return whether a feature or setting, on which a kind of payment depends, is on."""
    owner = effective.features if hasattr(effective.features, feature) else effective
    return bool(getattr(owner, feature))
