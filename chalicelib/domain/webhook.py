"""A webhook: the URL that a merchant's events are sent to, and the secrets that sign them."""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

from chalicelib.domain.delivery import Attempt
from chalicelib.domain.secret import Secret
from chalicelib.domain.state import ACTIVE, BLOCKED
from chalicelib.record import Record

MOST = 5  # of a merchant
SECRET_BYTES = 32
PREFIX = "whsec_"
OLD_SECRET_LASTS = timedelta(hours=24)
TOLD_AFTER = timedelta(days=1)  # of failures alone
ALWAYS = datetime(9999, 1, 1, tzinfo=UTC)
EVENTS_LAST = timedelta(days=7)  # after the last webhook was switched off: it may be switched on again


class Webhook(Record):
    """A stored webhook. Its secrets are encrypted for it alone.

    `slow_since`: its last answer took long, or did not come, so it is not called where others would have to wait.
    """

    client_id: int
    id: int
    url: str
    secret_sealed: bytes
    created_at: datetime
    updated_at: datetime
    on_since: datetime  # what happened before is not sent by itself
    types: tuple[str, ...] = ()  # none: every kind
    state: int = ACTIVE
    description: str | None = None
    version: int = 1
    old_secret_sealed: bytes | None = None
    old_secret_until: datetime | None = None
    slow_since: datetime | None = None
    failing_since: datetime | None = None
    told_at: datetime | None = None  # when its merchant's manager was last told that it fails

    @property
    def is_on(self) -> bool:
        """Return whether events are sent to it."""
        return self.state == ACTIVE

    def takes(self, kind: str) -> bool:
        """Return whether it takes events of this kind."""
        return self.is_on and (not self.types or kind in self.types)


def new_secret(random: bytes) -> Secret:
    """Return the secret of a webhook made of random bytes, as Standard Webhooks writes it."""
    return Secret(PREFIX + b64encode(random).decode())


def sign(secrets: Iterable[Secret], event_id: str, timestamp: int, body: bytes) -> str:
    """Return the header `webhook-signature` of a request, as Standard Webhooks says: one signature for each secret."""
    signed = f"{event_id}.{timestamp}.".encode() + body
    keys = [b64decode(secret.reveal().removeprefix(PREFIX)) for secret in secrets]
    digests = [hmac.new(key, signed, hashlib.sha256).digest() for key in keys]
    return " ".join(f"v1,{b64encode(digest).decode()}" for digest in digests)


def rotated(webhook: Webhook, sealed: bytes, now: datetime) -> Webhook:
    """Return the webhook with a new secret; the one before signs, too, for a day."""
    until = now + OLD_SECRET_LASTS
    return replace(webhook, secret_sealed=sealed, old_secret_sealed=webhook.secret_sealed, old_secret_until=until)


def secrets_of(webhook: Webhook, now: datetime) -> tuple[bytes, ...]:
    """Return the encrypted secrets that sign now, the newest first."""
    if webhook.old_secret_sealed is None or webhook.old_secret_until is None or now >= webhook.old_secret_until:
        return (webhook.secret_sealed,)
    return webhook.secret_sealed, webhook.old_secret_sealed


def events_until(webhooks: Iterable[Webhook], now: datetime) -> datetime:
    """Return until when the transactions of a merchant with these webhooks make events."""
    return ALWAYS if any(webhook.is_on for webhook in webhooks) else now + EVENTS_LAST


def after_attempt(webhook: Webhook, made: Attempt, now: datetime) -> Webhook:
    """Return the webhook with what an attempt says about it; one that answers that it is gone is switched off."""
    return replace(
        webhook,
        state=BLOCKED if made.status == HTTPStatus.GONE else webhook.state,
        slow_since=(webhook.slow_since or now) if made.was_slow else None,
        failing_since=None if made.succeeded else (webhook.failing_since or now),
        told_at=None if made.succeeded else webhook.told_at,
    )


def is_to_be_told(webhook: Webhook, now: datetime) -> bool:
    """Return whether its merchant's manager is to be told that it fails: after a day of it, and each day again."""
    since = webhook.told_at or webhook.failing_since
    return since is not None and now >= since + TOLD_AFTER
