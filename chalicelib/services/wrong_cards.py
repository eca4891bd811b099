"""Wrong cards: a request that names a card tests one number. Five wrong ones are answered, then no card is.

The masked number leaves 100,000 candidates. Both places that compare a card with the payment's come here first:
reversals, and requests that repeat a payment's ID.
"""

from datetime import datetime

from chalicelib.domain.agent import Agent
from chalicelib.domain.card import WRONG_CARDS
from chalicelib.domain.transaction import Transaction
from chalicelib.log import log
from chalicelib.store import sequences


def count(payment: Transaction, agent: Agent, now: datetime, *, is_wrong: bool) -> None:
    """Count the card that a request names for a payment, before the request is answered.

    Raise 313 for a day after the fifth wrong card, whether this one is right or wrong. The agent may see the payment.
    A payment without a card, and a reversal, have no number to guess.
    """
    if payment.card is None or payment.is_reversal:
        return
    wrong = sequences.count_named_card(payment.id, is_wrong=is_wrong, now=now)
    if is_wrong and wrong == WRONG_CARDS:
        log("card_guesses", transaction=payment.id, merchant=payment.client_id, agent=agent.id)
