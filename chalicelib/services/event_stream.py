"""The stream of the table of events: what was just stored is sent at once.

A record that comes twice changes nothing: a delivery is begun once. What fails, and what would make others wait, is
left to the queues.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache
from typing import Any

from chalicelib.domain.delivery import Delivery
from chalicelib.domain.event import Event
from chalicelib.domain.webhook import Webhook
from chalicelib.errors import ServiceError
from chalicelib.log import log_defect
from chalicelib.services import deliveries
from chalicelib.services.deliveries import Job
from chalicelib.store import webhooks
from chalicelib.store.codec import decode

THREADS = 16  # attempts of one call at once

Image = Mapping[str, Any]  # an item as it was stored


def deliver(records: Sequence[tuple[str, Image]]) -> list[str]:
    """Send the events of these records; return the numbers of those that could not be begun and are to come again.

    A record is its number in the stream and the item that was stored.
    """
    failed: list[str] = []
    jobs: list[Job] = []
    hooks_of = cache(webhooks.of_merchant)  # read once: they are as new as the newest record
    for number, image in records:
        try:
            jobs += _jobs_of(image, hooks_of)
        except ServiceError as outage:  # of the store
            log_defect(outage, number=number)
            failed.append(number)
    if jobs:
        with ThreadPoolExecutor(min(THREADS, len(jobs))) as pool:
            list(pool.map(deliveries.attempt, jobs))
    return failed


def _jobs_of(image: Image, hooks_of: Callable[[int], list[Webhook]]) -> Iterable[Job]:
    """Return the attempts that a stored item asks for: the first of an event, or one that was asked for again."""
    now = datetime.now(UTC)
    if "kind" in image:
        event = decode(Event, image)
        hooks = [hook for hook in hooks_of(event.client_id) if deliveries.is_wanted(event, hook)]
        found = [deliveries.begin(event, hook, now) for hook in hooks]
    else:  # a delivery that is urgent
        delivery = decode(Delivery, image)
        hooks = [hook for hook in hooks_of(int(delivery.day.split("#")[0])) if hook.id == delivery.webhook_id]
        found = [deliveries.claim(delivery.day, delivery.place, hook, now) for hook in hooks if not hook.slow_since]
    return [job for job in found if job]
