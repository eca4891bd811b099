"""Deliveries: each event is sent to its webhooks right after it is stored, and again while a delivery fails.

An attempt starts in two ways. The stream of the events table takes each new event, and each delivery without attempts,
at once. The sweep finds the others in the index `due`: those that the stream missed, and those that are due again.

To begin an event is to store its deliveries and then to take the event out of the index. Each delivery is stored once,
in the queue of its webhook, which is a lane of `services.lane_runner`. The process that makes an attempt holds the
delivery, so no second process makes it too. When a process dies, its hold ends after a time, and the event is sent
again under the same ID.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from itertools import chain
from secrets import token_hex

from chalicelib import outside
from chalicelib.domain import deliveries as rules
from chalicelib.domain import webhooks
from chalicelib.domain.agent import BLOCKED
from chalicelib.domain.deliveries import Attempt, Delivery, DeliveryState
from chalicelib.domain.events import Event
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import ERASED
from chalicelib.domain.webhooks import Webhook
from chalicelib.errors import ServiceError
from chalicelib.gateways import secrets
from chalicelib.gateways import webhooks as gateway
from chalicelib.log import log, log_defect
from chalicelib.schemas.webhooks import body_of
from chalicelib.services import webhooks as service
from chalicelib.services.lane_runner import Done, Lane, Run, Swept, begin_each
from chalicelib.store import deliveries as deliveries_store
from chalicelib.store import events, merchants
from chalicelib.store import outbox as outbox_store
from chalicelib.store import webhooks as webhooks_store
from chalicelib.store.audit import OPERATOR, Act
from chalicelib.store.due_records import Due
from chalicelib.store.retries import retry_on_change
from chalicelib.store.table import Item, decode, read, read_all

THREADS_OF_BATCH = 16  # parallel attempts of one call of the stream
THREADS = 4  # parallel attempts of the sweep at one webhook
SECONDS = 45  # for beginning attempts: the last may take 10, and a run has 58
BEGINNING = 1 / 3  # of a run's time, only for events that the stream missed


@dataclass(frozen=True)
class Job:
    """An attempt that only this process makes."""

    event: Event
    webhook: Webhook
    held: Delivery


# The stream of the table of events


def deliver(records: Sequence[tuple[str, Item]]) -> list[str]:
    """Send the events of these records; return the numbers of the records that must come again.

    A repeated record changes nothing, because a delivery begins once. Failed attempts and slow webhooks are left to the
    sweep.
    """
    hooks_of = cache(webhooks_store.of_merchant)  # one read per call is new enough: it is newer than every record
    begun, failed = begin_each(records, partial(_jobs_of, hooks_of))
    jobs = list(chain.from_iterable(begun))
    if jobs:
        with ThreadPoolExecutor(min(THREADS_OF_BATCH, len(jobs))) as pool:
            list(pool.map(attempt, jobs))
    return failed


def _jobs_of(hooks_of: Callable[[int], list[Webhook]], image: Item) -> list[Job]:
    """Return the attempts for a stored item: of a new event, or of a delivery without attempts."""
    now = outside.now()
    if "kind" in image:
        event = decode(Event, image)
        hooks = {hook.id: hook for hook in hooks_of(event.client_id) if hook.gets(event)}
        begun = _begin(event, [rules.begun_at_once(event, hook, now) for hook in hooks.values()])
        return [Job(event, hooks[one.webhook_id], one) for one in begun if one.attempts]
    waiting = decode(Delivery, image)
    if any(hook.slow_since for hook in hooks_of(waiting.client_id) if hook.id == waiting.webhook_id):
        return []
    job = claim(waiting.day, waiting.place, now)
    return [job] if job else []


def _begin(event: Event, deliveries: Sequence[Delivery]) -> list[Delivery]:
    """Store the deliveries of an event, then take the event out of the index. Return those that this process stored.

    If this process dies meanwhile, the event is still due, and another process stores the missing deliveries. If the
    store fails at the last write, the attempts are made all the same, because this process holds the deliveries.
    """
    begun = [one for one in deliveries if deliveries_store.begin(one)]
    if event.due_at:
        try:
            events.end_beginning(event)
        except ServiceError as outage:
            log_defect(outage, event_id=event.id)
    return begun


# One attempt


def claim(day: str, place: str, now: datetime) -> Job | None:
    """Claim a due delivery and return the attempt to make; None when none is left to make."""
    held = deliveries_store.claim(day, place, now)
    if held is None:
        return None
    keys = events.key(day, rules.event_place(place)), webhooks_store.key(held.client_id, held.webhook_id)
    event, hook = read_all(keys)
    if rules.is_given_up(held, event, hook, now):
        _store(held, rules.finished(held, DeliveryState.GIVEN_UP))
        return None
    return Job(event, hook, held)


def attempt(job: Job) -> Attempt | None:
    """Make one attempt and store its result. After a defect, log it and return None: the delivery is due again."""
    now = outside.now()
    try:
        signing = [_unsealed(sealed, job.webhook.id) for sealed in webhooks.secrets_of(job.webhook, now)]
        made = gateway.call(job.webhook.url, job.event.id, body_of(job.event), signing, now)
        if job.event.erased and made.answer:
            made = replace(made, answer=ERASED)
        _store(job.held, rules.after(job.held, made, outside.now(), outside.current.between(0, 1)), made)
        _note(job.webhook, made, now)
    except Exception as defect:  # noqa: BLE001  one defect must not stop other deliveries
        log_defect(defect, event_id=job.event.id, webhook=job.webhook.id)
        return None
    return made


def _store(held: Delivery, after: Delivery, made: Attempt | None = None) -> None:
    is_ours = deliveries_store.store_attempt(held, after)
    log(
        "delivery",
        webhook=held.webhook_id,
        merchant=held.client_id,
        outcome=after.state if is_ours else "claimed by another",
        attempts=after.attempts,
        status=made and made.status,
        milliseconds=made and made.milliseconds,
        reason=made and made.reason,
    )


@outside.made_once
def _unsealed(sealed: bytes, webhook_id: int) -> Secret:
    """Decrypt the secret of a webhook once, because each decryption is a call of KMS."""
    return secrets.unseal(sealed, webhook_id, service.OWNER)


# The effect of an attempt on its webhook


def _note(hook: Webhook, made: Attempt, now: datetime) -> None:
    """Store the effect of an attempt on its webhook: the webhook is slow, failing, or gone."""
    after = rules.after_attempt(hook, made, now)
    if after.state != hook.state:
        _switch_off(hook, now)
        return
    if after != hook:
        webhooks_store.note(after)
    if rules.is_to_be_told(after, now):
        _email_manager(after, now)


def _switch_off(hook: Webhook, now: datetime) -> None:
    """Switch off a webhook whose receiver answered "gone", unless its URL has changed since."""

    def switch_off() -> None:
        before, merchant = read(webhooks_store.key(hook.client_id, hook.id)), read(merchants.key(hook.client_id))
        if before is None or merchant is None or not before.is_on or before.url != hook.url:
            return
        after = replace(before, state=BLOCKED, updated_at=now)
        service.store(before, after, merchant, Act("gone", OPERATOR, now))

    retry_on_change(switch_off)


def _email_manager(hook: Webhook, now: datetime) -> None:
    """Tell the merchant's manager once by e-mail that a webhook has been failing for a day."""
    merchant = read(merchants.key(hook.client_id))
    if merchant is not None:
        mail = rules.failing_webhook(token_hex(16), merchant, hook.id, now)
        webhooks_store.note_told(hook, now, outbox_store.put(mail))


