"""Linked cards: listing them."""

from chalicelib.domain.agent import Caller
from chalicelib.schemas.cards import GetLinkedCards, LinkedCardsAnswer, linked_card_view
from chalicelib.services import cards


def linked(body: GetLinkedCards, caller: Caller) -> LinkedCardsAnswer:
    """The cards linked to an agent, 100 a page."""
    return LinkedCardsAnswer(linked_cards=[linked_card_view(card, body.gmt) for card in cards.linked(body, caller)])
