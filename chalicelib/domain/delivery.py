"""A delivery: one event on its way to one webhook, with its attempts and the pauses between them."""

from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from http import HTTPStatus

from chalicelib.domain.event import KEPT_FOR, Event
from chalicelib.record import Record

SECONDS = 10  # an answer may take
HELD_FOR = timedelta(seconds=30)  # by who makes an attempt: longer than it lasts
SLOW = timedelta(seconds=1)  # an answer that takes longer makes others wait
PAUSES = (  # after each attempt; the last is repeated
    *(timedelta(seconds=5), timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30)),
    *(timedelta(hours=2), timedelta(hours=6), timedelta(hours=12), timedelta(days=1)),
)
JITTER = 0.1  # of a pause, at the most: what failed together does not come back together
TRIED_FOR = timedelta(days=3)
ATTEMPTS_KEPT = 20  # the newest
ANSWER_LENGTH = 200


class State(StrEnum):
    """The state of a delivery. The values are on the wire, and stored."""

    PENDING = "pending"
    DELIVERED = "delivered"
    GIVEN_UP = "given up"


class Attempt(Record):
    """One attempt: the status and the beginning of the answer, or the reason why there is none."""

    at: datetime
    milliseconds: int
    status: int | None = None
    answer: str | None = None
    reason: str | None = None

    @property
    def succeeded(self) -> bool:
        """Return whether the event was taken."""
        return self.status is not None and HTTPStatus(200) <= self.status < HTTPStatus(300)

    @property
    def was_slow(self) -> bool:
        """Return whether whoever waited for it waited long."""
        return self.milliseconds > SLOW / timedelta(milliseconds=1)


class Delivery(Record):
    """A stored delivery. It is its holder's until `due_at`, and due from then on; one that is finished has none.

    `began_at` is when the three days of attempts began. `is_urgent` marks one that was asked for again.
    """

    day: str
    place: str
    webhook_id: int
    began_at: datetime
    expires_at: int  # epoch seconds: the table's TTL
    state: State = State.PENDING
    due_at: datetime | None = None
    due_shard: str | None = None  # its queue, where it is found when it is due; none while its first attempt is made
    attempts: int = 0
    made: tuple[Attempt, ...] = ()
    is_urgent: bool = False

    @property
    def last_status(self) -> int | None:
        """Return the HTTP status of the last attempt that was answered."""
        return next((one.status for one in reversed(self.made) if one.status is not None), None)


def place_of(event: Event, webhook_id: int) -> str:
    """Return where the delivery of an event stands: right after it."""
    return f"{event.place}#{webhook_id}"


def event_place(place: str) -> str:
    """Return the place of the event that the delivery at a place is of."""
    return place.rpartition("#")[0]


def begun(event: Event, webhook_id: int, now: datetime) -> Delivery:
    """Return a new delivery, which nobody has tried yet."""
    expires_at = int((event.at + KEPT_FOR).timestamp())
    return Delivery(event.day, place_of(event, webhook_id), webhook_id, now, expires_at, due_at=now)


def queued(delivery: Delivery, queue: str) -> Delivery:
    """Return a new delivery whose first attempt is left to its queue."""
    return replace(delivery, due_shard=queue)


def held(delivery: Delivery, now: datetime) -> Delivery:
    """Return the delivery while one process makes an attempt. It is counted before: it may end the process."""
    return replace(delivery, due_at=now + HELD_FOR, attempts=delivery.attempts + 1)


def again(delivery: Delivery, queue: str, now: datetime) -> Delivery:
    """Return the delivery once it was asked for again: it begins anew, and keeps what was tried."""
    begun_anew = replace(delivery, state=State.PENDING, attempts=0, began_at=now, is_urgent=True)
    return replace(begun_anew, due_at=now, due_shard=queue)


def queue_of(client_id: int, webhook_id: int) -> str:
    """Return the queue of a webhook."""
    return f"{client_id}#{webhook_id}"


def is_too_late(delivery: Delivery, now: datetime) -> bool:
    """Return whether no attempt is made any more."""
    return now > delivery.began_at + TRIED_FOR


def after(delivery: Delivery, attempt: Attempt, queue: str, now: datetime, share: float) -> Delivery:
    """Return the delivery after an attempt that ended `now`: finished, or due after a pause, in a queue.

    `share` is random, from 0 to 1: the part of the jitter that is added to the pause.
    """
    made = (*delivery.made, attempt)[-ATTEMPTS_KEPT:]
    if attempt.succeeded:
        return finished(replace(delivery, made=made), State.DELIVERED)
    pause = PAUSES[min(delivery.attempts, len(PAUSES)) - 1]
    due_at = now + pause * (1 + JITTER * share)
    tried = replace(delivery, made=made, due_at=due_at, due_shard=queue)
    if attempt.status == HTTPStatus.GONE or is_too_late(tried, due_at):
        return finished(tried, State.GIVEN_UP)
    return tried


def finished(delivery: Delivery, state: State) -> Delivery:
    """Return the delivery once nothing more is done for it."""
    return replace(delivery, state=state, due_at=None, due_shard=None)


def shown(answer: bytes) -> str | None:
    """Return the beginning of an answer as it is kept: without control characters, None for an empty one."""
    text = "".join(letter if letter.isprintable() else " " for letter in answer.decode(errors="replace"))
    return text[:ANSWER_LENGTH].strip() or None
