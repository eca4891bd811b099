"""Webhooks: events, their deliveries with attempts and pauses, and the secrets that sign them."""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from http import HTTPStatus

from chalicelib.domain.agent import ACTIVE, BLOCKED
from chalicelib.domain.phases import Phase
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import Transaction
from chalicelib.record import Record

KEPT_FOR = timedelta(days=30)
ID_PATTERN = re.compile(r"evt_[0-9a-f]{32}")
SECOND_DIGITS = 8
STREAMS_TURN = timedelta(seconds=10)  # after the event's time: later, the sweep begins it as well


class Kind(StrEnum):
    """The kinds of events that webhooks may choose. The values are on the wire and stored."""

    PAYMENT_APPROVED = "payment.approved"
    PAYMENT_DECLINED = "payment.declined"
    PAYMENT_REJECTED = "payment.rejected"
    PAYMENT_UNKNOWN = "payment.unknown"
    PAYMENT_CANCELLED = "payment.cancelled"
    REVERSAL_APPROVED = "reversal.approved"
    REVERSAL_DECLINED = "reversal.declined"


PING = "ping"  # the event of webhook/test, only for the tested webhook

OF_PAYMENTS = {
    Phase.UNKNOWN: Kind.PAYMENT_UNKNOWN,
    Phase.REJECTED: Kind.PAYMENT_REJECTED,
    Phase.AWAITING_COMPLETION: Kind.PAYMENT_APPROVED,
    Phase.APPROVED: Kind.PAYMENT_APPROVED,
    Phase.DECLINED: Kind.PAYMENT_DECLINED,
    Phase.AUTO_CANCELLED: Kind.PAYMENT_CANCELLED,
}
OF_REVERSALS = {
    Phase.REVERSAL_APPROVED: Kind.REVERSAL_APPROVED,
    Phase.DECLINED: Kind.REVERSAL_DECLINED,
    Phase.REJECTED: Kind.REVERSAL_DECLINED,
}


class Event(Record):
    """A stored event. A ping has no phase, transaction or agent. Until it is begun, it is held for the stream, or due.

    `due_at` follows from the event's time. So an event that a paused process stores late is due at once.
    """

    day: str
    place: str
    id: str
    client_id: int
    kind: str
    at: datetime
    expires_at: int  # epoch seconds: the table's TTL
    transaction_id: str | None = None
    original_id: str | None = None
    phase: Phase | None = None
    pos_id: int | None = None
    webhook_id: int | None = None  # the only receiver of a ping
    erased: bool | None = None  # the payer's data was erased: no answer to this event is stored any longer
    due_at: datetime | None = None  # None: it is begun, or an earlier release stored it


def kind_of(transaction: Transaction) -> Kind | None:
    """Return the kind of event for the transaction's phase; None for an undecided phase."""
    return (OF_REVERSALS if transaction.is_reversal else OF_PAYMENTS).get(transaction.phase)


def event_of(transaction: Transaction, at: datetime) -> Event | None:
    """Return the event for a transaction's new phase; None if the phase makes no event.

    The store asks only for a transaction whose merchant wants events.
    """
    kind = kind_of(transaction)
    if kind is None:
        return None
    event_id = id_of(f"{transaction.id}.{transaction.phase}", at)
    return Event(
        *place_of_event(transaction.client_id, event_id, at),
        event_id,
        transaction.client_id,
        kind,
        at,
        int((at + KEPT_FOR).timestamp()),
        transaction_id=transaction.id,
        original_id=transaction.original.id,
        phase=transaction.phase,
        pos_id=transaction.agent.id,
        erased=transaction.erasure is not None or None,
        due_at=at + STREAMS_TURN,
    )


def ping(token: str, client_id: int, webhook_id: int, at: datetime) -> Event:
    """Return a test event for one webhook; `token` is random."""
    event_id = id_of(token, at)
    place = place_of_event(client_id, event_id, at)
    expires_at = int((at + KEPT_FOR).timestamp())
    due_at = at + STREAMS_TURN
    return Event(*place, event_id, client_id, PING, at, expires_at, webhook_id=webhook_id, due_at=due_at)


