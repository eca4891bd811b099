"""Wrong cards: a request that names a card for a payment tests one number. Five wrong ones are answered, then none is.

The masked number leaves 100,000 candidates.
"""

from datetime import datetime, timedelta

from chalicelib.domain.transaction import Transaction
from chalicelib.record import Record

WRONG_CARDS = 5  # that requests may name for a payment
REFUSED_FOR = timedelta(hours=24)  # after the last of them
COUNTED_FOR = timedelta(days=31)  # fewer of them count for this long after the last one


class NamedCard(Record):
    """A card that a request names at `at`, and the values with which the store counts it.

    It is answered while fewer than `most` wrong ones are counted, and the last card was named after `forgotten`. Else
    the count begins again, if the last card was named at `refused_since` or before.
    """

    at: datetime
    is_wrong: bool
    most: int
    forgotten: datetime
    refused_since: datetime
    expires_at: int  # epoch s


def named(now: datetime, *, is_wrong: bool) -> NamedCard:
    """Return the card that a request names now."""
    expires_at = int((now + COUNTED_FOR).timestamp()) + 1
    return NamedCard(now, is_wrong, WRONG_CARDS, now - COUNTED_FOR, now - REFUSED_FOR, expires_at)


def has_number_to_guess(payment: Transaction) -> bool:
    """Return whether cards named for it are counted: a payment without a card, and a reversal, have no number."""
    return payment.card is not None and not payment.is_reversal


def is_last_answered(card: NamedCard, wrong: int) -> bool:
    """Return whether this is the last wrong card that is answered, by the number of wrong ones with it."""
    return card.is_wrong and wrong == card.most
