"""The settings of a stage. The environment is read once, and only here."""

import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chalicelib import outside
from chalicelib.domain.request_time import GATEWAY_SECONDS
from chalicelib.domain.sign_in import Scheme
from chalicelib.domain.urls import OWN_MACHINE, scheme_of

if TYPE_CHECKING:
    from chalicelib.settings.iso8583 import Host
    from chalicelib.settings.stripe import Account

LOCAL = "local"
PROD = "prod"
SANDBOX = "SANDBOX"
ISO8583 = "ISO8583"
STRIPE = "STRIPE"
ACQUIRERS = (SANDBOX, ISO8583, STRIPE)

# An origin as browsers send it, and http only on a developer's machine. CloudFormation checks this pattern too.
ORIGIN = (
    r"(https://[a-z0-9]+(-+[a-z0-9]+)*(\.[a-z0-9]+(-+[a-z0-9]+)*)*(?!:443(?![0-9]))|http://(localhost|127\.0\.0\.1)(?!:80(?![0-9])))"
    r"(:[1-9][0-9]{0,4})?"
)
MAIL = r"[^@<>,\s]+@[^@<>,\s.]+(\.[^@<>,\s.]+)+"
MAIL_FROM = rf"{MAIL}|[^<>]+<{MAIL}>"
PARTNER_SECONDS = 20  # the longest timeout of a partner: the whole request has GATEWAY_SECONDS
MAX_MESSAGES = 1_000_000  # of a merchant a day
MAX_SWEEP_CONCURRENCY = 64  # the store's number of open connections
MAX_AUTH_ACCOUNT_SECONDS = 86_400
MAX_SANDBOX_LATENCY_MS = GATEWAY_SECONDS * 1000
MAX_SENDER = 11  # characters of a sender of SMS

# The settings of the local stage: those that are missing outside Lambda. No template has them.
OF_THE_LOCAL_STAGE = {
    "STAGE": LOCAL,
    "TABLE_PREFIX": "payments-local-",
    "KEY_ID": "alias/payments-local",
    "BUCKET": "payments-local-123456789012-files",
    "SECRET_ID": "payments-local-secret",
    "PRINTERS": '{"1": "ESCPOS58", "2": "ESCPOS80"}',
    "ACQUIRERS": SANDBOX,
    "MAIL_FROM": "receipts@payments.example",
    "SMS_SENDER": "Payments",
}
REQUIRED = {"STAGE", "TABLE_PREFIX", "KEY_ID", "BUCKET", "SECRET_ID"}


class SettingsError(Exception):
    """A setting is missing or wrong. The message is one line, which names it."""


@dataclass(frozen=True)
class Partner:
    """The partner that fills in the fields of a product. The stage's secret holds the secret for its requests."""

    product: str
    url: str
    timeout_seconds: float


@dataclass(frozen=True)
class Settings:
    """The settings of this stage. Each field is the environment variable of the same name in upper case.

    The variables of `iso8583` are the fields of `Host`, of `stripe` those of `Account`. `make package` refuses others.
    """

    stage: str
    table_prefix: str
    key_id: str
    bucket: str
    secret_id: str
    auth_schemes: frozenset[str]
    auth_account_seconds: int  # between two requests of an account for its configuration; 0: no limit
    acquirers: tuple[str, ...]  # codes of the card acquirers; empty: the stage takes no cards
    allow_sandbox: bool  # `prod` takes the acquirer SANDBOX
    default_acquirer: str | None  # the first acquirer unless configured
    sandbox_latency_ms: int  # for each answer of the acquirer SANDBOX
    iso8583: "Host | None"  # the host of the acquirer ISO8583, if it is configured
    stripe: "Account | None"  # of the acquirer STRIPE, if it is configured
    printers: Mapping[int, str]
    institutions: Mapping[int, str]  # names of financial institutions, by FInstID
    partners: Mapping[str, Partner]  # by ProductDescCode
    mail_from: str | None  # without it, no e-mail leaves the stage
    mail_configuration_set: str | None  # of SES: bounces and complaints reach the operator; set by the stack
    sms_sender: str | None  # without it, no SMS leaves the stage
    sms_countries: frozenset[str]  # alpha-2: SMS go only there; empty: to the merchant's own country
    messages_per_merchant: int  # of a day
    sweep_concurrency: int  # parallel resolutions in the sweep of payments
    allowed_origins: tuple[str, ...]  # pages of these origins may call from a browser
    plain_webhook_hosts: frozenset[str]  # of the local stage: its webhooks may have http there
    public_address: str | None  # of the stage; set by the stack, for the health probe and links in e-mails
    system_users_need_totp: bool  # a system user without a second factor may only set one up

    @property
    def is_local(self) -> bool:
        """Return whether this is the local stage, where partners may run on this machine."""
        return self.stage == LOCAL


@outside.made_once
def settings() -> Settings:
    """Return the settings; the first call reads them from the environment."""
    return outside.current.settings or _of_environment()


