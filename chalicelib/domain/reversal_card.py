"""The card of a reversal: it must be the payment's. Its number is compared by its first six and last four digits."""

from dataclasses import dataclass

from chalicelib.domain.card import CardData, CardInput, Findings, read
from chalicelib.domain.kinds import InputType
from chalicelib.domain.payment import BY_DATA, BY_LINK, check_input_mode
from chalicelib.domain.reversibility import reading_type
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import Check, Finding

OTHER_CARD = "It is not the card of the payment."


@dataclass(frozen=True)
class SentCard:
    """The card of a request, unread: the payment decides how to read it."""

    data: CardInput | None = None
    input_mode: int | None = None
    linked_card_id: int | None = None


def sent_card(data: CardInput, input_mode: int | None, linked_card_id: int | None) -> SentCard | None:
    """Return the card of a request; None when all its fields are empty or zeros."""
    texts = (data.pan, data.exp, data.cvv2, data.reader_data)
    is_filled = any(text.reveal().strip("0 ") for text in texts if text)
    if not is_filled and linked_card_id is None:
        return None
    return SentCard(data if is_filled else None, input_mode, linked_card_id)


@dataclass(frozen=True)
class CheckedCard:
    """The card of a reversal for the acquirer, and the findings about it."""

    card: CardData | None = None
    findings: Findings = ()


def check_card(sent: SentCard | None, original: Transaction, *, input_type: int | None = None) -> CheckedCard:
    """Return the card of a reversal, read as in a payment. It must have the payment's masked number.

    Its expiry is not judged: the acquirer decides. `input_type` is the InputType of the reversal.
    """
    if sent is None:
        return CheckedCard()
    if original.card is None:
        finding = Finding("card", Check.CONTRADICTION, "The payment was made without a card.")
        return CheckedCard(findings=(finding,))
    if original.input_type is InputType.LINKED_CARD:
        return _check_linked(sent, original)
    way = reading_type(input_type, original.input_type)
    card, findings = read(way, sent.data or CardInput())
    findings = (*check_input_mode(sent.input_mode, BY_DATA), *findings)
    if sent.linked_card_id is not None:
        message = "The payment was not made with a linked card."
        findings += (Finding("linked_card_id", Check.CONTRADICTION, message),)
    if card is None:
        return CheckedCard(findings=findings)
    if card.details.masked != original.card.masked:
        findings += (_other("card.pan" if way is InputType.MANUAL_ENTRY else "card.reader_data"),)
    return CheckedCard(card, findings)


def _check_linked(sent: SentCard, original: Transaction) -> CheckedCard:
    """Return the card of a linked-card payment, which only its ID may name."""
    findings = check_input_mode(sent.input_mode, BY_LINK)
    if sent.linked_card_id != original.card_entry.linked_id:
        findings += (_other("linked_card_id"),)
    if sent.data is not None:
        name = "card.pan" if sent.data.pan else "card.reader_data" if sent.data.reader_data else "card.exp"
        findings += (Finding(name, Check.CONTRADICTION, "The payment was made with a linked card."),)
    return CheckedCard(None, findings)


def _other(name: str) -> Finding:
    return Finding(name, Check.CONTRADICTION, OTHER_CARD)
