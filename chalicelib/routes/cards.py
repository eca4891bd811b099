"""Linked cards of agents."""

from chalicelib.domain.agent import Caller
from chalicelib.schemas.linked_cards import GetLinkedCards, LinkedCardsAnswer
from chalicelib.services import linked_cards


def linked(body: GetLinkedCards, caller: Caller) -> LinkedCardsAnswer:
    """List the cards linked to an agent, 100 a page."""
    cards, merchant_gmt = linked_cards.list_cards(body, caller)
    return LinkedCardsAnswer.of(cards, body.gmt, merchant_gmt)
