"""The outbox: a message is stored in the same store transaction as the change that it reports, so neither is lost.

A new entry is held for the stream of its table, which sends it at once. An entry is held until `due_at`. Then the first
process that claims it holds it. So each message is sent at least once. It is sent twice only when a process dies
between sending and storing the result.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from chalicelib.domain.transaction import Transaction

WELCOME, RECEIPT, NOTICE, RESET = "welcome", "receipt", "notice", "reset"
EMAIL, SMS = "email", "sms"
LOGO_IN_MAIL = "cid:logo"  # the address of the picture inside the e-mail
RETRIES = 3  # when the request has no number
HELD_FOR = timedelta(seconds=60)  # for the stream, or by the sender: longer than sending may take
STREAMS_TURN = timedelta(seconds=30)  # within the hold: the sweep sends the messages of later records
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 4, 16, 64, 256, 360))  # the last one repeats
COPIES_AFTER = timedelta(minutes=10)  # of the record of a transaction: each receipt of it is then a copy
KEPT_FOR = timedelta(days=30)  # sent and abandoned entries can be looked up; then the table's TTL deletes them


class NotSentError(Exception):
    """The sender refused the message, was too slow, or is unreachable. The text is its error code."""


@dataclass(frozen=True)
class Outbox:
    """One message to the addresses of one channel. At most 1 + `retries` attempts are made.

    `to` are the addresses that have not received it yet. A receipt stores no text: each attempt writes it from the
    transaction.
    """

    id: str
    kind: str
    client_id: int
    to: tuple[str, ...]
    channel: str
    created_at: datetime
    sender: str | None = None  # the name shown with the sending address
    subject: str | None = None
    text: str | None = None
    html: str | None = None
    logo_key: str | None = None  # the name of the HTML's picture in object storage
    transaction_id: str | None = None
    language: str | None = None  # of a receipt sent later; None: its transaction's
    is_copy: bool | None = None  # True: of a receipt that was sent before, or of an old transaction
    counter: str | None = None  # of a link for a password: the name of its address's daily counter
    login_version: int | None = None  # of such a link: the login's `agent_version` when it was asked for
    attempts: int = 0
    retries: int = RETRIES
    due_at: datetime | None = None
    sent_at: datetime | None = None
    given_up_at: datetime | None = None
    expires_at: int | None = None  # epoch seconds: the table's TTL


@dataclass(frozen=True)
class SendingRequest:
    """A request to send a receipt later, under its Idempotency-Key. It has no address."""

    name: str
    digest: str
    withheld: tuple[str, ...] = ()  # the paths of the addresses that got no message
    expires_at: int | None = None  # epoch seconds: the table's TTL


def receipts_for(transaction: Transaction, now: datetime, *, occasion: str | None = None) -> list[Outbox]:
    """Return the receipts to store with the transaction (`store.outbox.put`).

    Return none for a declined or pending one. `occasion` names a further receipt: a transaction has one per occasion.
    """
    wanted = transaction.receipt.to_send
    if wanted is None or not transaction.moved_money:
        return []
    return [
        Outbox(
            id=".".join(filter(None, (transaction.id, occasion, channel))),
            kind=RECEIPT,
            client_id=transaction.client_id,
            to=to,
            channel=channel,
            created_at=now,
            transaction_id=transaction.id,
            retries=RETRIES if wanted.retries is None else wanted.retries,
        )
        for channel, to in ((EMAIL, wanted.emails), (SMS, wanted.phones))
        if to
    ]


def is_old(transaction: Transaction, now: datetime) -> bool:
    """Return whether each receipt of a transaction is a copy now, because of its age."""
    return now > transaction.created_at + COPIES_AFTER


def held_for_stream(entry: Outbox) -> Outbox:
    """Return a new entry as it is stored: held for the stream; if the stream misses it, due for the sweep."""
    return replace(entry, due_at=entry.created_at + HELD_FOR)


def is_spent(entry: Outbox) -> bool:
    """Return whether all attempts were claimed and the last result was never stored."""
    return entry.attempts > 1 + entry.retries


def sent(entry: Outbox, now: datetime) -> Outbox:
    """Return the entry as sent to every address."""
    return replace(entry, due_at=None, sent_at=now, expires_at=expiry(now))


def failed(entry: Outbox, now: datetime) -> Outbox:
    """Return the entry after a failed attempt: due again after a pause, or given up."""
    if entry.attempts > entry.retries:
        return given_up(entry, now)
    return replace(entry, due_at=now + PAUSES[min(entry.attempts, len(PAUSES)) - 1])


def given_up(entry: Outbox, now: datetime) -> Outbox:
    """Return the entry as given up, because no attempt is left."""
    return replace(entry, due_at=None, given_up_at=now, expires_at=expiry(now))


def expiry(now: datetime) -> int:
    """Return the time at which a finished message is deleted, as epoch seconds."""
    return int((now + KEPT_FOR).timestamp())
