"""The call of a webhook: signed by Standard Webhooks, with the same guard and limits as a partner's."""

from collections.abc import Sequence
from datetime import datetime

from chalicelib import outside
from chalicelib.domain import deliveries, webhooks
from chalicelib.domain.deliveries import Attempt
from chalicelib.domain.secret import Secret
from chalicelib.domain.url_guard import is_on_own_machine, is_own, is_public
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
    on_own_machine = settings().is_local and is_on_own_machine(url)
    began = outside.current.elapsed()
    try:
        reply = (outside.current.post or https.post)(
            url,
            body,
            headers,
            seconds=deliveries.SECONDS,
            allowed=is_own if on_own_machine else is_public,
            kept_bytes=ANSWER_BYTES,
        )
    except FailedError as failure:
        return Attempt(now, _milliseconds_since(began), reason=str(failure))
    return Attempt(now, _milliseconds_since(began), reply.status, deliveries.shown(reply.body))


def _milliseconds_since(began: float) -> int:
    return round((outside.current.elapsed() - began) * 1000)
