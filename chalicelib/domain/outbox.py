"""The outbox: a message is stored in the same store transaction as the change that it reports, so neither is lost.

A new entry is held for the stream of its table, which sends it at once. An entry is held until `due_at`. Then the first
process that claims it holds it. So each message is sent at least once. It is sent twice only when a process dies
between sending and storing the result.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.domain.merchant import Merchant
from chalicelib.domain.printed_text import one_line
from chalicelib.domain.transaction import Transaction
from chalicelib.record import Record

WELCOME, RECEIPT, NOTICE = "welcome", "receipt", "notice"
EMAIL, SMS = "email", "sms"
LOGO_IN_MAIL = "cid:logo"  # the address of the picture inside the e-mail
RETRIES = 3  # when the request has no number
HELD_FOR = timedelta(seconds=60)  # for the stream, or by the sender: longer than sending may take
STREAMS_TURN = timedelta(seconds=30)  # within the hold: the sweep sends the messages of later records
PAUSES = tuple(timedelta(minutes=minutes) for minutes in (1, 4, 16, 64, 256, 360))  # the last one repeats
KEPT_FOR = timedelta(days=30)  # sent and abandoned entries can be looked up; then the table's TTL deletes them


class NotSentError(Exception):
    """The sender refused the message, was too slow, or is unreachable. The text is its error code."""


class Outbox(Record):
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
    attempts: int = 0
    retries: int = RETRIES
    due_at: datetime | None = None
    sent_at: datetime | None = None
    given_up_at: datetime | None = None
    expires_at: int | None = None  # epoch seconds: the table's TTL


class SendingRequest(Record):
    """A request to send a receipt later, under its Idempotency-Key. It has no address."""

    name: str
    digest: str
    withheld: tuple[str, ...] = ()  # the paths of the addresses that got no message
    expires_at: int | None = None  # epoch seconds: the table's TTL


def welcome(entry_id: str, client_id: int, name: str, email: str, now: datetime) -> Outbox:
    """Return the e-mail that welcomes a new agent. It never contains a password or key."""
    text = (
        f"Hello {one_line(name)},\n\n"
        f"an account has been opened for you. You sign in with {email}.\n"
        "Your administrator gives you the password; it is never sent by e-mail.\n"
    )
    return Outbox(entry_id, WELCOME, client_id, (email,), EMAIL, now, subject="Welcome", text=text)


def welcome_merchant(entry_id: str, merchant: Merchant, now: datetime) -> Outbox:
    """Return the e-mail that tells the manager of a new merchant that the merchant is open."""
    email = merchant.manager.email
    text = (
        f"Hello {one_line(merchant.manager.name)},\n\n"
        f"{one_line(merchant.name)} is now open for payments, as merchant {merchant.id}.\n"
        "Its administrator's account is opened next; no password is ever sent by e-mail.\n"
    )
    return Outbox(entry_id, WELCOME, merchant.id, (email,), EMAIL, now, subject="Welcome", text=text)


def failing_webhook(entry_id: str, merchant: Merchant, webhook_id: int, now: datetime) -> Outbox:
    """Return the e-mail that tells the manager of a merchant that a webhook has been failing for a day."""
    text = (
        f"Hello {one_line(merchant.manager.name)},\n\n"
        f"webhook {webhook_id} of {one_line(merchant.name)} has not taken an event for a day or longer.\n"
        "Each event is tried for three days and then given up; it can be sent again for 30 days.\n"
        "The list of events shows the webhook's answers.\n"
    )
    subject = f"Webhook {webhook_id} fails"
    return Outbox(entry_id, NOTICE, merchant.id, (merchant.manager.email,), EMAIL, now, subject=subject, text=text)


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
