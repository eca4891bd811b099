"""Builders of webhooks and events, and the moments of deliveries.

The streams of the tables in tests: delivered when a test says so, in its own thread."""

from datetime import UTC, datetime
from typing import Any

from chalicelib.domain.events import Event, event_of
from chalicelib.domain.phases import Phase
from chalicelib.domain.webhooks import Webhook, new_secret
from chalicelib.gateways import secrets
from chalicelib.services.webhooks import OWNER
from chalicelib.store import events, sequences, webhooks
from chalicelib.store.table import put_new, write_one
from infra.local import streams
from tests.support.stored import stored_record
from tests.support.transactions import a_payment

# The kind of the event of each phase (contract), written a second time.
OF_PAYMENTS = {
    Phase.UNKNOWN: "payment.unknown",
    Phase.REJECTED: "payment.rejected",
    Phase.AWAITING_COMPLETION: "payment.approved",
    Phase.APPROVED: "payment.approved",
    Phase.DECLINED: "payment.declined",
    Phase.AUTO_CANCELLED: "payment.cancelled",
}
OF_REVERSALS = {
    Phase.REVERSAL_APPROVED: "reversal.approved",
    Phase.DECLINED: "reversal.declined",
    Phase.REJECTED: "reversal.declined",
}
SECRET = new_secret(bytes(range(32)))


def a_hook(**changes: Any) -> Webhook:
    """A webhook that takes everything, of a merchant of its own."""
    now = datetime.now(UTC)
    facts: dict[str, Any] = {
        "client_id": 7,
        "id": 1,
        "url": "https://shop.example/events",
        "secret_sealed": b"sealed",
        "created_at": now,
        "updated_at": now,
        "on_since": now,
    }
    return Webhook(**{**facts, **changes})


def a_stored_hook(client_id: int, url: str, **changes: Any) -> Webhook:
    """Store a webhook whose secret is SECRET."""
    number = sequences.next_id(webhooks.TABLE)
    hook = a_hook(client_id=client_id, id=number, url=url, secret_sealed=secrets.seal(SECRET, number, OWNER), **changes)
    write_one(put_new(webhooks.TABLE, hook, "id"))
    return hook


def as_stored(hook: Webhook) -> Webhook:
    """Return the webhook as it is stored now."""
    return stored_record(webhooks.key(hook.client_id, hook.id))


def an_event(client_id: int = 7, at: datetime | None = None) -> Event:
    """The event of a payment that was just approved."""
    payment = a_payment(client_id=client_id, makes_events=True)
    made = event_of(payment, at or datetime.now(UTC))
    assert made is not None
    return made


def a_stored_event(client_id: int, at: datetime | None = None) -> Event:
    """Store it."""
    made = an_event(client_id, at)
    events.create(made)
    return made


def deliver_all() -> None:
    """Let the functions at the streams process what was stored so far, and what they store by it."""
    while found := list(streams.batches()):
        for function, records in found:
            streams.deliver(streams.call, function, records)


def forget() -> None:
    """Pass over what was stored so far, by other tests."""
    while list(streams.batches()):
        pass
