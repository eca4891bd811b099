"""The sweep of events: what the stream has missed is found, and the queues of the webhooks are worked off."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from chalicelib.domain import delivery
from chalicelib.domain.delivery import Delivery, State
from chalicelib.domain.event import Event, spans
from chalicelib.domain.webhook import Webhook
from chalicelib.log import log_defect
from chalicelib.services import deliveries
from chalicelib.services.delivery_queues import Swept, work_off
from chalicelib.store import events, webhooks

SECONDS = 45  # after which a run begins no other attempt: the last may take ten, and a run has 58
STREAMS_TURN = timedelta(seconds=10)  # what is younger is still the stream's
LATE = timedelta(minutes=2)  # after its time an event may still be stored: longer than any request and any run
KEPT_CURSOR = timedelta(minutes=10)  # of a merchant without events: storing it costs a write


def run(now: datetime, seconds: float = SECONDS) -> Swept:
    """Send what is due, and what becomes due within so many seconds. A merchant that fails stops no other."""
    by_merchant: dict[int, list[Webhook]] = defaultdict(list)
    for hook in webhooks.every():
        by_merchant[hook.client_id].append(hook)

    _look_for_missed(by_merchant, now)
    return work_off([hook for found in by_merchant.values() for hook in found], seconds)


def _look_for_missed(by_merchant: dict[int, list[Webhook]], now: datetime) -> None:
    """Put the deliveries in queues that the stream has not begun, or whose holder died."""
    cursors = events.cursors(list(by_merchant))
    for client_id, hooks in by_merchant.items():
        try:
            _look_at(client_id, hooks, cursors.get(client_id), now)
        except Exception as defect:  # noqa: BLE001  see `run`
            log_defect(defect, merchant=client_id)


def _look_at(client_id: int, hooks: Sequence[Webhook], cursor: datetime | None, now: datetime) -> None:
    oldest = max(cursor or min(hook.created_at for hook in hooks), now - delivery.TRIED_FOR)
    until, found = now - STREAMS_TURN, False
    for span in spans(client_id, oldest - LATE, now - STREAMS_TURN):
        for event, known in events.between(*span):
            found = True
            if not _is_in_order(event, hooks, {one.webhook_id: one for one in known}, now):
                until = min(until, event.at)
    if until > oldest and (found or until > oldest + KEPT_CURSOR):
        events.store_cursor(client_id, until)


def _is_in_order(event: Event, hooks: Sequence[Webhook], known: dict[int, Delivery], now: datetime) -> bool:
    """Queue the missing deliveries of an event; return False while a first attempt may end without a trace."""
    in_order = True
    for hook in hooks:
        queue = delivery.queue_of(hook.client_id, hook.id)
        found = known.get(hook.id)
        if found is None and deliveries.is_wanted(event, hook):
            events.begin(delivery.queued(delivery.begun(event, hook.id, now), queue))
        elif found and found.state is State.PENDING and found.queue is None and found.due_at:
            in_order = in_order and now >= found.due_at
            if now >= found.due_at:
                events.enqueue(found, queue)
    return in_order
