"""The counters of the wrong cards that requests named for a payment."""

from contextlib import suppress
from datetime import datetime

from chalicelib.domain.wrong_cards import NamedCard
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.record import Record
from chalicelib.store.table import AlreadyExistsError, Key, update, write_one

TABLE = "sequences"


class WrongCards(Record):
    """The wrong cards that requests named for a payment, and the time of the last request that named a card."""

    name: str
    wrong: int
    at: datetime


def key(payment_id: str) -> Key[WrongCards]:
    """Return the key of a payment's wrong cards. The item is not the payment's, so that guesses never delay a write."""
    return Key(TABLE, WrongCards, {"name": f"cards#{payment_id}"})


def count(payment_id: str, card: NamedCard) -> int:
    """Count a request that names a card for a payment, and return the number of wrong cards.

    Raise 313 while cards are refused. One conditional write decides, so of many parallel guesses only `most` are
    answered. A right card makes the same calls and adds 0: after the last wrong one it must not be answered either.
    """
    changes = "SET #at = :now, #expires_at = :expires_at"
    values = {"wrong": int(card.is_wrong), "now": card.at, "expires_at": card.expires_at}
    add = update(
        key(payment_id),
        f"ADD #wrong :wrong {changes}",
        {**values, "most": card.most, "forgotten": card.forgotten},
        condition="attribute_not_exists(#wrong) OR (#wrong < :most AND #at > :forgotten)",
    )
    begin_again = update(  # reached after `most` wrong cards, or after fewer that no longer count
        key(payment_id),
        f"{changes}, #wrong = :wrong",
        {**values, "over": card.refused_since},
        condition="#at <= :over",
    )
    for write in (add, begin_again, add):  # the last one, if another request began again meanwhile
        with suppress(AlreadyExistsError):
            return int(write_one(write)["wrong"]["N"])
    raise ServiceError(ErrorCode.TOO_MANY_WRONG_CARDS)
