"""The settings of the acquirer STRIPE. Only its stages load the module. The key is in the stage's secret."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from chalicelib.domain.urls import scheme_of
from chalicelib.settings import LOCAL, SettingsError

DEV = "dev"


@dataclass(frozen=True)
class Account:
    """Our account at Stripe. Each field is the environment variable of the same name after `STRIPE_`."""

    url: str | None = None  # of a stand-in for Stripe
    moto: bool = False  # keyed payments are telephone orders


def account(environment: Mapping[str, str], stage: str) -> Account:
    """Return the account in the environment, or raise SettingsError with the name of the wrong setting."""
    return Account(_url(environment.get("STRIPE_URL") or "", stage), _moto(environment.get("STRIPE_MOTO") or "off"))


def _url(text: str, stage: str) -> str | None:
    url = text.removesuffix("/")
    if url and stage not in {LOCAL, DEV}:
        message = f"STRIPE_URL is {text}: payments there move no money, so only {LOCAL} and {DEV} take it."
        raise SettingsError(message)
    if url and not (scheme_of(url) and not urlsplit(url).path):
        message = f"STRIPE_URL is {text}; it is http(s)://host[:port] without a path."
        raise SettingsError(message)
    return url or None


def _moto(text: str) -> bool:
    if text not in {"on", "off"}:
        message = f"STRIPE_MOTO is {text}; it is on or off."
        raise SettingsError(message)
    return text == "on"