def id_of(what: str, at: datetime) -> str:
    """Return the ID of an event: its second, so that it is found without an index, and a digest."""
    digest = hashlib.sha256(what.encode()).hexdigest()
    return f"evt_{int(at.timestamp()):0{SECOND_DIGITS}x}{digest[: 32 - SECOND_DIGITS]}"


def second_of(event_id: str) -> datetime | None:
    """Return the second of an event from its ID; None for another text."""
    if not ID_PATTERN.fullmatch(event_id):
        return None
    return datetime.fromtimestamp(int(event_id.removeprefix("evt_")[:SECOND_DIGITS], 16), UTC)


def place_of_event(client_id: int, event_id: str, at: datetime) -> tuple[str, str]:
    """Return the place of an event: the partition of its merchant and day, and its key in the order of time."""
    return partition_of(client_id, at.astimezone(UTC).date()), f"{time_text(at)}#{event_id}"


def partition_of(client_id: int, day: date) -> str:
    """Return the partition of a merchant and a UTC day."""
    return f"{client_id}#{day.isoformat()}"


def spans(client_id: int, begin: datetime, end: datetime) -> list[tuple[str, str, str]]:
    """Return the spans that hold the events from `begin` until before `end`, oldest first.

    Each span is a partition, and the first and last place in it.
    """
    if begin >= end:
        return []
    days = range(begin.date().toordinal(), end.date().toordinal() + 1)
    bounds = (time_text(begin), time_text(end))
    return [(partition_of(client_id, date.fromordinal(day)), *bounds) for day in days]


def time_text(at: datetime) -> str:
    """Return an instant in the sortable form of places: 2026-03-14T09:26:53.589793."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")


SECONDS = 10  # the longest wait for an answer
HELD_FOR = timedelta(seconds=30)  # by the attempting process: longer than an attempt
SLOW = timedelta(seconds=1)  # a slower answer delays other deliveries
PAUSES = (  # after each attempt; the last is repeated
    *(timedelta(seconds=5), timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30)),
    *(timedelta(hours=2), timedelta(hours=6), timedelta(hours=12), timedelta(days=1)),
)
JITTER = 0.1  # the largest part of a pause: deliveries that failed together must not return together
TRIED_FOR = timedelta(days=3)
ATTEMPTS_KEPT = 20  # the newest ones
ANSWER_LENGTH = 200


class DeliveryState(StrEnum):
    """The state of a delivery. The values are on the wire and stored."""

    PENDING = "pending"
    DELIVERED = "delivered"
    GIVEN_UP = "given up"


class Attempt(Record):
    """One attempt: the status and the beginning of the answer, or the reason for no answer."""

    at: datetime
    milliseconds: int
    status: int | None = None
    answer: str | None = None
    reason: str | None = None

    @property
    def succeeded(self) -> bool:
        """Return whether the receiver accepted the event."""
        return self.status is not None and HTTPStatus(200) <= self.status < HTTPStatus(300)

    @property
    def was_slow(self) -> bool:
        """Return whether the attempt took long enough to delay others."""
        return self.milliseconds > SLOW / timedelta(milliseconds=1)


class Delivery(Record):
    """A stored delivery, in the queue of its webhook until it is finished. Its holder owns it until `due_at`.

    `began_at` is the start of the three days of attempts.
    """

    day: str
    place: str
    webhook_id: int
    began_at: datetime
    expires_at: int  # epoch seconds: the table's TTL
    state: DeliveryState = DeliveryState.PENDING
    due_at: datetime | None = None
    due_shard: str | None = None
    attempts: int = 0
    made: tuple[Attempt, ...] = ()

    @property
    def client_id(self) -> int:
        """Return the ID of its merchant."""
        return int(self.day.partition("#")[0])

    @property
    def last_status(self) -> int | None:
        """Return the HTTP status of the last answered attempt."""
        return next((one.status for one in reversed(self.made) if one.status is not None), None)


def place_of_delivery(event: Event, webhook_id: int) -> str:
    """Return the place of an event's delivery: right after the event."""
    return f"{event.place}#{webhook_id}"


