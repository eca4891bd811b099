from dataclasses import replace

import pytest

from chalicelib.domain.account_features import PaymentOption, payment_options
from chalicelib.domain.agent import Features, MobileSettings
from chalicelib.domain.transaction import InputType

NOTHING = MobileSettings(
    features=Features(
        accept_cards=False, accept_cash=False, accept_prepaid=False, accept_credit=False, accept_outer_card=False
    ),
    allow_linked_cards=0,
)
SANDBOX = ("SANDBOX", "Sandbox")
CARDS = (InputType.MANUAL_ENTRY, InputType.MAGNETIC_STRIPE, InputType.CHIP, InputType.CONTACTLESS)


def _with(feature: str) -> MobileSettings:
    if feature == "allow_linked_cards":
        return replace(NOTHING, allow_linked_cards=1)
    return replace(NOTHING, features=replace(NOTHING.features or Features(), **{feature: True}))


@pytest.mark.parametrize(
    ("feature", "options"),
    [
        ("accept_cash", [PaymentOption(InputType.CASH, "CASH", "Cash")]),
        ("accept_prepaid", [PaymentOption(InputType.PREPAYMENT, "PREPAID", "Prepayment")]),
        ("accept_credit", [PaymentOption(InputType.POSTPAID, "CREDIT", "Postpaid")]),
        ("accept_outer_card", [PaymentOption(InputType.EXTERNAL_TERMINAL, "OUTERCARD", "External terminal")]),
        ("accept_cards", [PaymentOption(kind, *SANDBOX) for kind in CARDS]),
        ("allow_linked_cards", [PaymentOption(InputType.LINKED_CARD, *SANDBOX)]),
    ],
)
def test_each_enabled_kind_is_an_option_under_its_input_type(feature: str, options: list[PaymentOption]) -> None:
    assert list(payment_options(_with(feature), lambda _: SANDBOX)) == options


def test_nothing_enabled_is_no_option() -> None:
    assert payment_options(NOTHING, lambda _: SANDBOX) == ()


@pytest.mark.parametrize("feature", ["accept_cards", "allow_linked_cards"])
def test_a_stage_without_a_card_acquirer_offers_no_cards(feature: str) -> None:
    assert payment_options(_with(feature), lambda _: None) == ()
