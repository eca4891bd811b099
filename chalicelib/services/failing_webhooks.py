"""The verdict of attempts on a webhook: that it makes others wait, that it fails, or that it wants no more."""

import secrets
from dataclasses import replace
from datetime import datetime

from chalicelib.domain import outbox as messages
from chalicelib.domain import webhook
from chalicelib.domain.audit import OPERATOR, Act
from chalicelib.domain.delivery import Attempt
from chalicelib.domain.state import BLOCKED
from chalicelib.domain.webhook import Webhook
from chalicelib.services import webhooks as service
from chalicelib.store import merchants, webhooks
from chalicelib.store import outbox as outbox_store
from chalicelib.store.optimistic import retry_on_change
from chalicelib.store.table import read


def note(hook: Webhook, made: Attempt, now: datetime) -> None:
    """Store what an attempt says about its webhook, where that is news."""
    after = webhook.after_attempt(hook, made, now)
    if after.state != hook.state:
        _switch_off(hook, now)
        return
    if after != hook:
        webhooks.note(after)
    if webhook.is_to_be_told(after, now):
        _tell(after, now)


def _switch_off(hook: Webhook, now: datetime) -> None:
    """Switch a webhook off whose receiver answered that it is gone, unless it was given another URL meanwhile."""

    def attempt() -> None:
        before, merchant = read(webhooks.key(hook.client_id, hook.id)), read(merchants.key(hook.client_id))
        if before is None or merchant is None or not before.is_on or before.url != hook.url:
            return
        after = replace(before, version=before.version + 1, state=BLOCKED, updated_at=now)
        service.store(before, after, merchant, Act("gone", OPERATOR, now))

    retry_on_change(attempt)


def _tell(hook: Webhook, now: datetime) -> None:
    """Tell the manager of the merchant by e-mail that a webhook has been failing for a day, unless another did."""
    merchant = read(merchants.key(hook.client_id))
    if merchant is not None:
        mail = messages.failing_webhook(secrets.token_hex(16), merchant, hook.id, now)
        webhooks.note_told(hook, now, outbox_store.put(mail))
