"""Webhooks of a merchant, and their events."""

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.schemas.base import Answer, Headers, views_of
from chalicelib.schemas.webhooks import (
    CreateWebhook,
    DeleteWebhook,
    EventsAnswer,
    ListEvents,
    ListWebhooks,
    ResendEvent,
    TestAnswer,
    TestWebhook,
    UpdateWebhook,
    WebhookAnswer,
    WebhooksAnswer,
    WebhookView,
)
from chalicelib.services import webhooks


def create(merchant_id: int, body: CreateWebhook, caller: Caller, headers: Headers) -> WebhookAnswer:
    """Create a webhook, which receives the merchant's events."""
    created = webhooks.create(body, caller, merchant_id, outside.now(), key=headers.idempotency_key)
    made = created.record
    view = WebhookView.of(made.webhook, body.gmt, made.gmt, made.secret)
    return WebhookAnswer(webhook=view, headers=created.headers)


def update(merchant_id: int, webhook_id: int, body: UpdateWebhook, caller: Caller) -> WebhookAnswer:
    """Change a webhook, or give it a new secret."""
    made = webhooks.update(body, caller, merchant_id, webhook_id, outside.now())
    return WebhookAnswer(webhook=WebhookView.of(made.webhook, body.gmt, made.gmt, made.secret))


def delete(merchant_id: int, webhook_id: int, body: DeleteWebhook, caller: Caller) -> Answer:
    """Delete a webhook, and give up the events that wait for it."""
    webhooks.delete(body, caller, merchant_id, webhook_id, outside.now())
    return Answer()


def list_webhooks(merchant_id: int, body: ListWebhooks, caller: Caller) -> WebhooksAnswer:
    """List the webhooks of a merchant."""
    found, merchant_gmt = webhooks.list_webhooks(body, caller, merchant_id)
    return WebhooksAnswer(webhooks=views_of(lambda one: WebhookView.of(one, body.gmt, merchant_gmt), found))


def test(merchant_id: int, webhook_id: int, body: TestWebhook, caller: Caller) -> TestAnswer:
    """Send a test event (ping) to a webhook."""
    return TestAnswer(event_id=webhooks.test(body, caller, merchant_id, webhook_id, outside.now()))


def list_events(merchant_id: int, body: ListEvents, caller: Caller) -> EventsAnswer:
    """List the events of a period with their deliveries, 100 per page."""
    return EventsAnswer.of(webhooks.list_events(body, caller, merchant_id, outside.now()))


def resend_event(merchant_id: int, event_id: str, body: ResendEvent, caller: Caller) -> Answer:
    """Send an event again to one webhook or to all that take its kind."""
    webhooks.resend(body, caller, merchant_id, event_id, outside.now())
    return Answer()
