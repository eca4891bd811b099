"""Deliveries: an event is sent to the webhooks that take it, right after it was stored, and again while one fails.

The stream of the table of events makes the first attempt. The sweep finds what the stream has missed, and makes every
other attempt: each webhook has a queue, which is a lane of `services.lane_runner`. The process that makes an attempt
holds the delivery, so two do not both make it. A process that dies lets go of it when its time is over; then the event
is sent once more, under the same ID.
"""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache, partial
from itertools import chain
from secrets import token_hex
from threading import Lock

from chalicelib.domain import outbox as messages
from chalicelib.domain import webhooks
from chalicelib.domain.agent import BLOCKED
from chalicelib.domain.secret import Secret
from chalicelib.domain.webhooks import PING, Attempt, Delivery, DeliveryState, Event, Webhook, spans
from chalicelib.gateways import secrets
from chalicelib.gateways import webhooks as gateway
from chalicelib.log import log, log_defect
from chalicelib.record import Record
from chalicelib.schemas.webhooks import body_of
from chalicelib.services import lane_runner
from chalicelib.services import webhooks as service
from chalicelib.services.lane_runner import Image, Lane, Limits, Swept
from chalicelib.store import due_index, events, merchants
from chalicelib.store import outbox as outbox_store
from chalicelib.store import webhooks as webhooks_store
from chalicelib.store.audit import OPERATOR, Act
from chalicelib.store.due_index import Due
from chalicelib.store.table import decode, read, retry_on_change

THREADS_OF_BATCH = 16  # attempts of one call of the stream at once
THREADS = 32  # attempts of a run of the sweep at once
SECONDS = 45  # after which a run begins no other attempt: the last may take ten, and a run has 58
LOOKING = 1 / 3  # of a run
STREAMS_TURN = timedelta(seconds=10)  # what is younger is still the stream's
LATE = timedelta(minutes=2)  # after its time an event may still be stored: longer than any request and any run
AGAIN = timedelta(hours=3)  # after its time it is looked at once more: a process that stood still may store it late
KEPT_CURSOR = timedelta(minutes=10)  # of a merchant without events: storing it costs a write


class Job(Record):
    """One attempt that is to be made, by this process alone."""

    event: Event
    webhook: Webhook
    held: Delivery


# The first attempts: the stream of the table of events


def deliver(records: Sequence[tuple[str, Image]]) -> list[str]:
    """Send the events of these records; return the numbers of those that must come again.

    A record that comes twice changes nothing: a delivery is begun once. What fails, and what would make others wait, is
    left to the queues.
    """
    jobs: list[Job] = []
    hooks_of = cache(webhooks_store.of_merchant)  # read once: they are as new as the newest record
    failed = lane_runner.begin_each(records, lambda image: jobs.extend(_jobs_of(image, hooks_of)))
    if jobs:
        with ThreadPoolExecutor(min(THREADS_OF_BATCH, len(jobs))) as pool:
            list(pool.map(attempt, jobs))
    return failed


def _jobs_of(image: Image, hooks_of: Callable[[int], list[Webhook]]) -> list[Job]:
    """Return the attempts that a stored item asks for: the first of an event, or one that was asked for again."""
    now = datetime.now(UTC)
    if "kind" in image:
        event = decode(Event, image)
        hooks = [hook for hook in hooks_of(event.client_id) if _is_wanted(event, hook)]
        found = [begin(event, hook, now) for hook in hooks]
    else:  # a delivery that is urgent
        urgent = decode(Delivery, image)
        hooks = [hook for hook in hooks_of(int(urgent.day.split("#")[0])) if hook.id == urgent.webhook_id]
        found = [claim(urgent.day, urgent.place, hook, now) for hook in hooks if not hook.slow_since]
    return [job for job in found if job]


def _is_wanted(event: Event, hook: Webhook) -> bool:
    """Return whether a webhook gets an event: a ping is for one alone, and nothing is older than the webhook."""
    if event.kind == PING:
        return event.webhook_id == hook.id
    return hook.takes(event.kind) and hook.on_since <= event.at


# One attempt


def begin(event: Event, hook: Webhook, now: datetime) -> Job | None:
    """Store the delivery of an event, and return the attempt to make; None when another process has it, or it waits.

    It waits in its queue when the webhook is slow.
    """
    new = webhooks.begun(event, hook.id, now)
    if hook.slow_since is not None:
        events.begin(webhooks.queued(new, _queue(hook)))
        return None
    held = webhooks.held(new, now)
    return Job(event, hook, held) if events.begin(held) else None


