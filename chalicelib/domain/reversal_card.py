"""The card of a reversal's request: it must be the card that the payment was made with."""

from collections.abc import Callable
from datetime import datetime

from chalicelib.domain.card import CardData, CardInput, Findings, expired, read
from chalicelib.domain.card_payment import BY_DATA, BY_LINK, check_input_mode
from chalicelib.domain.period import business_day
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import InputType, Transaction
from chalicelib.errors import Check, Finding
from chalicelib.record import Record

Digest = Callable[[Secret], str]  # of a card number, as the payment stores it


class SentCard(Record):
    """The card of a request as it was sent. How it is to be read depends on the payment."""

    data: CardInput | None = None
    input_mode: int | None = None
    linked_card_id: int | None = None


def sent_card(data: CardInput, input_mode: int | None, linked_card_id: int | None) -> SentCard | None:
    """Return the card of a request; None when there is nothing in it, or zeros alone."""
    texts = (data.pan, data.exp, data.cvv2, data.reader_data)
    is_filled = any(text.reveal().strip("0 ") for text in texts if text)
    if not is_filled and linked_card_id is None:
        return None
    return SentCard(data if is_filled else None, input_mode, linked_card_id)


def check_card(
    sent: SentCard | None, original: Transaction, digest: Digest, now: datetime
) -> tuple[CardData | None, Findings]:
    """Return the card for the acquirer, read and checked as in a payment, and everything that is wrong with it."""
    if sent is None:
        return None, ()
    if original.card is None:
        return None, (Finding("card", Check.CONTRADICTION, "The payment was made without a card."),)
    if original.input_type is InputType.LINKED_CARD:
        return None, _check_linked(sent, original)
    card, findings = read(original.input_type, sent.data or CardInput())
    findings = (*check_input_mode(sent.input_mode, BY_DATA), *findings)
    if sent.linked_card_id is not None:
        message = "The payment was not made with a linked card."
        findings += (Finding("linked_card_id", Check.CONTRADICTION, message),)
    if card is None:
        return None, findings
    findings += expired(card, business_day(now, original.gmt))
    if digest(card.pan) != original.card_entry.digest:
        findings += (_other(_number_field(original.input_type)),)
    return card, findings


def _check_linked(sent: SentCard, original: Transaction) -> Findings:
    """Return the findings about the card of a linked-card payment: its ID alone names it."""
    findings = check_input_mode(sent.input_mode, BY_LINK)
    if sent.linked_card_id != original.card_entry.linked_id:
        findings += (_other("linked_card_id"),)
    if sent.data is not None:
        name = "card.pan" if sent.data.pan else "card.reader_data" if sent.data.reader_data else "card.exp"
        findings += (Finding(name, Check.CONTRADICTION, "The payment was made with a linked card."),)
    return findings


def _number_field(input_type: InputType) -> str:
    return "card.pan" if input_type is InputType.MANUAL_ENTRY else "card.reader_data"


def _other(name: str) -> Finding:
    return Finding(name, Check.CONTRADICTION, "It is not the card of the payment.")
