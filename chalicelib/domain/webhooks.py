"""Webhooks: the addresses that receive a merchant's events, and the secrets that sign them."""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from chalicelib.domain.agent import ACTIVE
from chalicelib.domain.events import PING, Event
from chalicelib.domain.secret import Secret

MOST = 5  # webhooks per merchant
SECRET_BYTES = 32
PREFIX = "whsec_"
OLD_SECRET_LASTS = timedelta(hours=24)
ALWAYS = datetime(9999, 1, 1, tzinfo=UTC)
EVENTS_LAST = timedelta(days=7)  # after the last webhook is switched off, because it may be switched on again


@dataclass(frozen=True)
class Webhook:
    """A stored webhook. Its secrets are encrypted for it and work for no other webhook.

    `slow_since`: its last answer was slow or missing, so it is not called where other deliveries would have to wait.
    """

    client_id: int
    id: int
    url: str
    secret_sealed: bytes
    created_at: datetime
    updated_at: datetime
    on_since: datetime  # earlier events are sent only on request
    types: tuple[str, ...] = ()  # empty: every kind
    state: int = ACTIVE
    description: str | None = None
    version: int = 1
    old_secret_sealed: bytes | None = None
    old_secret_until: datetime | None = None
    slow_since: datetime | None = None
    failing_since: datetime | None = None
    told_at: datetime | None = None  # the last e-mail to the merchant's manager about its failures

    @property
    def is_on(self) -> bool:
        """Return whether events are sent to it."""
        return self.state == ACTIVE

    def takes(self, kind: str) -> bool:
        """Return whether it takes events of this kind."""
        return self.is_on and (not self.types or kind in self.types)

    def gets(self, event: Event) -> bool:
        """Return whether a new event is sent to it. A ping is for one webhook. Older events than `on_since` are not."""
        if event.kind == PING:
            return event.webhook_id == self.id
        return self.takes(event.kind) and self.on_since <= event.at


def new_secret(random: bytes) -> Secret:
    """Return the secret of a webhook from random bytes, in the form of Standard Webhooks."""
    return Secret(PREFIX + b64encode(random).decode())


def sign(secrets: Iterable[Secret], event_id: str, timestamp: int, body: bytes) -> str:
    """Return the header `webhook-signature` by Standard Webhooks, with one signature for each secret."""
    signed = f"{event_id}.{timestamp}.".encode() + body
    keys = [b64decode(secret.reveal().removeprefix(PREFIX)) for secret in secrets]
    digests = [hmac.new(key, signed, hashlib.sha256).digest() for key in keys]
    return " ".join(f"v1,{b64encode(digest).decode()}" for digest in digests)


def rotated(webhook: Webhook, sealed: bytes, now: datetime) -> Webhook:
    """Return the webhook with a new secret. The previous secret also signs for a day."""
    until = now + OLD_SECRET_LASTS
    return replace(webhook, secret_sealed=sealed, old_secret_sealed=webhook.secret_sealed, old_secret_until=until)


def secrets_of(webhook: Webhook, now: datetime) -> tuple[bytes, ...]:
    """Return the encrypted secrets that sign now, the newest first."""
    if webhook.old_secret_sealed is None or webhook.old_secret_until is None or now >= webhook.old_secret_until:
        return (webhook.secret_sealed,)
    return webhook.secret_sealed, webhook.old_secret_sealed


def events_until(webhooks: Iterable[Webhook], now: datetime) -> datetime:
    """Return the time until which the transactions of a merchant with these webhooks make events."""
    return ALWAYS if any(webhook.is_on for webhook in webhooks) else now + EVENTS_LAST
