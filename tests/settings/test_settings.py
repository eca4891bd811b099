"""Settings read from the environment: partners, origins, schemes, the sweep."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.domain.sign_in import Scheme
from chalicelib.settings import OF_THE_LOCAL_STAGE, ORIGIN, Partner, SettingsError, settings
from infra.stack import resources
from tests.support.origins import allowed


@pytest.fixture(autouse=True)
def read_again() -> Iterator[None]:
    outside.forget()
    yield
    outside.forget()


def partners(monkeypatch: pytest.MonkeyPatch, registry: Any, stage: str = "dev") -> dict[str, Partner]:
    monkeypatch.setenv("STAGE", stage)
    monkeypatch.setenv("PARTNERS", registry if isinstance(registry, str) else json.dumps(registry))
    outside.forget()
    return dict(settings().partners)


def test_partners_are_registered_by_product(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = {
        "Insurance": {"url": "https://insurer.example:8443/v1/prepare?from=till", "timeout_seconds": 2.5},
        "Airtime": {"url": "https://air.example"},
    }

    assert partners(monkeypatch, registry) == {
        "Insurance": Partner("Insurance", "https://insurer.example:8443/v1/prepare?from=till", 2.5),
        "Airtime": Partner("Airtime", "https://air.example", 5),
    }


def test_without_the_setting_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert partners(monkeypatch, "") == {}


def test_plain_http_is_for_the_local_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = {"Insurance": {"url": "http://127.0.0.1:5000/prepare"}}

    assert partners(monkeypatch, registry, "local")
    with pytest.raises(SettingsError, match="Insurance"):
        partners(monkeypatch, registry, "dev")


@pytest.mark.parametrize(
    "url",
    [
        None,
        5,
        "",
        "insurer.example",
        "//insurer.example",
        "ftp://insurer.example",
        "https://",
        "https:///prepare",
        "https://user:password@insurer.example/",
        "https://insurer.example@evil.example/",
        "https://insurer.example:99999/",
        "https://insurer.example:0/",
        "https://insurer.example/#part",
        "https://insurer.example/a b",
        "https://insurer.example/\r\nX-Header: 1",
        "https://insurer.example/\n",
        "https://versicherung-ü.example/",
    ],
)
def test_a_stage_does_not_start_with_a_wrong_url(monkeypatch: pytest.MonkeyPatch, url: Any) -> None:
    with pytest.raises(SettingsError, match="the url of Insurance"):
        partners(monkeypatch, {"Insurance": {"url": url}})


@pytest.mark.parametrize("seconds", [0, -1, 20.1, 10**9, "5", True, None, [], float("nan"), float("inf")])
def test_a_stage_does_not_start_with_a_wrong_timeout(monkeypatch: pytest.MonkeyPatch, seconds: Any) -> None:
    with pytest.raises(SettingsError, match="the timeout_seconds of Insurance"):
        partners(monkeypatch, {"Insurance": {"url": "https://insurer.example", "timeout_seconds": seconds}})


@pytest.mark.parametrize("registry", ["{", "[]", "null", '"text"', '{"Insurance": "https://insurer.example"}'])
def test_a_stage_does_not_start_with_something_else(monkeypatch: pytest.MonkeyPatch, registry: str) -> None:
    with pytest.raises(SettingsError, match="PARTNERS"):
        partners(monkeypatch, registry)


PARAMETER = resources.definition()["Parameters"]["AllowedOrigins"]
PATTERN = PARAMETER["AllowedPattern"]


def test_a_stage_allows_no_origin_unless_it_names_one() -> None:
    assert settings().allowed_origins == ()
    assert PARAMETER["Default"] == ""
    assert re.fullmatch(PATTERN, "")
    assert f"({ORIGIN}(,{ORIGIN})*)?" == PATTERN


@pytest.mark.parametrize(
    "text",
    [
        "https://shop.example",
        "https://shop.example:8443",
        "https://shop.example:4433,https://xn--bcher-kva.example",
        "http://localhost",
        "http://localhost:3000,http://127.0.0.1:5173,https://a",
    ],
)
def test_an_origin_is_named_as_a_browser_writes_it(text: str) -> None:
    with allowed(text):
        assert settings().allowed_origins == tuple(text.split(","))
    assert re.fullmatch(PATTERN, text)


def test_a_list_of_origins_may_have_blanks_and_name_one_twice() -> None:
    with allowed(" https://a.example, https://b.example,,https://a.example "):
        assert settings().allowed_origins == ("https://a.example", "https://b.example")


@pytest.mark.parametrize(
    "text",
    [
        "*",
        "null",
        "https://*.shop.example",
        "http://shop.example",
        "http://localhost.shop.example",
        "http://127.0.0.10:80",
        "https://shop.example/",
        "https://shop.example/pay",
        "https://Shop.example",
        "https://shop.example:443",
        "http://localhost:80",
        "https://shop.example:0",
        "https://user@shop.example",
        'https://a.example"])#set($x=1)',
        "https://a.example\nhttps://b.example",
        "shop.example",
        "https://a.example;https://b.example",
    ],
)
def test_what_no_browser_would_send_as_an_origin_stops_the_stage_and_the_deployment(text: str) -> None:
    with allowed(text), pytest.raises(SettingsError, match="ALLOWED_ORIGINS names"):
        settings()
    assert not re.fullmatch(PATTERN, text)


COUNTRIES = resources.definition()["Parameters"]["SmsCountries"]["AllowedPattern"]


@pytest.mark.parametrize(("text", "countries"), [("", set()), ("ZA", {"ZA"}), ("ZA,NA,GB", {"ZA", "NA", "GB"})])
def test_a_stage_lists_the_countries_that_get_sms(
    monkeypatch: pytest.MonkeyPatch, text: str, countries: set[str]
) -> None:
    monkeypatch.setenv("SMS_COUNTRIES", text)

    assert settings().sms_countries == countries
    assert re.fullmatch(COUNTRIES, text)


@pytest.mark.parametrize("text", ["za", "ZAF", "710", "ZA;NA", "*", "Z A"])
def test_a_country_in_another_form_stops_the_stage_and_the_deployment(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("SMS_COUNTRIES", text)

    with pytest.raises(SettingsError, match="SMS_COUNTRIES names"):
        settings()
    assert not re.fullmatch(COUNTRIES, text)


@pytest.mark.parametrize(
    ("text", "schemes"), [("", set(Scheme)), ("Basic", {"Basic"}), ("Basic, Session", {"Basic", "Session"})]
)
def test_a_stage_lists_its_schemes(monkeypatch: pytest.MonkeyPatch, text: str, schemes: set[str]) -> None:
    monkeypatch.setenv("AUTH_SCHEMES", text)

    assert settings().auth_schemes == schemes


@pytest.mark.parametrize("name", ["STAGE", "TABLE_PREFIX", "KEY_ID", "BUCKET", "SECRET_ID"])
@pytest.mark.parametrize("value", [None, ""])
def test_a_stage_without_a_required_setting_does_not_start(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str | None
) -> None:
    for one, text in OF_THE_LOCAL_STAGE.items():
        monkeypatch.setenv(one, text)
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "APIHandler")
    monkeypatch.delenv(name) if value is None else monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError, match=rf"The setting {name} is missing from the environment\."):
        settings()


def test_outside_lambda_what_is_missing_is_the_local_stages_unless_another_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (*OF_THE_LOCAL_STAGE, "PARTNERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TABLE_PREFIX", "mine-")

    assert (settings().stage, settings().table_prefix, settings().bucket) == (
        "local",
        "mine-",
        "payments-local-123456789012-files",
    )
    monkeypatch.setenv("STAGE", "prod")  # of an operator's shell
    outside.forget()
    assert settings().is_local
    for name, text in OF_THE_LOCAL_STAGE.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("STAGE", "dev")
    outside.forget()
    assert settings().stage == "dev"


@pytest.mark.parametrize(
    ("named", "default"), [(None, "SANDBOX"), ("", "SANDBOX"), ("SANDBOX", "SANDBOX"), ("ISO8583", None)]
)
def test_the_default_acquirer_is_one_of_the_stage(
    monkeypatch: pytest.MonkeyPatch, named: str | None, default: str | None
) -> None:
    monkeypatch.delenv("DEFAULT_ACQUIRER", raising=False)
    monkeypatch.setenv("ACQUIRERS", "SANDBOX")
    if named is not None:
        monkeypatch.setenv("DEFAULT_ACQUIRER", named)

    if default is not None:
        assert settings().default_acquirer == default
        return
    with pytest.raises(SettingsError, match="DEFAULT_ACQUIRER is ISO8583, which ACQUIRERS does not name"):
        settings()


def test_a_stage_that_lists_a_scheme_there_is_not_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTH_SCHEMES", "Basic,Bearer")

    with pytest.raises(SettingsError, match="Bearer"):
        settings()


@pytest.mark.parametrize(("text", "number"), [("", 16), ("1", 1), ("64", 64)])
def test_a_stage_limits_payments_swept_at_once(monkeypatch: pytest.MonkeyPatch, text: str, number: int) -> None:
    monkeypatch.setenv("SWEEP_CONCURRENCY", text)

    assert settings().sweep_concurrency == number


@pytest.mark.parametrize("text", ["0", "65", "-1", "many", "1.5", "\u0661"])
def test_a_stage_that_names_another_number_does_not_start(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SWEEP_CONCURRENCY", text)

    with pytest.raises(SettingsError, match="SWEEP_CONCURRENCY"):
        settings()


WRONG_SENDERS = ["receipts", "receipts@", "@shop.example", "receipts@shop", "a b@shop example.com", "a@b..example"]
WRONG_SENDERS += ["Shop <a@b.example", "a@b.example>", "a@b.example,c@d.example", "<a@b.example>"]


@pytest.mark.parametrize("text", WRONG_SENDERS)
def test_a_sender_of_e_mails_that_is_no_address_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("MAIL_FROM", text)

    with pytest.raises(SettingsError, match="MAIL_FROM is"):
        settings()


@pytest.mark.parametrize("text", ["receipts@shop.example", "The shop <receipts@shop.example>"])
def test_a_sender_of_e_mails_may_have_a_name(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("MAIL_FROM", text)

    assert settings().mail_from == text


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("AUTH_ACCOUNT_SECONDS", ["-5", "86401", "ten", "1.5", "\u0661"]),
        ("SANDBOX_LATENCY_MS", ["-1", "29001", "slow", "+1"]),
    ],
)
def test_a_number_out_of_its_range_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, wrong: list[str]) -> None:
    for text in wrong:
        monkeypatch.setenv(name, text)
        outside.forget()
        with pytest.raises(SettingsError, match=f"{name} is .*; it is a number from 0 to"):
            settings()


def test_a_number_may_be_the_least_and_the_most_of_its_range(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    for seconds, milliseconds in (("", ""), ("0", "0"), ("86400", "29000")):
        monkeypatch.setenv("AUTH_ACCOUNT_SECONDS", seconds)
        monkeypatch.setenv("SANDBOX_LATENCY_MS", milliseconds)
        outside.forget()
        read.append((settings().auth_account_seconds, settings().sandbox_latency_ms))

    assert read == [(600, 0), (0, 0), (86_400, 29_000)]


@pytest.mark.parametrize(
    "text", ["{1:x}", "[]", "null", '{"one": "ESCPOS58"}', '{"1": 58}', '{"1": ""}', '{"1": null}', '{"-1": "A"}']
)
@pytest.mark.parametrize(("name", "what"), [("PRINTERS", "codes"), ("INSTITUTIONS", "names")])
def test_a_table_by_number_in_another_form_is_refused(
    monkeypatch: pytest.MonkeyPatch, text: str, name: str, what: str
) -> None:
    monkeypatch.setenv(name, text)

    with pytest.raises(SettingsError, match=re.escape(f"{name} is {text}; it is a JSON object of {what} by number")):
        settings()


@pytest.mark.parametrize(("text", "printers"), [("", {}), ("{}", {}), ('{"1": "ESCPOS58"}', {1: "ESCPOS58"})])
def test_printers_are_read_by_number(monkeypatch: pytest.MonkeyPatch, text: str, printers: dict[int, str]) -> None:
    monkeypatch.setenv("PRINTERS", text)

    assert settings().printers == printers


@pytest.mark.parametrize(
    "text",
    [
        "A very long sender name",
        "TwelveLetter",
        "My shop",
        "12345",
        "1-2",
        "-Shop",
        "Shop-",
        "-",
        "K\u00e4se",
        "+27829876543",
    ],
)
def test_a_sender_of_sms_that_sns_refuses_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SMS_SENDER", text)

    with pytest.raises(
        SettingsError, match=re.escape(f"SMS_SENDER is {text}; it is 1 to 11 letters, digits and hyphens")
    ):
        settings()


@pytest.mark.parametrize("text", ["A", "ElevenChars", "24-x", "My-Shop-24"])
def test_a_sender_of_sms_is_a_short_name(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SMS_SENDER", text)

    assert settings().sms_sender == text


@pytest.mark.parametrize("text", ["True", "1", "yes", "TRUE "])
def test_a_switch_in_another_form_stops_the_stage(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SYSTEM_USERS_NEED_TOTP", text)

    with pytest.raises(SettingsError, match="SYSTEM_USERS_NEED_TOTP is"):
        settings()
