from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.agent import MobileSettings, PrinterSettings
from chalicelib.domain.effective_settings import (
    PaymentOption,
    effective,
    effective_printer,
    merge_settings,
    payment_options,
)
from chalicelib.domain.kinds import DEFAULT_FEATURES, Features, InputType
from chalicelib.domain.permissions import DEFAULTS

FLAGS = [name for name in vars(DEFAULT_FEATURES) if name not in {"inherited", "barcode_scanner"}]
FEATURES = st.builds(Features, **{name: st.none() | st.booleans() for name in FLAGS})
SETTINGS = st.builds(
    MobileSettings,
    features=st.none() | FEATURES,
    mob_home_url=st.none() | st.text(max_size=3),
    mob_qr_url=st.none() | st.text(max_size=3),
    allow_linked_cards=st.none() | st.integers(0, 3),
    allow_credit_voucher_reverses=st.none() | st.integers(0, 3),
    service_pay_dashboard=st.none() | st.booleans(),
    mobile_app_password_store=st.none() | st.booleans(),
    barcode_scanner=st.none() | st.booleans(),
)
OTHER_SETTINGS = [name for name in vars(DEFAULTS) if name != "features"]


def effective_features(agent: MobileSettings | None, merchant: MobileSettings | None) -> Features:
    features = effective(agent, merchant).features
    assert features is not None
    return features


def test_where_nobody_set_anything_a_till_takes_cash_and_cards_gives_back_and_gives_discounts() -> None:
    settings = effective(None, None)
    features = settings.features
    assert features

    assert [name for name in FLAGS if getattr(features, name)] == [
        *("accept_cards", "accept_cash", "returns", "discounts")
    ]
    assert settings.allow_linked_cards == 1
    assert settings.allow_credit_voucher_reverses == 0


@given(own=FEATURES, above=FEATURES)
def test_a_feature_is_the_agents_own_else_its_merchants_else_the_default(own: Features, above: Features) -> None:
    shown = effective_features(MobileSettings(features=own), MobileSettings(features=above))

    for name in FLAGS:
        layers = (getattr(layer, name) for layer in (own, above, DEFAULT_FEATURES))
        assert getattr(shown, name) is next(value for value in layers if value is not None)


@given(own=SETTINGS, above=SETTINGS)
def test_a_setting_is_the_agents_own_else_its_merchants_else_the_default_but_no_voucher_is_reversed(
    own: MobileSettings, above: MobileSettings
) -> None:
    shown = effective(own, above)

    for name in OTHER_SETTINGS:
        layers = [getattr(layer, name) for layer in (own, above, DEFAULTS)]
        wanted = next((value for value in layers if value is not None), None)
        assert getattr(shown, name) == (0 if name == "allow_credit_voucher_reverses" else wanted)
    assert shown.features
    assert shown.features.barcode_scanner is shown.barcode_scanner


@given(own=st.none() | SETTINGS, above=st.none() | SETTINGS)
def test_every_feature_in_force_is_true_or_false(own: MobileSettings | None, above: MobileSettings | None) -> None:
    features = effective_features(own, above)

    assert {type(value) for value in vars(features).values()} == {bool}


@pytest.mark.parametrize(
    ("own", "inherited"),
    [
        (None, True),
        (Features(), True),
        (Features(inherited=False), True),
        (Features(accept_cash=False), False),
        (Features(accept_cash=False, inherited=True), True),
    ],
)
def test_inherited_says_that_no_feature_in_force_is_the_agents_own(own: Features | None, inherited: bool) -> None:  # noqa: FBT001
    assert effective_features(MobileSettings(features=own), None).inherited is inherited


def test_an_agent_that_inherits_keeps_its_own_features_for_later() -> None:
    own = MobileSettings(features=Features(accept_credit=True, inherited=True))

    assert effective_features(own, None).accept_credit is False
    assert effective_features(
        merge_settings(own, MobileSettings(features=Features(inherited=False))), None
    ).accept_credit


def test_a_merchant_inherits_from_nobody() -> None:
    above = MobileSettings(features=Features(accept_credit=True, inherited=True))

    assert effective_features(None, above).accept_credit is True


@given(own=st.none() | SETTINGS, changes=SETTINGS)
def test_a_merge_changes_only_what_the_request_sets(own: MobileSettings | None, changes: MobileSettings) -> None:
    after = merge_settings(own, changes)

    for name in OTHER_SETTINGS:
        given_value = getattr(changes, name)
        assert getattr(after, name) == (getattr(own, name, None) if given_value is None else given_value)
    for name in FLAGS:
        given_value = getattr(changes.features, name, None)
        before = getattr(own.features if own else None, name, None)
        assert getattr(after.features, name, None) == (before if given_value is None else given_value)


def test_a_setting_that_is_reset_is_the_merchants_again() -> None:
    own = MobileSettings(mob_home_url="https://till.example")
    above = MobileSettings(mob_home_url="https://shop.example")
    after = merge_settings(own, MobileSettings(), {"mob_home_url"})

    assert after.mob_home_url is None
    assert effective(after, above).mob_home_url == "https://shop.example"


def test_a_printer_is_never_half_of_one_and_half_of_another() -> None:
    own, above = PrinterSettings(1, "ESCPOS58"), PrinterSettings(2, "ESCPOS80")

    assert effective_printer(own, above) == own
    assert effective_printer(None, above) == above
    assert effective_printer(None, None) == PrinterSettings()


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
        ("accept_prepaid", [PaymentOption(InputType.PREPAID, "PREPAID", "Prepaid")]),
        ("accept_credit", [PaymentOption(InputType.ON_ACCOUNT, "CREDIT", "On account")]),
        ("accept_outer_card", [PaymentOption(InputType.OUTER_CARD, "OUTERCARD", "Card on another terminal")]),
        ("accept_cards", [PaymentOption(kind, *SANDBOX) for kind in CARDS]),
        ("allow_linked_cards", [PaymentOption(InputType.LINKED_CARD, *SANDBOX)]),
    ],
)
def test_each_enabled_kind_is_an_option_under_its_input_type(feature: str, options: list[PaymentOption]) -> None:
    assert list(payment_options(_with(feature), None, lambda _: SANDBOX)) == options


def test_nothing_enabled_is_no_option() -> None:
    assert payment_options(NOTHING, None, lambda _: SANDBOX) == ()


@pytest.mark.parametrize("feature", ["accept_cards", "allow_linked_cards"])
def test_a_stage_without_a_card_acquirer_offers_no_cards(feature: str) -> None:
    assert payment_options(_with(feature), None, lambda _: None) == ()