def _of_environment() -> Settings:
    variables = _variables()
    stage = _required(variables, "STAGE")
    allow_sandbox = _flag(variables, "ALLOW_SANDBOX")
    acquirers = _acquirers(variables.get("ACQUIRERS") or "", stage, allow_sandbox=allow_sandbox)
    webhook_hosts = _comma_separated((variables.get("WEBHOOK_HOSTS") or "").lower())
    return Settings(
        stage=stage,
        table_prefix=_required(variables, "TABLE_PREFIX"),
        key_id=_required(variables, "KEY_ID"),
        bucket=_required(variables, "BUCKET"),
        secret_id=_required(variables, "SECRET_ID"),
        auth_schemes=_schemes(variables.get("AUTH_SCHEMES") or ",".join(Scheme)),
        auth_account_seconds=_number(variables, "AUTH_ACCOUNT_SECONDS", 600, range(MAX_AUTH_ACCOUNT_SECONDS + 1)),
        acquirers=acquirers,
        allow_sandbox=allow_sandbox,
        default_acquirer=_default_acquirer(variables.get("DEFAULT_ACQUIRER"), acquirers),
        sandbox_latency_ms=_number(variables, "SANDBOX_LATENCY_MS", 0, range(MAX_SANDBOX_LATENCY_MS + 1)),
        iso8583=_iso8583(acquirers, variables),
        stripe=_stripe(acquirers, variables, stage),
        printers=_by_number(variables, "PRINTERS", 'codes by number, such as {"1": "ESCPOS58"}'),
        institutions=_by_number(variables, "INSTITUTIONS", 'names by number, such as {"1": "First Bank"}'),
        partners=_partners(variables.get("PARTNERS") or "{}", stage),
        mail_from=_mail_from(variables.get("MAIL_FROM") or ""),
        mail_configuration_set=variables.get("MAIL_CONFIGURATION_SET") or None,
        sms_sender=_sms_sender(variables.get("SMS_SENDER") or ""),
        sms_countries=_sms_countries(variables.get("SMS_COUNTRIES") or ""),
        messages_per_merchant=_number(variables, "MESSAGES_PER_MERCHANT", 2000, range(1, MAX_MESSAGES + 1)),
        sweep_concurrency=_number(variables, "SWEEP_CONCURRENCY", 16, range(1, MAX_SWEEP_CONCURRENCY + 1)),
        allowed_origins=_allowed_origins(variables.get("ALLOWED_ORIGINS") or ""),
        plain_webhook_hosts=OWN_MACHINE.union(webhook_hosts) if stage == LOCAL else frozenset(),
        public_address=variables.get("PUBLIC_ADDRESS") or None,
        system_users_need_totp=_flag(variables, "SYSTEM_USERS_NEED_TOTP"),
    )


def check() -> None:
    """Raise SettingsError for a wrong setting. End `chalice package` and `deploy` in a line unless `make` runs them."""
    if Path(sys.argv[0]).stem != "chalice" or not {"package", "deploy"} & set(sys.argv[1:]):
        _of_environment()
    elif (Path(__file__).parents[2] / "infra").exists():  # not in the folder that `make package` packs
        sys.exit("The stack has more than functions: `make package STAGE=dev` packs it, and `make deploy` deploys it.")


def _variables() -> Mapping[str, str]:
    """Return the environment; outside Lambda, unless it has all of a stage, with the settings of the local stage."""
    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ or os.environ.keys() >= REQUIRED:
        return os.environ
    return {**OF_THE_LOCAL_STAGE, **os.environ, "STAGE": LOCAL}


def is_handler(module: str) -> bool:
    """Return whether this process is the Lambda function with its handler in this module. It reads no setting."""
    return os.environ.get("_HANDLER", "").rpartition(".")[0] == module


