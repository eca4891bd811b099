"""The card of a request: its data, only in memory, or the ID of a linked card; its number in the other fields."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BeforeValidator, Field

from chalicelib import exact_json
from chalicelib.domain import card, masking
from chalicelib.domain.card import CardData, CardInput
from chalicelib.domain.kinds import KINDS, InputType
from chalicelib.domain.payment import BY_DATA, BY_LINK, check_input_mode
from chalicelib.domain.secret import Secret
from chalicelib.errors import Check, Finding
from chalicelib.schemas.base import Identifier, Request, RuledRequest, SecretText, Text, validated

WithCard = TypeVar("WithCard", bound=RuledRequest)

CARD_PATHS: Mapping[str, str] = {
    "card.pan": "Card.CardDataInput.PAN",
    "card.exp": "Card.CardDataInput.EXP",
    "card.cvv2": "Card.CardDataInput.CVV2",
    "card.reader_data": "Card.CardDataInput.ReaderData",
    "card.input_mode": "Card.CardInputMode",
    "linked_card_id": "Card.LinkedCardId",
}


def _zero_is_nothing(value: object) -> object:
    is_zero = isinstance(value, int | Decimal) and not isinstance(value, bool) and value == 0
    return None if is_zero else value


MOST_READ = 4096  # characters of a card's data
Unprintable = Annotated[Annotated[SecretText, Field(max_length=MOST_READ)] | None, BeforeValidator(_zero_is_nothing)]


class CardDataInput(Request):
    """A card, only in memory: it cannot be printed and is not stored."""

    exp: Unprintable = None
    cvv2: Unprintable = Field(None, alias="CVV2")
    pan: Unprintable = None
    reader_type: Annotated[Text | None, BeforeValidator(_zero_is_nothing)] = None
    reader_data: Unprintable = None

    def to_domain(self) -> CardInput:
        """Return the unread data, in a type that cannot be printed."""
        texts = {"pan": self.pan, "exp": self.exp, "cvv2": self.cvv2, "reader_data": self.reader_data}
        return CardInput(**{name: Secret(text.get_secret_value()) for name, text in texts.items() if text is not None})


class Card(Request):
    """The card of a payment: its data, or the ID of a linked card."""

    SPELLINGS: ClassVar[Mapping[str, str]] = {"LinkedCardID": "LinkedCardId"}

    card_input_mode: Annotated[int, Field(ge=1, le=2)] | None = None
    card_data_input: CardDataInput | None = None
    linked_card_id: Identifier | None = Field(None, alias="LinkedCardId")


def numbers_in(sent: Any) -> tuple[str, ...]:
    """Return every card number in the card fields of a request, also of those at a wrong place, and as a number too."""
    texts = card_texts(sent, "pan", "readerdata")
    return tuple(number for text in texts for number in masking.numbers_in(text[:MOST_READ]))


def card_texts(sent: Any, *names: str) -> Iterator[str]:
    """Yield the texts and numbers under these names in the objects of a request."""
    for name, value in sent.items() if isinstance(sent, dict) else ():
        if name.lower() in names and isinstance(value, str | int):
            yield str(value)
        yield from card_texts(value, *names)


NOT_MASKED = ("Card", "Files")
JSON_TEXT = "ExtTransData"


def with_card_number_in_card_only(request: WithCard) -> WithCard:
    """Return the request with its card number masked outside the card fields, because some texts are stored.

    Call it after the caller is admitted. Raise VALIDATION_FAILED when a masked number does not fit its field.
    """
    sent = request.sent
    numbers = numbers_in(sent)
    if not numbers:
        return request
    mask = masking.with_secrets(masking.mask_of(numbers), card_texts(sent, "readerdata"), card_texts(sent, "cvv2"))
    kept = request.model_dump(by_alias=True, exclude_unset=True, exclude={"card", "files"})  # no unknown fields
    if isinstance(addresses := sent.get("Receipt"), dict):  # with placeholders: findings count them
        kept["Receipt"] = {name: addresses[name] for name in kept["Receipt"] if name in addresses}
    masked = _with_masked_json(masking.mask_value(kept, mask), kept, mask)
    if masked == kept:
        return request
    return validated(type(request), masked | {name: sent[name] for name in NOT_MASKED if name in sent})


def _with_masked_json(masked: dict[str, Any], sent: dict[str, Any], mask: masking.Mask) -> dict[str, Any]:
    """Return the masked request with its JSON text masked value by value, so that it remains JSON."""
    basic = sent.get("BasicTran")
    text = basic.get(JSON_TEXT) if isinstance(basic, dict) else None
    if not text:
        return masked
    value = exact_json.read(text)
    hidden = masking.mask_value(value, mask)
    kept = text if hidden == value else exact_json.text(hidden)
    kept = kept if mask(kept) == kept else exact_json.text(mask(kept))  # a number that several values hold
    return masked | {"BasicTran": masked["BasicTran"] | {JSON_TEXT: kept}}


def order_card(input_type: InputType, sent: Card) -> dict[str, Any]:
    """Return the card fields of an order: the card and its findings, or the linked ID. Cash goes with no card."""
    if not KINDS[input_type].needs_acquirer:
        data = sent.card_data_input if input_type is InputType.CASH else None
        texts = {name: getattr(data, name, None) for name in ("pan", "reader_data")}
        given = [name for name, text in texts.items() if text and masking.numbers_in(text.get_secret_value())]
        message = "Cash is paid without a card: a card has InputType 1 to 4."
        return {"card_findings": tuple(Finding(f"card.{name}", Check.CONTRADICTION, message) for name in given)}
    if input_type is InputType.LINKED_CARD:
        findings = check_input_mode(sent.card_input_mode, BY_LINK)
        if sent.linked_card_id is None:
            findings += (Finding("linked_card_id", Check.REQUIRED, "It is required for this InputType."),)
        return {"linked_card_id": sent.linked_card_id, "card_findings": findings}
    found, findings = _read(input_type, sent)
    return {"card": found, "card_findings": findings}


def _read(input_type: InputType, sent: Card) -> tuple[CardData | None, tuple[Finding, ...]]:
    data = sent.card_data_input.to_domain() if sent.card_data_input else CardInput()
    found, findings = card.read(input_type, data)
    return found, check_input_mode(sent.card_input_mode, BY_DATA) + findings
