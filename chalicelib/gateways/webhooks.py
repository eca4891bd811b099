"""The call of a webhook: signed by Standard Webhooks, with the same guard and limits as a partner's."""

from collections.abc import Callable, Sequence
from datetime import datetime

from chalicelib import outside
from chalicelib.domain import deliveries, webhooks
from chalicelib.domain.deliveries import Attempt
from chalicelib.domain.secret import Secret
from chalicelib.domain.url_guard import is_own, is_plain_at, is_public
from chalicelib.domain.urls import OWN_MACHINE
from chalicelib.gateways import https
from chalicelib.gateways.https import FailedError
from chalicelib.settings import settings

ANSWER_BYTES = 64 * 1024


def call(url: str, event_id: str, body: bytes, secrets: Sequence[Secret], now: datetime) -> Attempt:
    """Send an event to a URL once, and return the attempt. A redirect is an answer like any other."""
    timestamp = int(now.timestamp())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "payments-webhooks",
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": webhooks.sign(secrets, event_id, timestamp, body),
    }
    began = outside.current.elapsed()
    try:
        reply = (outside.current.post or https.post)(
            url,
            body,
            headers,
            seconds=deliveries.SECONDS,
            allowed=_guard_of(url),
            kept_bytes=ANSWER_BYTES,
        )
    except FailedError as failure:
        return Attempt(now, _milliseconds_since(began), reason=str(failure))
    return Attempt(now, _milliseconds_since(began), reply.status, deliveries.shown(reply.body))


def _guard_of(url: str) -> Callable[[str], bool]:
    """Return which addresses the host of the URL may have."""
    if not is_plain_at(url, settings().plain_webhook_hosts):
        return is_public
    return is_own if is_plain_at(url, OWN_MACHINE) else lambda _: True


def _milliseconds_since(began: float) -> int:
    return round((outside.current.elapsed() - began) * 1000)
