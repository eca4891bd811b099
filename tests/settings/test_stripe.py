import pytest

from chalicelib.settings import SettingsError, settings
from chalicelib.settings.stripe import Account
from infra.stack import config
from infra.stack.config import ConfigError
from tests.support.giving import environment

DEPLOYED = {
    "PARTNERS": "{}",
    "KEY_ID": "k",
    "BUCKET": "b",
    "SECRET_ID": "s",
    "TABLE_PREFIX": "p-",
    "AWS_LAMBDA_FUNCTION_NAME": "f",
}


def account(stage: str, **variables: str) -> Account | None:
    with environment(STAGE=stage, ACQUIRERS="STRIPE", **DEPLOYED, **variables):
        return settings().stripe


@pytest.mark.parametrize("stage", ["local", "dev"])
def test_a_stand_in_takes_payments_where_no_real_money_is(stage: str) -> None:
    assert account(stage, STRIPE_URL="http://127.0.0.1:8420/") == Account("http://127.0.0.1:8420")
    assert account(stage, STRIPE_MOTO="on") == Account(moto=True)


@pytest.mark.parametrize(
    ("stage", "variables", "message"),
    [
        ("prod", {"STRIPE_URL": "https://stripe.example"}, "only local and dev"),
        ("pilot", {"STRIPE_URL": "https://stripe.example"}, "only local and dev"),
        ("dev", {"STRIPE_URL": "https://stripe.example/v1"}, "without a path"),
        ("dev", {"STRIPE_URL": "stripe.example"}, "without a path"),
        ("dev", {"STRIPE_URL": "https://user@stripe.example"}, "without a path"),
        ("prod", {"STRIPE_MOTO": "true"}, "on or off"),
    ],
)
def test_a_wrong_setting_stops_the_start(stage: str, variables: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        account(stage, **variables)


def test_a_stage_without_stripe_has_no_account() -> None:
    with environment(STAGE="prod", ACQUIRERS="ISO8583", ISO8583_HOST="h", **DEPLOYED), pytest.raises(SettingsError):
        settings()
    with environment(STAGE="prod", ACQUIRERS="", **DEPLOYED):
        assert settings().stripe is None


def test_the_key_is_no_setting() -> None:
    settings_of_prod = {"ACQUIRERS": "STRIPE", "MAIL_FROM": "", "STRIPE_KEY": "sk_live_1"}

    with pytest.raises(ConfigError, match="stripe-key") as refused:
        config.check({"stages": {"prod": {"environment_variables": settings_of_prod}}}, "prod")

    assert "sk_live_1" not in str(refused.value)
