"""The card of a request: its data, only in memory, or the ID of a linked card."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from chalicelib.domain import card, masking
from chalicelib.domain.card import CardData, CardInput
from chalicelib.domain.kinds import InputType
from chalicelib.domain.payment import BY_DATA, BY_LINK, check_input_mode
from chalicelib.domain.reversal_card import SentCard, sent_card
from chalicelib.domain.secret import Secret
from chalicelib.errors import Check, Finding
from chalicelib.schemas.base import Identifier, Request, SecretText, Text

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


Unprintable = Annotated[Annotated[SecretText, Field(max_length=4096)] | None, BeforeValidator(_zero_is_nothing)]


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
    """Return every card number in the `Card` of a request, readable or not."""
    data = sent.get("CardDataInput") if isinstance(sent, dict) else None
    texts = (data.get("PAN"), data.get("ReaderData")) if isinstance(data, dict) else ()
    return tuple(number for text in texts if isinstance(text, str) for number in masking.numbers_in(text))


def order_card(input_type: InputType, sent: Card) -> dict[str, Any]:
    """Return the card fields of a card payment's order: the card and its findings, or the linked ID."""
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


def reversal_card(sent: Card) -> SentCard | None:
    """Return the card of a reversal; None if the till sent only placeholders."""
    data = sent.card_data_input.to_domain() if sent.card_data_input else CardInput()
    return sent_card(data, sent.card_input_mode, sent.linked_card_id)
