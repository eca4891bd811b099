"""Events of a merchant, and the webhooks that are told of them."""

from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.schemas.base import Answer
from chalicelib.schemas.webhooks import EventsAnswer, ListEvents, ResendEvent
from chalicelib.services import events


def listed(merchant_id: int, body: ListEvents, caller: Caller) -> EventsAnswer:
    """List the events of a period, 100 a page."""
    return EventsAnswer.of(events.list_events(body, caller, merchant_id, datetime.now(UTC)))


def resend(merchant_id: int, event_id: str, body: ResendEvent, caller: Caller) -> Answer:
    """Send an event again."""
    events.resend(body, caller, merchant_id, event_id, datetime.now(UTC))
    return Answer()
