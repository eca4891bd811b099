"""How many requests named another card than a payment's own, so that nobody finds its card number by trying."""

from datetime import datetime, timedelta

from chalicelib.record import Record
from chalicelib.store.table import Key, decode, read, update, write_one

TABLE = "sequences"
MOST_WRONG = 5  # answers about a wrong card
MOST_AT_WORK = 8  # more requests that may be at work at once
KEPT_FOR = timedelta(hours=24)


class CardGuesses(Record):
    """The requests that named a card for a payment. `taken` counts the wrong ones and those at work."""

    name: str
    expires_at: int = 0  # seconds since 1970: then everything is forgotten
    taken: int = 0
    wrong: int = 0


class RefusedError(Exception):
    """The item does not allow another request, or has expired."""


def begin(payment_id: str, now: datetime) -> bool:
    """Begin a request that names a card; return False when it must be refused. It comes before any comparison.

    End it with `end_right` or `end_wrong`. A request that dies in between counts until everything is forgotten.
    """
    key = _key(payment_id)
    one_more = update(
        key,
        "SET #taken = if_not_exists(#taken, :zero) + :one, #expires_at = :expiry",
        {
            "zero": 0,
            "one": 1,
            "expiry": _seconds(now + KEPT_FOR),
            "now": _seconds(now),
            "wrong": MOST_WRONG,
            "taken": MOST_WRONG + MOST_AT_WORK,
        },
        condition="attribute_not_exists(#taken) OR (#expires_at > :now AND #taken < :taken AND "
        "(attribute_not_exists(#wrong) OR #wrong < :wrong))",
        otherwise=RefusedError(),
    )
    try:
        write_one(one_more)
    except RefusedError:
        guesses = read(key)
        return guesses is None or (guesses.expires_at <= _seconds(now) and _begin_again(key, guesses, now))
    return True


def _begin_again(key: Key[CardGuesses], expired: CardGuesses, now: datetime) -> bool:
    """Replace an expired item by one with a single request; return False when another request did it."""
    first = update(
        key,
        "SET #taken = :one, #wrong = :zero, #expires_at = :expiry",
        {"one": 1, "zero": 0, "expiry": _seconds(now + KEPT_FOR), "seen": expired.expires_at},
        condition="#expires_at = :seen",
        otherwise=RefusedError(),
    )
    try:
        write_one(first)
    except RefusedError:
        return False
    return True


def end_right(payment_id: str) -> None:
    """End a request that named the payment's own card, or none that could be read."""
    _end(payment_id, "ADD #taken :number", {"number": -1})


def end_wrong(payment_id: str) -> int:
    """End a request that named another card; return how many have."""
    return _end(payment_id, "ADD #wrong :number", {"number": 1}).wrong


def _end(payment_id: str, expression: str, values: dict[str, int]) -> CardGuesses:
    key = _key(payment_id)
    return decode(CardGuesses, write_one(update(key, expression, values)))


def _key(payment_id: str) -> Key[CardGuesses]:
    return Key(TABLE, CardGuesses, {"name": f"card-guesses#{payment_id}"})


def _seconds(at: datetime) -> int:
    return int(at.timestamp())