def claim(day: str, place: str, hook: Webhook, now: datetime) -> Job | None:
    """Claim a delivery that is due, and return the attempt to make; None when there is none to make any more."""
    held = events.claim(day, place, _queue(hook), now)
    if held is None:
        return None
    event = events.get(day, webhooks.event_place(place))
    is_off = not hook.is_on and (event is None or event.kind != PING)
    if event is None or is_off or webhooks.is_too_late(held, now):
        _store(hook, held, webhooks.finished(held, DeliveryState.GIVEN_UP))
        return None
    return Job(event, hook, held)


def attempt(job: Job) -> Attempt | None:
    """Make one attempt and store what came of it; None after a defect, which is logged: it is due again later."""
    now = datetime.now(UTC)
    try:
        signing = [_unsealed(sealed, job.webhook.id) for sealed in webhooks.secrets_of(job.webhook, now)]
        made = gateway.call(job.webhook.url, job.event.id, body_of(job.event), signing, now)
        after = webhooks.after(job.held, made, _queue(job.webhook), datetime.now(UTC), random.random())  # noqa: S311  jitter, not a secret
        _store(job.webhook, job.held, after, made)
        _note(job.webhook, made, now)
    except Exception as defect:  # noqa: BLE001  one delivery stops no other
        log_defect(defect, event_id=job.event.id, webhook=job.webhook.id)
        return None
    return made


def _store(hook: Webhook, held: Delivery, after: Delivery, made: Attempt | None = None) -> None:
    is_ours = events.store_attempt(held, after)
    log(
        "delivery",
        webhook=hook.id,
        merchant=hook.client_id,
        outcome=after.state if is_ours else "claimed by another",
        attempts=after.attempts,
        status=made and made.status,
        milliseconds=made and made.milliseconds,
        reason=made and made.reason,
    )


def _queue(hook: Webhook) -> str:
    return webhooks.queue_of(hook.client_id, hook.id)


@lru_cache(maxsize=1024)
def _unsealed(sealed: bytes, webhook_id: int) -> Secret:
    """Decrypt the secret of a webhook once: each time is a call of KMS."""
    return secrets.unseal(sealed, webhook_id, service.OWNER)


# What an attempt says about its webhook


def _note(hook: Webhook, made: Attempt, now: datetime) -> None:
    """Store what an attempt says about its webhook, where that is news: it is slow, fails, or wants no more."""
    after = webhooks.after_attempt(hook, made, now)
    if after.state != hook.state:
        _switch_off(hook, now)
        return
    if after != hook:
        webhooks_store.note(after)
    if webhooks.is_to_be_told(after, now):
        _tell(after, now)


def _switch_off(hook: Webhook, now: datetime) -> None:
    """Switch a webhook off whose receiver answered that it is gone, unless it was given another URL meanwhile."""

    def switch_off() -> None:
        before, merchant = read(webhooks_store.key(hook.client_id, hook.id)), read(merchants.key(hook.client_id))
        if before is None or merchant is None or not before.is_on or before.url != hook.url:
            return
        after = replace(before, version=before.version + 1, state=BLOCKED, updated_at=now)
        service.store(before, after, merchant, Act("gone", OPERATOR, now))

    retry_on_change(switch_off)


def _tell(hook: Webhook, now: datetime) -> None:
    """Tell the manager of the merchant by e-mail that a webhook has been failing for a day, unless another did."""
    merchant = read(merchants.key(hook.client_id))
    if merchant is not None:
        mail = messages.failing_webhook(token_hex(16), merchant, hook.id, now)
        webhooks_store.note_told(hook, now, outbox_store.put(mail))


# The sweep


def sweep(now: datetime, seconds: float = SECONDS) -> Swept:
    """Send what is due, and what becomes due within so many seconds. A merchant that fails stops no other.

    Of that time at most a third is spent on looking for what the stream has missed: what was found has to be sent, too.
    What waits for a receiver that gives no answer does not count as behind: its merchant is told.
    """
    began = time.monotonic()
    by_merchant: dict[int, list[Webhook]] = defaultdict(list)
    for hook in webhooks_store.every():
        by_merchant[hook.client_id].append(hook)

    behind = _look_for_missed(by_merchant, now, began + seconds * LOOKING)
    looked = time.monotonic() - began
    limits = Limits(seconds - looked, THREADS, waits=True)
    with lane_runner.running("delivery", now + timedelta(seconds=looked), limits) as run:
        for hook in chain.from_iterable(by_merchant.values()):
            run.add(_Receiver(hook).lane)
        run.drain()
    swept = run.swept(counts_silent=False)
    return replace(swept, behind_seconds=max(swept.behind_seconds, int(behind.total_seconds())))


