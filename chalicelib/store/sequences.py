"""Items under a name: IDs in sequence, unique names and numbers, last calls of AuthAccount, wrong cards of payments."""

import hashlib
from contextlib import suppress
from datetime import datetime, timedelta
from secrets import token_hex

from chalicelib.domain.card import CARDS_REFUSED_FOR, WRONG_CARDS, WRONG_CARDS_COUNTED_FOR
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError
from chalicelib.record import Record
from chalicelib.store.table import AlreadyExistsError, Key, Write, put_new, read, update, write_one

TABLE = "sequences"


class UniqueName(Record):
    """A used name, and the ID of its holder."""

    name: str
    holder: int


class LastId(Record):
    """The last ID of a sequence."""

    last: int = 0


def tid_key(client_id: int, tid: str) -> Key[UniqueName]:
    """Return the key of a terminal's name (TID), unique within its merchant."""
    return Key(TABLE, UniqueName, {"name": f"tid#{client_id}#{tid}"})


def register_tid(client_id: int, tid: str, terminal_id: int) -> Write:
    """Register the name of a new terminal; raise 308 when another terminal of the merchant has it."""
    name = UniqueName(str(tid_key(client_id, tid).key["name"]), terminal_id)
    return put_new(TABLE, name, "name", ServiceError(ErrorCode.TID_TAKEN))


def register_mid(mid: str, client_id: int, *, moves: bool) -> Write:
    """Register the merchant's number at its bank (MID); raise 308 when another merchant has it.

    With `moves` it becomes this merchant's. Blanks at its end do not count, because the host adds them.
    """
    digest = hashlib.sha256(mid.rstrip().encode()).hexdigest()  # a key has at most 2,048 bytes
    key = Key(TABLE, UniqueName, {"name": f"mid#{digest}"})
    message = "Another merchant has this number at its bank."
    taken = Finding("back_retailer_id", Check.CONTRADICTION, message)
    return update(
        key,
        "SET #holder = :holder",
        {"holder": client_id},
        condition=None if moves else "attribute_not_exists(#holder) OR #holder = :holder",
        otherwise=ServiceError(ErrorCode.TID_TAKEN, message, validations=(taken,)),
    )


def next_id(name: str) -> int:
    """Return the next ID of a sequence. An unused ID is never given again."""
    return next_ids(name, 1)[0]


def next_ids(name: str, count: int) -> range:
    """Return the next `count` IDs of a sequence, consecutive."""
    return _next(name, count, start=0)


def next_stans(mid: str, tid: str, count: int, *, start: int) -> range:
    """Return the next numbers for messages of a terminal; the first ever follows `start`.

    The terminal is identified by its merchant's number (MID) and its name (TID), as the host pads both with spaces. One
    item per terminal is enough: a till takes a few payments a second, and an item takes a thousand writes.
    """
    return _next(f"stan#{mid.rstrip()}#{tid.rstrip()}", count, start)


def _next(name: str, count: int, start: int) -> range:
    expression = "SET #last = if_not_exists(#last, :start) + :count"
    addition = update(sequence_key(name), expression, {"count": count, "start": start})
    last = int(write_one(addition)["last"]["N"])
    return range(last - count + 1, last + 1)


def last_id(name: str) -> int:
    """Return the last ID of a sequence, 0 before the first."""
    last = read(sequence_key(name))
    return last.last if last else 0


def sequence_key(name: str) -> Key[LastId]:
    """Return the key of the last ID of a table's records."""
    return Key(TABLE, LastId, {"name": name})


CALLS = "sequences"


class LastCall(Record):
    """The time of an account's last call."""

    name: str
    at: datetime
    by: str | None = None  # a random name, by which a call recognises its own write after a lost answer


class TooSoonError(Exception):
    """An account made a second call within the interval."""


def take(agent_id: int, now: datetime, interval: timedelta) -> timedelta | None:
    """Take an account's only call in the interval: return None, or the time to wait when it is already taken.

    One conditional write decides, so exactly one of several parallel calls is allowed. The stored call may be later
    than `now`: it came meanwhile, or its process has a fast clock. Nobody waits longer than the interval.
    """
    key = Key(CALLS, LastCall, {"name": f"asked#{agent_id}"})
    call = update(
        key,
        "SET #at = :now, #by = :by",
        {"now": now, "before": now - interval, "by": token_hex(8)},
        condition="attribute_not_exists(#at) OR #at <= :before OR #by = :by",
        otherwise=TooSoonError(),
    )
    try:
        write_one(call)
    except TooSoonError:
        last = read(key)
        return min((last.at if last else now) + interval - now, interval)
    return None


class WrongCards(Record):
    """The wrong cards that requests named for a payment, and the time of the last request that named a card."""

    name: str
    wrong: int
    at: datetime


def wrong_cards_key(payment_id: str) -> Key[WrongCards]:
    """Return the key of a payment's wrong cards. The item is not the payment's, so that guesses never delay a write."""
    return Key(TABLE, WrongCards, {"name": f"cards#{payment_id}"})


def count_named_card(payment_id: str, *, is_wrong: bool, now: datetime) -> int:
    """Count a request that names a card for a payment, and return the number of wrong cards.

    Raise 313 for a day after the fifth wrong one. One conditional write decides, so five of many parallel guesses are
    answered. A right card makes the same calls and adds 0: after five wrong ones it must not be answered either.
    """
    key = wrong_cards_key(payment_id)
    seen = {"wrong": int(is_wrong), "now": now, "expires_at": int((now + WRONG_CARDS_COUNTED_FOR).timestamp()) + 1}
    changes = "SET #at = :now, #expires_at = :expires_at"
    add = update(
        key,
        f"ADD #wrong :wrong {changes}",
        {**seen, "most": WRONG_CARDS, "forgotten": now - WRONG_CARDS_COUNTED_FOR},
        condition="attribute_not_exists(#wrong) OR (#wrong < :most AND #at > :forgotten)",
    )
    begin_again = update(  # reached after five wrong cards, or after fewer that no longer count
        key,
        f"{changes}, #wrong = :wrong",
        {**seen, "over": now - CARDS_REFUSED_FOR},
        condition="#at <= :over",
    )
    for write in (add, begin_again, add):  # the last one, if another request began again meanwhile
        with suppress(AlreadyExistsError):
            return int(write_one(write)["wrong"]["N"])
    raise ServiceError(ErrorCode.TOO_MANY_WRONG_CARDS)