def _comma_separated(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _acquirers(text: str, stage: str, *, allow_sandbox: bool) -> tuple[str, ...]:
    """Return the acquirers of the stage. A production stage uses the sandbox only with explicit permission."""
    named = _comma_separated(text)
    if unknown := set(named) - set(ACQUIRERS):
        message = f"ACQUIRERS names {', '.join(sorted(unknown))}; there are {', '.join(ACQUIRERS)}."
        raise SettingsError(message)
    if stage == PROD and SANDBOX in named and not allow_sandbox:
        message = f"ACQUIRERS names {SANDBOX}, which moves no money: {PROD} takes it only with ALLOW_SANDBOX=true."
        raise SettingsError(message)
    return named


def _iso8583(acquirers: tuple[str, ...], variables: Mapping[str, str]) -> "Host | None":
    """Return the host of the acquirer ISO8583. Its settings must stay until its last outcome is known."""
    if ISO8583 not in acquirers and not variables.get("ISO8583_HOST"):
        return None
    from chalicelib.settings.iso8583 import host  # noqa: PLC0415  other stages do not need it

    return host(variables, is_local=variables["STAGE"] == LOCAL)


def _stripe(acquirers: tuple[str, ...], variables: Mapping[str, str], stage: str) -> "Account | None":
    if STRIPE not in acquirers and not variables.get("STRIPE_URL"):
        return None
    from chalicelib.settings.stripe import account  # noqa: PLC0415  other stages do not need it

    return account(variables, stage)


def _default_acquirer(named: str | None, acquirers: tuple[str, ...]) -> str | None:
    if named and named not in acquirers:
        message = f"DEFAULT_ACQUIRER is {named}, which ACQUIRERS does not name."
        raise SettingsError(message)
    return named or next(iter(acquirers), None)


def _schemes(text: str) -> frozenset[str]:
    named = frozenset(word.strip() for word in text.split(","))
    if unknown := named - set(Scheme):
        message = f"AUTH_SCHEMES names {', '.join(sorted(unknown))}; there are {', '.join(Scheme)}."
        raise SettingsError(message)
    return named


def _mail_from(text: str) -> str | None:
    """Return the sender of e-mails: an address, or a name with an address in angle brackets."""
    if text and not (text.isprintable() and re.fullmatch(MAIL_FROM, text)):
        message = f"MAIL_FROM is {text}; it is an address, such as receipts@example.com."
        raise SettingsError(message)
    return text or None


def _sms_sender(text: str) -> str | None:
    """Return the sender of SMS, in the form that SNS takes as SenderID."""
    letters = text.replace("-", "a")
    is_name = len(text) <= MAX_SENDER and letters.isascii() and letters.isalnum() and text == text.strip("-")
    if text and not (is_name and any(character.isalpha() for character in text)):
        message = (
            f"SMS_SENDER is {text}; it is 1 to {MAX_SENDER} letters, digits and hyphens with at least one letter, "
            "and no hyphen at either end."
        )
        raise SettingsError(message)
    return text or None


def _sms_countries(text: str) -> frozenset[str]:
    named = frozenset(_comma_separated(text))
    if wrong := [country for country in named if not re.fullmatch("[A-Z]{2}", country)]:
        message = f"SMS_COUNTRIES names {', '.join(sorted(wrong))}; a country is two capital letters, such as ZA."
        raise SettingsError(message)
    return named


def _flag(variables: Mapping[str, str], name: str) -> bool:
    text = variables.get(name) or "false"
    if text not in {"true", "false"}:
        message = f"{name} is {text}; it is true or false."
        raise SettingsError(message)
    return text == "true"


def _number(variables: Mapping[str, str], name: str, usual: int, allowed: range) -> int:
    text = variables.get(name) or str(usual)
    if not (text.isascii() and text.isdigit() and int(text) in allowed):
        message = f"{name} is {text}; it is a number from {allowed[0]} to {allowed[-1]}."
        raise SettingsError(message)
    return int(text)


def _allowed_origins(text: str) -> tuple[str, ...]:
    named = _comma_separated(text)
    if wrong := [origin for origin in named if not re.fullmatch(ORIGIN, origin)]:
        message = (
            f"ALLOWED_ORIGINS names {', '.join(wrong)}; an origin is https://host[:port], or http://localhost[:port], "
            "in lower case and without a path."
        )
        raise SettingsError(message)
    return named


def _by_number(variables: Mapping[str, str], name: str, expected: str) -> dict[int, str]:
    text = variables.get(name) or "{}"
    with suppress(ValueError, AttributeError):
        texts = {int(number): one for number, one in json.loads(text).items()}
        if all(number > 0 and isinstance(one, str) and one.strip() for number, one in texts.items()):
            return texts
    message = f"{name} is {text}; it is a JSON object of {expected}."
    raise SettingsError(message)


def _partners(text: str, stage: str) -> dict[str, Partner]:
    try:
        return {product: _partner(product, entry, stage) for product, entry in json.loads(text).items()}
    except (ValueError, AttributeError):
        message = "PARTNERS is not a JSON object of partners by ProductDescCode."
        raise SettingsError(message) from None


def _partner(product: str, entry: dict[str, Any], stage: str) -> Partner:
    """Return the partner of a product. An invalid entry stops the start, because every request would fail."""
    url, seconds = entry.get("url"), entry.get("timeout_seconds", 5)
    scheme = scheme_of(url) if isinstance(url, str) else None
    if not (scheme == "https" or (scheme == "http" and stage == LOCAL)):
        message = f"PARTNERS: the url of {product} must be https://host[:port][/path], without credentials."
        raise SettingsError(message)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= PARTNER_SECONDS:
        message = f"PARTNERS: the timeout_seconds of {product} must be above 0 and at most {PARTNER_SECONDS}."
        raise SettingsError(message)
    return Partner(product, str(url), seconds)


def _required(variables: Mapping[str, str], name: str) -> str:
    value = variables.get(name)
    if not value:
        message = f"The setting {name} is missing from the environment."
        raise SettingsError(message)
    return value
