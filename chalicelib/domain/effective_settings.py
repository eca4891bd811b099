"""The features and settings in force for an agent, and the ways to pay that they enable."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from chalicelib.domain.agent import Agent, MobileSettings, PrinterSettings
from chalicelib.domain.kinds import KINDS, Features, InputType
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.money import Currency
from chalicelib.domain.permissions import is_enabled, layers_of

S = TypeVar("S", Features, MobileSettings, PrinterSettings)

NO_FEATURES = Features()


def effective(agent: MobileSettings | None, merchant: MobileSettings | None) -> MobileSettings:
    """Return the settings in force for an agent: every feature, and every setting with a default, has a value.

    In the result `inherited` means that no feature in force is the agent's own. Credit vouchers are never allowed,
    because they are not supported. BarcodeScanner is a setting, and the features show it.
    """
    settings, of_features = layers_of(agent, merchant)
    own = (agent and agent.features) or NO_FEATURES
    inherits = own.inherited is True or replace(own, inherited=None) == NO_FEATURES
    in_force = _first_set(*settings)
    features = replace(_first_set(*of_features), inherited=inherits, barcode_scanner=in_force.barcode_scanner)
    return replace(in_force, features=features, allow_credit_voucher_reverses=0)


def effective_printer(agent: PrinterSettings | None, merchant: PrinterSettings | None) -> PrinterSettings:
    """Return the printer of an agent: its own, else its merchant's, never a mixture of both."""
    return agent or merchant or PrinterSettings()


def merge_settings(
    stored: MobileSettings | None, changes: MobileSettings, reset: Collection[str] = ()
) -> MobileSettings:
    """Return the stored settings with the changes. Settings named in `reset` are inherited again."""
    before = stored or MobileSettings()
    features = changes.features and _first_set(changes.features, before.features or Features())
    after = replace(_first_set(changes, before), features=features or before.features)
    return replace(after, **dict.fromkeys(reset))


def _first_set(*layers: S) -> S:
    """Return a record in which each field has the value of the first layer that sets it."""
    values = {}
    for field in fields(layers[0]):
        found = (value for layer in layers if (value := getattr(layer, field.name)) is not None)
        values[field.name] = next(found, None)
    return type(layers[0])(**values)


@dataclass(frozen=True)
class PaymentOption:
    """A way to pay: its InputType and its acquirer."""

    input_type: InputType
    acquirer_code: str
    acquirer_name: str


@dataclass(frozen=True)
class Account:
    """An account, its merchant, and the currency of its payments. A system user has no merchant of its own."""

    agent: Agent
    merchant: Merchant | None
    currency: Currency | None


@dataclass(frozen=True)
class AccountConfiguration(Account):
    """An account and its ways to pay. `products` are the ProductDescCodes that payment/prepare serves."""

    options: tuple[PaymentOption, ...]
    products: tuple[str, ...]


def payment_options(
    agent: MobileSettings | None,
    merchant: MobileSettings | None,
    card_acquirer: Callable[[InputType], tuple[str, str] | None],
) -> tuple[PaymentOption, ...]:
    """Return one option for each kind of payment that is enabled for an agent.

    `card_acquirer` returns the code and name of the stage's card acquirer for a kind of payment, if there is one. A
    kind without an acquirer has its own name instead.
    """
    return tuple(
        PaymentOption(input_type, *acquirer)
        for input_type, kind in sorted(KINDS.items())
        if is_enabled(kind.feature, agent, merchant)
        and (acquirer := (kind.acquirer, kind.name) if kind.acquirer else card_acquirer(input_type))
    )
