"""The sweep of events: what the stream has missed is found, and the queues of the webhooks are worked off."""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain

from chalicelib.domain import delivery
from chalicelib.domain.delivery import Delivery, State
from chalicelib.domain.event import Event, spans
from chalicelib.domain.webhook import Webhook
from chalicelib.log import log_defect
from chalicelib.services import deliveries
from chalicelib.services.delivery_queues import Swept, work_off
from chalicelib.store import events, webhooks

SECONDS = 45  # after which a run begins no other attempt: the last may take ten, and a run has 58
LOOKING = 1 / 3  # of a run
STREAMS_TURN = timedelta(seconds=10)  # what is younger is still the stream's
LATE = timedelta(minutes=2)  # after its time an event may still be stored: longer than any request and any run
AGAIN = timedelta(hours=3)  # after its time it is looked at once more: a process that stood still may store it late
KEPT_CURSOR = timedelta(minutes=10)  # of a merchant without events: storing it costs a write


def run(now: datetime, seconds: float = SECONDS) -> Swept:
    """Send what is due, and what becomes due within so many seconds. A merchant that fails stops no other.

    Of that time at most a third is spent on looking for what the stream has missed: what was found has to be sent, too.
    """
    until = time.monotonic() + seconds
    by_merchant: dict[int, list[Webhook]] = defaultdict(list)
    for hook in webhooks.every():
        by_merchant[hook.client_id].append(hook)

    behind = _look_for_missed(by_merchant, now, time.monotonic() + seconds * LOOKING)
    swept = work_off([hook for found in by_merchant.values() for hook in found], until - time.monotonic())
    return replace(swept, behind_seconds=max(swept.behind_seconds, int(behind.total_seconds())))


def _look_for_missed(by_merchant: dict[int, list[Webhook]], now: datetime, until: float) -> timedelta:
    """Put the deliveries in queues that the stream has not begun, or whose holder died.

    Begin with the merchant that was looked at the longest ago. Return for how long the first has waited for whom the
    time was not enough.
    """
    cursors = events.cursors(list(by_merchant))
    since = {client_id: _since(hooks, cursors.get(client_id), now) for client_id, hooks in by_merchant.items()}
    for client_id in sorted(since, key=since.__getitem__):
        try:
            if not _look_at(client_id, by_merchant[client_id], since[client_id], now, until):
                return now - since[client_id]
        except Exception as defect:  # noqa: BLE001  see `run`
            log_defect(defect, merchant=client_id)
    return timedelta()


def _since(hooks: Sequence[Webhook], cursor: datetime | None, now: datetime) -> datetime:
    return max(cursor or min(hook.created_at for hook in hooks), now - delivery.TRIED_FOR)


def _look_at(client_id: int, hooks: Sequence[Webhook], since: datetime, now: datetime, until: float) -> bool:
    """Look through the events of a merchant; return False when the time was not enough: the next run goes on."""
    reached, is_whole, found = now - STREAMS_TURN, True, False
    again = _events_between(client_id, since - AGAIN, reached - AGAIN)
    for event, known in chain(_events_between(client_id, since - LATE, reached), again):
        missing = _missing(event, hooks, known)
        is_whole = not missing or time.monotonic() < until  # what is there is passed in no time
        if not is_whole:
            reached = min(reached, event.at)
            break
        found = True
        for hook in missing:
            events.begin(delivery.queued(delivery.begun(event, hook.id, now), _queue(hook)))
        if not _is_in_order(hooks, known, now):
            reached = min(reached, event.at)
    if reached > since and (found or reached > since + KEPT_CURSOR):
        events.store_cursor(client_id, reached)
    return is_whole


def _events_between(client_id: int, begin: datetime, end: datetime) -> Iterator[tuple[Event, list[Delivery]]]:
    for span in spans(client_id, begin, end):
        yield from events.between(*span)


def _missing(event: Event, hooks: Sequence[Webhook], known: Sequence[Delivery]) -> list[Webhook]:
    """Return the webhooks to which nobody has begun to deliver an event."""
    begun = {one.webhook_id for one in known}
    return [hook for hook in hooks if hook.id not in begun and deliveries.is_wanted(event, hook)]


def _is_in_order(hooks: Sequence[Webhook], known: Sequence[Delivery], now: datetime) -> bool:
    """Queue the deliveries whose holder died; return False while a first attempt may end without a trace."""
    by_id = {hook.id: hook for hook in hooks}
    held = [one for one in known if one.state is State.PENDING and one.queue is None and one.due_at]
    for one in held:
        if one.due_at and now >= one.due_at and one.webhook_id in by_id:
            events.enqueue(one, _queue(by_id[one.webhook_id]))
    return all(one.due_at and now >= one.due_at for one in held)


def _queue(hook: Webhook) -> str:
    return delivery.queue_of(hook.client_id, hook.id)
