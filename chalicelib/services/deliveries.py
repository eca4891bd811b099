"""Deliveries: each event is sent to its webhooks right after it is stored, and again while a delivery fails.

The stream of the events table makes the first attempt. The sweep finds events that the stream missed, and makes all
later attempts. Each webhook has a queue, which is a lane of `services.lane_runner`. The process that makes an attempt
holds the delivery, so no second process makes it too. When a process dies, its hold ends after a time, and the event is
sent again under the same ID.
"""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache, lru_cache, partial
from itertools import chain
from secrets import token_hex
from threading import Lock

from chalicelib import clock
from chalicelib.domain import outbox as messages
from chalicelib.domain import webhooks
from chalicelib.domain.agent import BLOCKED
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import ERASED
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

THREADS_OF_BATCH = 16  # parallel attempts of one call of the stream
THREADS = 32  # parallel attempts of one run of the sweep
SECONDS = 45  # for beginning attempts: the last may take 10, and a run has 58
LOOKING = 1 / 3  # of a run's time: the search for missed events
STREAMS_TURN = timedelta(seconds=10)  # younger events are left to the stream
LATE = timedelta(minutes=2)  # an event may be stored so long after its time: longer than any request or run
AGAIN = timedelta(hours=3)  # a second search: a paused process may store an event late
KEPT_CURSOR = timedelta(minutes=10)  # for a merchant without events: each update costs a write


class Job(Record):
    """An attempt that only this process makes."""

    event: Event
    webhook: Webhook
    held: Delivery


# The first attempts: the stream of the table of events


def deliver(records: Sequence[tuple[str, Image]]) -> list[str]:
    """Send the events of these records; return the numbers of the records that must come again.

    A repeated record changes nothing, because a delivery begins once. Failed attempts and slow webhooks go to the
    queues.
    """
    jobs: list[Job] = []
    hooks_of = cache(webhooks_store.of_merchant)  # one read per call is new enough: it is newer than every record
    failed = lane_runner.begin_each(records, lambda image: jobs.extend(_jobs_of(image, hooks_of)))
    if jobs:
        with ThreadPoolExecutor(min(THREADS_OF_BATCH, len(jobs))) as pool:
            list(pool.map(attempt, jobs))
    return failed


def _jobs_of(image: Image, hooks_of: Callable[[int], list[Webhook]]) -> list[Job]:
    """Return the attempts for a stored item: first attempts of an event, or an urgent delivery."""
    now = clock.now()
    if "kind" in image:
        event = decode(Event, image)
        hooks = [hook for hook in hooks_of(event.client_id) if _is_wanted(event, hook)]
        found = [begin(event, hook, now) for hook in hooks]
    else:  # an urgent delivery
        urgent = decode(Delivery, image)
        hooks = [hook for hook in hooks_of(int(urgent.day.split("#")[0])) if hook.id == urgent.webhook_id]
        found = [claim(urgent.day, urgent.place, hook, now) for hook in hooks if not hook.slow_since]
    return [job for job in found if job]


def _is_wanted(event: Event, hook: Webhook) -> bool:
    """Return whether a webhook gets an event. A ping is for one webhook; older events than the webhook are not sent."""
    if event.kind == PING:
        return event.webhook_id == hook.id
    return hook.takes(event.kind) and hook.on_since <= event.at


# One attempt


def begin(event: Event, hook: Webhook, now: datetime) -> Job | None:
    """Store the delivery of an event and return the attempt to make; None when there is none to make now.

    Another process may hold the delivery, or the webhook is slow and the delivery waits in its queue.
    """
    new = webhooks.begun(event, hook.id, now)
    if hook.slow_since is not None:
        events.begin(webhooks.queued(new, _queue(hook)))
        return None
    held = webhooks.held(new, now)
    return Job(event, hook, held) if events.begin(held) else None


def claim(day: str, place: str, hook: Webhook, now: datetime) -> Job | None:
    """Claim a due delivery and return the attempt to make; None when none is left to make."""
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
    """Make one attempt and store its result. After a defect, log it and return None: the delivery is due again."""
    now = clock.now()
    try:
        signing = [_unsealed(sealed, job.webhook.id) for sealed in webhooks.secrets_of(job.webhook, now)]
        made = gateway.call(job.webhook.url, job.event.id, body_of(job.event), signing, now)
        if job.event.erased and made.answer:
            made = replace(made, answer=ERASED)
        after = webhooks.after(job.held, made, _queue(job.webhook), clock.now(), random.random())  # noqa: S311  jitter, not a secret
        _store(job.webhook, job.held, after, made)
        _note(job.webhook, made, now)
    except Exception as defect:  # noqa: BLE001  one defect must not stop other deliveries
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
    """Decrypt the secret of a webhook once, because each decryption is a call of KMS."""
    return secrets.unseal(sealed, webhook_id, service.OWNER)


# The effect of an attempt on its webhook


def _note(hook: Webhook, made: Attempt, now: datetime) -> None:
    """Store the effect of an attempt on its webhook: the webhook is slow, failing, or gone."""
    after = webhooks.after_attempt(hook, made, now)
    if after.state != hook.state:
        _switch_off(hook, now)
        return
    if after != hook:
        webhooks_store.note(after)
    if webhooks.is_to_be_told(after, now):
        _email_manager(after, now)


