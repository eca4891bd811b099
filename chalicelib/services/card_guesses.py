"""Refuse to compare cards with a payment's own after five wrong ones, so that nobody finds its number by trying."""

from collections.abc import Callable
from datetime import datetime

from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.log import log
from chalicelib.store import card_guesses as store
from chalicelib.store.card_guesses import MOST_WRONG


def check(payment: Transaction, is_wrong: Callable[[], bool], now: datetime) -> None:
    """Count a request that names a card for this payment, if it is the wrong one; raise CARD_GUESSED after five.

    Call it for each request by a caller who may see the payment, and before anything else compares the cards. Nothing
    else of the payment changes: requests without a card continue. It costs two writes.
    """
    if payment.card_entry.digest is None:
        return
    if not store.begin(payment.id, now):
        raise ServiceError(ErrorCode.CARD_GUESSED)
    if not is_wrong():
        store.end_right(payment.id)
        return
    wrong = store.end_wrong(payment.id)
    if wrong == MOST_WRONG:
        log("card_guesses", transaction=payment.id, merchant=payment.client_id)
    if wrong > MOST_WRONG:  # it came with others at once
        raise ServiceError(ErrorCode.CARD_GUESSED)