# The sweep


def sweep(now: datetime, seconds: float = SECONDS, *, waits: bool = True) -> Swept:
    """Send the deliveries that are due, or within `seconds` if it `waits`. A failing merchant stops no other.

    First queue the deliveries of the events that the stream has missed. Deliveries to silent receivers do not count as
    behind: their merchants receive an e-mail.
    """
    run = Run("delivery", now, seconds, waits=waits)
    run.drain([Lane(events.LANE, events.TABLE, partial(_begin_missed, now))], seconds * BEGINNING)
    queues = [rules.queue_of(hook.client_id, hook.id) for hook in webhooks_store.every()]
    run.drain([Lane(name, events.TABLE, _attempt, THREADS) for name in queues])
    return run.swept(counts_silent=False)


def _begin_missed(due_at: datetime, entry: Due, _: datetime) -> Done:
    """Begin an event that the stream has missed. Its deliveries are due `due_at`, when the run began.

    The webhooks are read after the event, because one of them may be younger than the run.
    """
    event = read(events.key(entry.key["day"], entry.key["place"]))
    if event is not None and event.due_at is not None:
        hooks = webhooks_store.of_merchant(event.client_id)
        _begin(event, [rules.begun(event, hook.id, due_at) for hook in hooks if hook.gets(event)])
    return Done()  # the run counts attempts, and this is none


def _attempt(entry: Due, now: datetime) -> Done:
    job = claim(entry.key["day"], entry.key["place"], now)
    made = attempt(job) if job else None
    return Done(was_due=True, answers=(made.status is not None,)) if made else Done()