def _switch_off(hook: Webhook, now: datetime) -> None:
    """Switch off a webhook whose receiver answered "gone", unless its URL has changed since."""

    def switch_off() -> None:
        before, merchant = read(webhooks_store.key(hook.client_id, hook.id)), read(merchants.key(hook.client_id))
        if before is None or merchant is None or not before.is_on or before.url != hook.url:
            return
        after = replace(before, version=before.version + 1, state=BLOCKED, updated_at=now)
        service.store(before, after, merchant, Act("gone", OPERATOR, now))

    retry_on_change(switch_off)


def _email_manager(hook: Webhook, now: datetime) -> None:
    """Tell the merchant's manager once by e-mail that a webhook has been failing for a day."""
    merchant = read(merchants.key(hook.client_id))
    if merchant is not None:
        mail = messages.failing_webhook(token_hex(16), merchant, hook.id, now)
        webhooks_store.note_told(hook, now, outbox_store.put(mail))


# The sweep


def sweep(now: datetime, seconds: float = SECONDS, *, waits: bool = True) -> Swept:
    """Send the deliveries that are due, or within `seconds` if it `waits`. A failing merchant stops no other.

    The search for missed events takes at most a third of the time, so that time remains for sending. Deliveries to
    silent receivers do not count as behind: their merchants receive an e-mail.
    """
    began = time.monotonic()
    by_merchant: dict[int, list[Webhook]] = defaultdict(list)
    for hook in webhooks_store.every():
        by_merchant[hook.client_id].append(hook)

    behind = _look_for_missed(by_merchant, now, began + seconds * LOOKING)
    looked = time.monotonic() - began
    limits = Limits(seconds - looked, THREADS, waits=waits)
    with lane_runner.running("delivery", now + timedelta(seconds=looked), limits) as run:
        for hook in chain.from_iterable(by_merchant.values()):
            run.add(_Receiver(hook).lane)
        run.drain()
    swept = run.swept(counts_silent=False)
    return replace(swept, behind_seconds=max(swept.behind_seconds, int(behind.total_seconds())))


class _Receiver:
    """The receiver behind a webhook, with the webhook as the run's attempts have changed it."""

    def __init__(self, hook: Webhook) -> None:
        self._hook, self._lock = hook, Lock()

    @property
    def lane(self) -> Lane:
        """Return the queue of the webhook as a lane."""
        queue = _queue(self._hook)
        due = partial(due_index.of_shard, events.TABLE, queue)
        return Lane(queue, due, self._attempt, partial(due_index.next_due, events.TABLE, queue))

    def _attempt(self, entry: Due, now: datetime, answers: list[bool]) -> bool:
        """Claim a delivery and make the attempt; return whether an attempt was made."""
        job = claim(entry.key["day"], entry.key["place"], self._hook, now)
        made = attempt(job) if job else None
        if made is None:
            return False
        answers.append(made.status is not None)
        with self._lock:  # parallel attempts must not undo each other's changes
            self._hook = webhooks.after_attempt(self._hook, made, made.at)
        return True


def _look_for_missed(by_merchant: dict[int, list[Webhook]], now: datetime, until: float) -> timedelta:
    """Queue the deliveries that the stream has missed, or whose holder died.

    Begin with the merchant whose last search is the oldest. Return the age of the oldest search that found no time.
    """
    cursors = events.cursors(list(by_merchant))
    since = {client_id: _since(hooks, cursors.get(client_id), now) for client_id, hooks in by_merchant.items()}
    for client_id in sorted(since, key=since.__getitem__):
        try:
            if not _look_at(client_id, by_merchant[client_id], since[client_id], now, until):
                return now - since[client_id]
        except Exception as defect:  # noqa: BLE001  a failing merchant stops no other
            log_defect(defect, merchant=client_id)
    return timedelta()


def _since(hooks: Sequence[Webhook], cursor: datetime | None, now: datetime) -> datetime:
    return max(cursor or min(hook.created_at for hook in hooks), now - webhooks.TRIED_FOR)


def _look_at(client_id: int, hooks: Sequence[Webhook], since: datetime, now: datetime, until: float) -> bool:
    """Search the events of a merchant and store how far; return False when the time was not enough.

    The next run continues there, or at the first event with a delivery in progress.
    """
    reached, is_any = now - STREAMS_TURN, False
    new, again = _events(client_id, since - LATE, reached), _events(client_id, since - AGAIN, reached - AGAIN)
    for event, known in chain(new, again):
        missing = _missing(event, hooks, known)
        if missing and time.monotonic() >= until:  # complete events are skipped cheaply
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
    """Return the webhooks that should get an event and have no delivery of it."""
    begun = {one.webhook_id for one in known}
    return [hook for hook in hooks if hook.id not in begun and _is_wanted(event, hook)]


def _queue_orphans(hooks: Sequence[Webhook], known: Sequence[Delivery], now: datetime) -> bool:
    """Queue the deliveries whose holder died in the first attempt; return whether a first attempt is in progress.

    Its holder may die as well, so the next search must include the event again.
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
    """Store how far a merchant's events were searched, where that is worth a write."""
    if reached > since and (is_any or reached > since + KEPT_CURSOR):
        events.store_cursor(client_id, reached)
