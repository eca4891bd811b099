"""Linked cards: listing them."""

from chalicelib.domain.agent import Caller
from chalicelib.schemas.linked_cards import GetLinkedCards, LinkedCardsAnswer, linked_card_view
from chalicelib.services import linked_cards


def linked(body: GetLinkedCards, caller: Caller) -> LinkedCardsAnswer:
    """The cards linked to an agent, 100 a page."""
    return LinkedCardsAnswer(
        linked_cards=[linked_card_view(card, body.gmt) for card in linked_cards.linked(body, caller)]
    )