def event_place(place: str) -> str:
    """Return the place of the delivery's event."""
    return place.rpartition("#")[0]


def begun(event: Event, webhook_id: int, now: datetime) -> Delivery:
    """Return a new delivery without attempts, due in the queue of its webhook."""
    queue, expires_at = queue_of(event.client_id, webhook_id), int((event.at + KEPT_FOR).timestamp())
    place = place_of_delivery(event, webhook_id)
    return Delivery(event.day, place, webhook_id, now, expires_at, due_at=now, due_shard=queue)


def begun_at_once(event: Event, webhook: "Webhook", now: datetime) -> Delivery:
    """Return a new delivery, held for its first attempt. That of a slow webhook only waits in its queue."""
    new = begun(event, webhook.id, now)
    return new if webhook.slow_since else held(new, now)


def held(delivery: Delivery, now: datetime) -> Delivery:
    """Return the delivery while one process makes an attempt. It counts beforehand, because the process may die."""
    return replace(delivery, due_at=now + HELD_FOR, attempts=delivery.attempts + 1)


def again(delivery: Delivery, now: datetime) -> Delivery:
    """Return a delivery that a caller requested again: it starts from scratch and keeps its earlier attempts."""
    queue = queue_of(delivery.client_id, delivery.webhook_id)
    begun_anew = replace(delivery, state=DeliveryState.PENDING, attempts=0, began_at=now)
    return replace(begun_anew, due_at=now, due_shard=queue)


def queue_of(client_id: int, webhook_id: int) -> str:
    """Return the queue of a webhook."""
    return f"{client_id}#{webhook_id}"


def is_too_late(delivery: Delivery, now: datetime) -> bool:
    """Return whether the time for attempts is over."""
    return now > delivery.began_at + TRIED_FOR


def after(delivery: Delivery, attempt: Attempt, now: datetime, share: float) -> Delivery:
    """Return the delivery after an attempt that ended `now`: finished, or due in its queue after a pause.

    `share` is random, from 0 to 1: the part of the jitter to add to the pause.
    """
    made = (*delivery.made, attempt)[-ATTEMPTS_KEPT:]
    if attempt.succeeded:
        return finished(replace(delivery, made=made), DeliveryState.DELIVERED)
    pause = PAUSES[min(delivery.attempts, len(PAUSES)) - 1]
    due_at = now + pause * (1 + JITTER * share)
    tried = replace(delivery, made=made, due_at=due_at)
    if attempt.status == HTTPStatus.GONE or is_too_late(tried, due_at):
        return finished(tried, DeliveryState.GIVEN_UP)
    return tried


def as_of_webhooks(delivery: Delivery, existing: Collection[int]) -> Delivery:
    """Return the delivery as it is shown while these webhooks exist: nothing is pending for a deleted webhook."""
    if delivery.state is DeliveryState.PENDING and delivery.webhook_id not in existing:
        return finished(delivery, DeliveryState.GIVEN_UP)
    return delivery


def finished(delivery: Delivery, state: DeliveryState) -> Delivery:
    """Return the delivery as finished."""
    return replace(delivery, state=state, due_at=None, due_shard=None)


def shown(answer: bytes) -> str | None:
    """Return the stored beginning of an answer, without control characters; None for an empty answer."""
    text = "".join(letter if letter.isprintable() else " " for letter in answer.decode(errors="replace"))
    return text[:ANSWER_LENGTH].strip() or None


MOST = 5  # webhooks per merchant
SECRET_BYTES = 32
PREFIX = "whsec_"
OLD_SECRET_LASTS = timedelta(hours=24)
TOLD_AFTER = timedelta(days=1)  # with only failures
ALWAYS = datetime(9999, 1, 1, tzinfo=UTC)
EVENTS_LAST = timedelta(days=7)  # after the last webhook is switched off, because it may be switched on again


