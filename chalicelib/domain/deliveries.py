"""Deliveries of events: their attempts and pauses, and the effect of an attempt on its webhook."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from http import HTTPStatus

from chalicelib.domain.agent import BLOCKED
from chalicelib.domain.events import KEPT_FOR, PING, Event
from chalicelib.domain.masking import mask_foreign
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.outbox import EMAIL, NOTICE, Outbox
from chalicelib.domain.printed_text import one_line
from chalicelib.domain.webhooks import Webhook

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


@dataclass(frozen=True)
class Attempt:
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


@dataclass(frozen=True)
class Delivery:
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
    due_lane: str | None = None
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
    return Delivery(event.day, place, webhook_id, now, expires_at, due_at=now, due_lane=queue)


def begun_at_once(event: Event, webhook: Webhook, now: datetime) -> Delivery:
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
    return replace(begun_anew, due_at=now, due_lane=queue)


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
    return replace(delivery, state=state, due_at=None, due_lane=None)


def shown(answer: bytes) -> str | None:
    """Return the stored beginning of an answer, without control characters and card numbers; None for an empty one."""
    text = "".join(letter if letter.isprintable() else " " for letter in answer.decode(errors="replace"))
    return mask_foreign(text, None)[:ANSWER_LENGTH].strip() or None


def is_given_up(delivery: Delivery, event: Event | None, webhook: Webhook | None, now: datetime) -> bool:
    """Return whether a due delivery is given up: too late, its event has expired, its webhook is off or deleted.

    A webhook that is off still gets a ping.
    """
    if event is None or webhook is None or is_too_late(delivery, now):
        return True
    return not webhook.is_on and event.kind != PING


TOLD_AFTER = timedelta(days=1)  # with only failures


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
