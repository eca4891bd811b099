"""Effective settings: an agent's own setting, else its merchant's, else the default."""

from collections.abc import Collection
from dataclasses import fields, replace
from typing import TypeVar

from chalicelib.domain.agent import Features, MobileSettings, PrinterSettings

S = TypeVar("S", Features, MobileSettings, PrinterSettings)

DEFAULT_FEATURES = Features(
    accept_cards=True,
    accept_cash=True,
    accept_prepaid=False,
    accept_credit=False,
    accept_outer_card=False,
    show_inventory=False,
    regular_payments=False,
    offline=False,
    async_cash_processing=False,
    internal_update=False,
    auto_login=False,
    inherited=False,
    change_client_logo=False,
    barcode_scanner=False,
)
DEFAULTS = MobileSettings(
    features=DEFAULT_FEATURES,
    allow_linked_cards=1,
    allow_credit_voucher_reverses=0,
    service_pay_dashboard=False,
    mobile_app_password_store=False,
    barcode_scanner=False,
)


def effective(agent: MobileSettings | None, merchant: MobileSettings | None) -> MobileSettings:
    """Return the settings in force for an agent: every feature and every setting that has a default is set.

    If `inherited` of an agent's features is True, its own features stay stored, but its merchant's are in force. In the
    result `inherited` means that none of the features in force is the agent's own. Credit vouchers are not supported,
    so they are not allowed whatever was set.
    """
    own = (agent and agent.features) or Features()
    above = replace((merchant and merchant.features) or Features(), inherited=None)
    inherits = own.inherited is True or own in (Features(), Features(inherited=False))
    layers = (above, DEFAULT_FEATURES) if inherits else (own, above, DEFAULT_FEATURES)
    features = replace(_first_set(*layers), inherited=inherits)
    in_force = _first_set(agent or MobileSettings(), merchant or MobileSettings(), DEFAULTS)
    return replace(in_force, features=features, allow_credit_voucher_reverses=0)


def effective_printer(agent: PrinterSettings | None, merchant: PrinterSettings | None) -> PrinterSettings:
    """Return the printer of an agent: its own, else its merchant's, never a mixture of the two."""
    return agent or merchant or PrinterSettings()


def merge_settings(
    stored: MobileSettings | None, changes: MobileSettings, reset: Collection[str] = ()
) -> MobileSettings:
    """Return the stored settings with the changes applied; the settings named in `reset` are inherited again."""
    before = stored or MobileSettings()
    features = changes.features and _first_set(changes.features, before.features or Features())
    after = replace(_first_set(changes, before), features=features or before.features)
    return replace(after, **dict.fromkeys(reset))


def _first_set(*layers: S) -> S:
    """Return a value whose fields are taken from the first layer that sets them."""
    values = {}
    for field in fields(layers[0]):
        found = (value for layer in layers if (value := getattr(layer, field.name)) is not None)
        values[field.name] = next(found, None)
    return type(layers[0])(**values)