class _Receiver:
    """The receiver behind a webhook, as the attempts of a run have found it."""

    def __init__(self, hook: Webhook) -> None:
        self._hook, self._lock = hook, Lock()

    @property
    def lane(self) -> Lane:
        """Return the queue of the webhook."""
        queue = _queue(self._hook)
        due = partial(due_index.of_shard, events.TABLE, queue)
        return Lane(queue, due, self._attempt, partial(due_index.next_due, events.TABLE, queue))

    def _attempt(self, entry: Due, now: datetime, answers: list[bool]) -> bool:
        """Claim a delivery and make the attempt; return whether there was one to make."""
        job = claim(entry.key["day"], entry.key["place"], self._hook, now)
        made = attempt(job) if job else None
        if made is None:
            return False
        answers.append(made.status is not None)
        with self._lock:  # of two attempts at once, neither undoes what the other says
            self._hook = webhooks.after_attempt(self._hook, made, made.at)
        return True


def _look_for_missed(by_merchant: dict[int, list[Webhook]], now: datetime, until: float) -> timedelta:
    """Put the deliveries in queues that the stream has not begun, or whose holder died.

    Begin with the merchant that was looked at the longest ago. Return for how long the first merchant has waited for
    which the time was not enough.
    """
    cursors = events.cursors(list(by_merchant))
    since = {client_id: _since(hooks, cursors.get(client_id), now) for client_id, hooks in by_merchant.items()}
    for client_id in sorted(since, key=since.__getitem__):
        try:
            if not _look_at(client_id, by_merchant[client_id], since[client_id], now, until):
                return now - since[client_id]
        except Exception as defect:  # noqa: BLE001  see `sweep`
            log_defect(defect, merchant=client_id)
    return timedelta()


def _since(hooks: Sequence[Webhook], cursor: datetime | None, now: datetime) -> datetime:
    return max(cursor or min(hook.created_at for hook in hooks), now - webhooks.TRIED_FOR)


def _look_at(client_id: int, hooks: Sequence[Webhook], since: datetime, now: datetime, until: float) -> bool:
    """Look through the events of a merchant, and store how far; return False when the time was not enough.

    The next run goes on there, or at the first event of which a delivery is in progress.
    """
    reached, is_any = now - STREAMS_TURN, False
    new, again = _events(client_id, since - LATE, reached), _events(client_id, since - AGAIN, reached - AGAIN)
    for event, known in chain(new, again):
        missing = _missing(event, hooks, known)
        if missing and time.monotonic() >= until:  # an event of which nothing is missing takes next to no time
            _store_cursor(client_id, since, min(reached, event.at), is_any=is_any)
            return False
        is_any = True
        for hook in missing:
            events.begin(webhooks.queued(webhooks.begun(event, hook.id, now), _queue(hook)))
        if _queue_orphans(hooks, known, now):
            reached = min(reached, event.at)
    _store_cursor(client_id, since, reached, is_any=is_any)
    return True


def _events(client_id: int, begin: datetime, end: datetime) -> Iterator[tuple[Event, list[Delivery]]]:
    for span in spans(client_id, begin, end):
        yield from events.between(*span)


def _missing(event: Event, hooks: Sequence[Webhook], known: Sequence[Delivery]) -> list[Webhook]:
    """Return the webhooks to which nobody has begun to deliver an event."""
    begun = {one.webhook_id for one in known}
    return [hook for hook in hooks if hook.id not in begun and _is_wanted(event, hook)]


def _queue_orphans(hooks: Sequence[Webhook], known: Sequence[Delivery], now: datetime) -> bool:
    """Queue the deliveries whose holder died in the first attempt; return whether another first attempt goes on.

    That holder may die as well: the event must be looked at again.
    """
    by_id = {hook.id: hook for hook in hooks}
    goes_on = False
    for one in known:
        if one.state is not DeliveryState.PENDING or one.due_shard is not None or one.due_at is None:
            continue
        if now < one.due_at:
            goes_on = True
        elif one.webhook_id in by_id:
            events.enqueue(one, _queue(by_id[one.webhook_id]))
    return goes_on


def _store_cursor(client_id: int, since: datetime, reached: datetime, *, is_any: bool) -> None:
    """Store until when the events of a merchant were looked through, where that is worth a write."""
    if reached > since and (is_any or reached > since + KEPT_CURSOR):
        events.store_cursor(client_id, reached)
