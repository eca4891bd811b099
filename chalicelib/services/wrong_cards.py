"""Wrong cards: both places that compare a card with the payment's come here first.

These are reversals, and requests that repeat a payment's ID.
"""

from datetime import datetime

from chalicelib.domain.agent import Agent
from chalicelib.domain.transaction import Transaction
from chalicelib.domain.wrong_cards import has_number_to_guess, is_last_answered, named
from chalicelib.log import log
from chalicelib.store import wrong_cards


def count(payment: Transaction, agent: Agent, now: datetime, *, is_wrong: bool) -> None:
    """Count the card that a request names for a payment, before the request is answered.

    Raise 313 for a day after the fifth wrong card, whether this one is right or wrong. The agent may see the payment.
    """
    if not has_number_to_guess(payment):
        return
    card = named(now, is_wrong=is_wrong)
    if is_last_answered(card, wrong_cards.count(payment.id, card)):
        log("card_guesses", transaction=payment.id, merchant=payment.client_id, agent=agent.id)
