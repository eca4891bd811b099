"""The kinds of payment, the features of an agent and the languages: each with its number, code, default and names.

Receipts, schemas and the OpenAPI document read this table. `make reference` writes the part of the pages from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any

ENGLISH = "en"
LANGUAGES = (ENGLISH, "af")  # of receipts and pages; each has a file in `receipts/languages`
Names = tuple[str, ...]  # one for each of LANGUAGES, in their order


class InputType(IntEnum):
    """The way the means of payment was entered."""

    MANUAL_ENTRY = 1
    MAGNETIC_STRIPE = 2
    CHIP = 3
    CONTACTLESS = 4
    LINKED_CARD = 5
    OUTER_CARD = 7
    PREPAID = 8
    ON_ACCOUNT = 9
    CASH = 10


NOT_SUPPORTED = frozenset({30, 100})  # payment links, recurring payments


@dataclass(frozen=True)
class Kind:
    """A way to pay: its names, the feature that allows it, its acquirer code, and its account in a journal."""

    names: Names
    feature: str
    acquirer: str | None = None  # None: one of the stage's card acquirers
    account: str | None = None  # None: the clearing account
    card_present: bool = True  # payment/reverse reverses it; payment/reversecnp otherwise

    @property
    def name(self) -> str:
        """Return the English name."""
        return name_in(ENGLISH, self.names)

    @property
    def needs_acquirer(self) -> bool:
        """Return whether an acquirer must be called: one of the stage's card acquirers."""
        return self.acquirer is None

    @property
    def reads_card(self) -> bool:
        """Return whether a card is read or keyed in, which the till's page cannot do."""
        return self.feature == "accept_cards"


KINDS = {  # in the order of the pages
    InputType.CASH: Kind(("Cash", "Kontant"), "accept_cash", "CASH", "cash"),
    InputType.PREPAID: Kind(("Prepaid", "Voorafbetaald"), "accept_prepaid", "PREPAID", "prepaid"),
    InputType.ON_ACCOUNT: Kind(("On account", "Op rekening"), "accept_credit", "CREDIT", "receivable"),
    InputType.OUTER_CARD: Kind(
        ("Card on another terminal", "Kaart op ander terminaal"), "accept_outer_card", "OUTERCARD"
    ),
    InputType.LINKED_CARD: Kind(("Linked card", "Gekoppelde kaart"), "allow_linked_cards", card_present=False),
    InputType.CONTACTLESS: Kind(("Card, contactless", "Kaart, kontakloos"), "accept_cards"),
    InputType.CHIP: Kind(("Card, chip", "Kaart, skyfie"), "accept_cards"),
    InputType.MAGNETIC_STRIPE: Kind(("Card, magnetic stripe", "Kaart, magneetstrook"), "accept_cards"),
    InputType.MANUAL_ENTRY: Kind(("Card, keyed in", "Kaart, ingesleutel"), "accept_cards", card_present=False),
}
OWN_ACQUIRERS = {kind.acquirer: kind for kind in KINDS.values() if kind.acquirer}


def _feature(about: str, names: Names = (), *, default: bool = False) -> Any:
    """Return the field of a feature: its description in the OpenAPI document, and its names in the form of a till."""
    return field(default=None, metadata={"about": about, "names": names, "default": default})


@dataclass(frozen=True)
class Features:
    """The features of an agent or a merchant; None means "not set": the merchant's value applies, then the default."""

    accept_cards: bool | None = _feature("Card payments are enabled.", default=True)
    accept_cash: bool | None = _feature("Cash payments are enabled.", default=True)
    accept_prepaid: bool | None = _feature("Prepaid payments are enabled.")
    accept_credit: bool | None = _feature("Payments on account are enabled.")
    accept_outer_card: bool | None = _feature("Payments taken on another card terminal may be recorded.")
    returns: bool | None = _feature(
        "The agent may reverse payments. Without it payment/reverse and payment/reversecnp answer 311.",
        ("Gives money back", "Gee geld terug"),
        default=True,
    )
    discounts: bool | None = _feature(
        "The agent may sell with a line's Discount or a line below zero. Without it such a payment gets 311, unless "
        "it is an offline sale.",
        ("Gives discounts", "Gee afslag"),
        default=True,
    )
    show_inventory: bool | None = _feature("For the client: the inventory is shown.")
    regular_payments: bool | None = _feature(
        "For the client: regular payments are enabled in the application. The service has none."
    )
    offline: bool | None = _feature(
        "The till may sell without connection. A sale of such a till was paid, so it is taken even if this feature, or "
        "that of its kind, is off. An alarm counts such sales.",
        ("Sells without connection", "Verkoop sonder verbinding"),
    )
    async_cash_processing: bool | None = _feature(
        "For the client: cash is processed asynchronously by the application."
    )
    internal_update: bool | None = _feature("For the client: the application updates itself.")
    auto_login: bool | None = _feature(
        "The agent may have sessions that last 180 days (`Remember` at the session login).",
        ("Stays signed in", "Bly aangemeld"),
    )
    inherited: bool | None = _feature(
        "true: the features in force are the merchant's, except BarcodeScanner, which BarcodeScannerNull resets."
    )
    change_client_logo: bool | None = _feature("For the client: the application may change the merchant's logo.")
    barcode_scanner: bool | None = _feature(
        "For the client: the bar code scanner is enabled. MobileSettings.BarcodeScanner and Features.BarcodeScanner "
        "are one setting."
    )


FEATURES: Mapping[str, Mapping[str, Any]] = {one.name: one.metadata for one in fields(Features)}
DEFAULT_FEATURES = Features(**{name: feature["default"] for name, feature in FEATURES.items()})


def name_in(language: str, names: Names) -> str:
    """Return the name in a language."""
    return names[LANGUAGES.index(language)]


def language_of(tag: str | None) -> str:
    """Return the language of a tag such as af-ZA, or English if the language has no file."""
    primary = (tag or "").replace("_", "-").partition("-")[0].strip().lower()
    return primary if primary in LANGUAGES else ENGLISH