class Webhook(Record):
    """A stored webhook. Its secrets are encrypted for it and work for no other webhook.

    `slow_since`: its last answer was slow or missing, so it is not called where other deliveries would have to wait.
    """

    client_id: int
    id: int
    url: str
    secret_sealed: bytes
    created_at: datetime
    updated_at: datetime
    on_since: datetime  # earlier events are sent only on request
    types: tuple[str, ...] = ()  # empty: every kind
    state: int = ACTIVE
    description: str | None = None
    version: int = 1
    old_secret_sealed: bytes | None = None
    old_secret_until: datetime | None = None
    slow_since: datetime | None = None
    failing_since: datetime | None = None
    told_at: datetime | None = None  # the last e-mail to the merchant's manager about its failures

    @property
    def is_on(self) -> bool:
        """Return whether events are sent to it."""
        return self.state == ACTIVE

    def takes(self, kind: str) -> bool:
        """Return whether it takes events of this kind."""
        return self.is_on and (not self.types or kind in self.types)

    def gets(self, event: Event) -> bool:
        """Return whether a new event is sent to it. A ping is for one webhook. Older events than `on_since` are not."""
        if event.kind == PING:
            return event.webhook_id == self.id
        return self.takes(event.kind) and self.on_since <= event.at


def is_given_up(delivery: Delivery, event: Event | None, webhook: Webhook | None, now: datetime) -> bool:
    """Return whether a due delivery is given up: too late, its event has expired, its webhook is off or deleted.

    A webhook that is off still gets a ping.
    """
    if event is None or webhook is None or is_too_late(delivery, now):
        return True
    return not webhook.is_on and event.kind != PING


def new_secret(random: bytes) -> Secret:
    """Return the secret of a webhook from random bytes, in the form of Standard Webhooks."""
    return Secret(PREFIX + b64encode(random).decode())


def sign(secrets: Iterable[Secret], event_id: str, timestamp: int, body: bytes) -> str:
    """Return the header `webhook-signature` by Standard Webhooks, with one signature for each secret."""
    signed = f"{event_id}.{timestamp}.".encode() + body
    keys = [b64decode(secret.reveal().removeprefix(PREFIX)) for secret in secrets]
    digests = [hmac.new(key, signed, hashlib.sha256).digest() for key in keys]
    return " ".join(f"v1,{b64encode(digest).decode()}" for digest in digests)


def rotated(webhook: Webhook, sealed: bytes, now: datetime) -> Webhook:
    """Return the webhook with a new secret. The previous secret also signs for a day."""
    until = now + OLD_SECRET_LASTS
    return replace(webhook, secret_sealed=sealed, old_secret_sealed=webhook.secret_sealed, old_secret_until=until)


def secrets_of(webhook: Webhook, now: datetime) -> tuple[bytes, ...]:
    """Return the encrypted secrets that sign now, the newest first."""
    if webhook.old_secret_sealed is None or webhook.old_secret_until is None or now >= webhook.old_secret_until:
        return (webhook.secret_sealed,)
    return webhook.secret_sealed, webhook.old_secret_sealed


def events_until(webhooks: Iterable[Webhook], now: datetime) -> datetime:
    """Return the time until which the transactions of a merchant with these webhooks make events."""
    return ALWAYS if any(webhook.is_on for webhook in webhooks) else now + EVENTS_LAST


def after_attempt(webhook: Webhook, made: Attempt, now: datetime) -> Webhook:
    """Return the webhook after an attempt. An answer "gone" switches it off."""
    return replace(
        webhook,
        state=BLOCKED if made.status == HTTPStatus.GONE else webhook.state,
        slow_since=(webhook.slow_since or now) if made.was_slow else None,
        failing_since=None if made.succeeded else (webhook.failing_since or now),
        told_at=None if made.succeeded else webhook.told_at,
    )


def is_to_be_told(webhook: Webhook, now: datetime) -> bool:
    """Return whether to e-mail its merchant's manager: after a day of failures, and then daily."""
    since = webhook.told_at or webhook.failing_since
    return since is not None and now >= since + TOLD_AFTER
