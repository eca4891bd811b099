"""Deliveries: an event is sent to the webhooks that take it, right after it was stored, and again while one fails.

Who makes an attempt holds the delivery: two processes do not both make it. A process that dies lets go of it when its
time is over; then the event is sent once more, under the same ID.
"""

import random
from datetime import UTC, datetime
from functools import lru_cache

from chalicelib.domain import delivery, webhook
from chalicelib.domain.delivery import Attempt, Delivery, State
from chalicelib.domain.event import PING, Event
from chalicelib.domain.secret import Secret
from chalicelib.domain.webhook import Webhook
from chalicelib.gateways import secrets
from chalicelib.gateways import webhooks as gateway
from chalicelib.log import log, log_defect
from chalicelib.record import Record
from chalicelib.schemas.events import body_of
from chalicelib.services import failing_webhooks
from chalicelib.services.webhooks import OWNER
from chalicelib.store import events


class Job(Record):
    """One attempt that is to be made, by this process alone."""

    event: Event
    webhook: Webhook
    held: Delivery


def is_wanted(event: Event, hook: Webhook) -> bool:
    """Return whether a webhook gets an event: a ping is for one alone, and nothing is older than the webhook."""
    if event.kind == PING:
        return event.webhook_id == hook.id
    return hook.takes(event.kind) and hook.on_since <= event.at


def begin(event: Event, hook: Webhook, now: datetime) -> Job | None:
    """Store the delivery of an event, and return the attempt to make; None when it is in other hands, or queued."""
    new = delivery.begun(event, hook.id, now)
    if hook.slow_since is not None:
        events.begin(delivery.queued(new, _queue(hook)))
        return None
    held = delivery.held(new, now)
    return Job(event, hook, held) if events.begin(held) else None


def claim(day: str, place: str, hook: Webhook, now: datetime) -> Job | None:
    """Claim a delivery that is due, and return the attempt to make; None when there is none to make any more."""
    held = events.claim(day, place, _queue(hook), now)
    if held is None:
        return None
    event = events.get(day, delivery.event_place(place))
    is_off = not hook.is_on and (event is None or event.kind != PING)
    if event is None or is_off or delivery.is_too_late(held, now):
        _store(hook, held, delivery.finished(held, State.GIVEN_UP))
        return None
    return Job(event, hook, held)


def attempt(job: Job) -> Attempt | None:
    """Make one attempt and store what came of it; None after a defect, which is logged: it is due again later."""
    now = datetime.now(UTC)
    try:
        signing = [_unsealed(sealed, job.webhook.id) for sealed in webhook.secrets_of(job.webhook, now)]
        made = gateway.call(job.webhook.url, job.event.id, body_of(job.event), signing, now)
        after = delivery.after(job.held, made, _queue(job.webhook), datetime.now(UTC), random.random())  # noqa: S311  jitter, not a secret
        _store(job.webhook, job.held, after, made)
        failing_webhooks.note(job.webhook, made, now)
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
    return delivery.queue_of(hook.client_id, hook.id)


@lru_cache(maxsize=1024)
def _unsealed(sealed: bytes, webhook_id: int) -> Secret:
    """Decrypt the secret of a webhook once: each time is a call of KMS."""
    return secrets.unseal(sealed, webhook_id, OWNER)
