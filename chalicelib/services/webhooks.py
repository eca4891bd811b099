"""Webhooks of a merchant and its events: list them with their deliveries, and send events again."""

import math
import secrets as random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any

from chalicelib.domain import deliveries as delivery_rules
from chalicelib.domain import events as event_rules
from chalicelib.domain import message_limits as limits
from chalicelib.domain import permissions, webhooks
from chalicelib.domain.agent import Caller
from chalicelib.domain.business_days import business_day, start_of
from chalicelib.domain.deliveries import Delivery
from chalicelib.domain.events import KEPT_FOR, PING, Event
from chalicelib.domain.history_page import MAX_CANDIDATES
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.message_limits import Limit
from chalicelib.domain.paging import PAGE_SIZE
from chalicelib.domain.periods import period_of
from chalicelib.domain.secret import Secret
from chalicelib.domain.url_guard import may_be_called
from chalicelib.domain.webhooks import Webhook
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid
from chalicelib.gateways import secrets
from chalicelib.schemas.request_context import Context
from chalicelib.schemas.webhooks import HTTPS, CreateWebhook, ListEvents, ResendEvent, UpdateWebhook
from chalicelib.services import message_limits
from chalicelib.services.caller_check import Admitted, admit
from chalicelib.services.creations import Created, Once, may_show, require_created
from chalicelib.services.merchants import require_merchant
from chalicelib.settings import settings
from chalicelib.store import audit, events, merchant_changes, merchants, sequences
from chalicelib.store import deliveries as deliveries_store
from chalicelib.store import message_limits as limits_store
from chalicelib.store import webhooks as webhooks_store
from chalicelib.store.audit import Act, changed_fields
from chalicelib.store.creations import Creation
from chalicelib.store.message_limits import LimitReachedError
from chalicelib.store.retries import retry_on_change
from chalicelib.store.table import Item, Key, commit

OWNER = "webhook"  # the owner of a sealed secret: KMS checks it


@dataclass(frozen=True)
class Made:
    """A webhook, its new secret if one was made, and its merchant's zone in hours."""

    webhook: Webhook
    secret: Secret | None
    gmt: int


def create(
    body: CreateWebhook, caller: Caller, merchant_id: int, now: datetime, *, key: str | None = None
) -> Created[Made]:
    """Create a webhook with its own secret. From now on the merchant's transactions make events.

    `key` is the Idempotency-Key header: raise ID_REUSED when it was used with other content.
    """
    once = Once.of("webhook", key, caller, body, Context.model_fields, merchant_id)

    def attempt() -> Created[Made]:
        admitted, before = _admitted(body, caller, merchant_id, *once.keys)
        if first := once.first(admitted):
            return _created_first(first, before, caller, now)
        _check_readable(body)
        _check_room(before, once)
        webhook_id = sequences.next_id(webhooks_store.TABLE)
        secret = webhooks.new_secret(random.token_bytes(webhooks.SECRET_BYTES))
        made = Webhook(
            client_id=merchant_id,
            id=webhook_id,
            url=body.url,
            secret_sealed=secrets.seal(secret, webhook_id, OWNER),
            created_at=now,
            updated_at=now,
            on_since=now,
            types=_each_once(body.types),
            description=body.description,
        )
        act = Act("create", caller.agent_id, now)
        after = replace(before, webhooks=before.webhooks + 1, events_until=webhooks.ALWAYS)

        first_request = once.writes(webhook_id, now, made.secret_sealed)
        webhooks_store.create(made, act, *first_request, *merchant_changes.next_version(before, after, act))
        return Created(Made(made, secret, before.gmt))

    return retry_on_change(attempt)


def _created_first(first: Creation, merchant: Merchant, caller: Caller, now: datetime) -> Created[Made]:
    """Return the webhook that the first request with a key created, for a day with the secret of its answer."""
    found = require_created(webhooks_store.key(merchant.id, first.id), ErrorCode.WEBHOOK_NOT_FOUND)
    secret = None
    if may_show(first, found.secret_sealed, now):
        secret = secrets.unseal(found.secret_sealed, found.id, OWNER)
        audit.store(f"webhook#{found.id}", Act("show", caller.agent_id, now), ["secret"])
    return Created(Made(found, secret, merchant.gmt), replayed=True)


def update(body: UpdateWebhook, caller: Caller, merchant_id: int, webhook_id: int, now: datetime) -> Made:
    """Update the fields that the request sets. With `RotateSecret` return a new secret."""

    def attempt() -> Made:
        merchant, before = _managed(body, caller, merchant_id, webhooks_store.key(merchant_id, webhook_id))
        secret = webhooks.new_secret(random.token_bytes(webhooks.SECRET_BYTES)) if body.rotate_secret else None
        after = _next_version(before, body, secret, now)

        if changed_fields(before, after):
            after = replace(after, updated_at=now)
            store(before, after, merchant, Act("update", caller.agent_id, now))
        return Made(after, secret, merchant.gmt)

    return retry_on_change(attempt)


def store(before: Webhook, after: Webhook, merchant: Merchant, act: Act) -> None:
    """Store the next version of a webhook. A change of its state also updates when its merchant stops making events.

    Raise ChangedMeanwhileError when the webhook or the merchant has changed since it was read.
    """
    if before.state == after.state:
        webhooks_store.change(before, after, act)
        return
    others = [one for one in webhooks_store.of_merchant(after.client_id) if one.id != after.id]
    until = webhooks.events_until([*others, after], act.at)
    told = replace(merchant, events_until=until)
    webhooks_store.change(before, after, act, *merchant_changes.next_version(merchant, told, act))


def delete(body: Context, caller: Caller, merchant_id: int, webhook_id: int, now: datetime) -> None:
    """Delete a webhook. Its ID is never given again, and its pending deliveries are shown as given up."""

    def attempt() -> None:
        merchant, before = _managed(body, caller, merchant_id, webhooks_store.key(merchant_id, webhook_id))
        others = [one for one in webhooks_store.of_merchant(merchant_id) if one.id != webhook_id]
        until = webhooks.events_until(others, now) if others else now
        after = replace(merchant, webhooks=merchant.webhooks - 1, events_until=until)

        act = Act("delete", caller.agent_id, now)
        webhooks_store.delete(before, act, *merchant_changes.next_version(merchant, after, act))

    retry_on_change(attempt)


def list_webhooks(body: Context, caller: Caller, merchant_id: int) -> tuple[list[Webhook], int]:
    """Return the merchant's webhooks by ID, and the merchant's zone in hours."""
    merchant, _ = _managed(body, caller, merchant_id)
    return webhooks_store.of_merchant(merchant_id), merchant.gmt


def test(body: Context, caller: Caller, merchant_id: int, webhook_id: int, now: datetime) -> str:
    """Make an event for this webhook only, whether it is on or off, and return the event's ID."""
    _, found = _managed(body, caller, merchant_id, webhooks_store.key(merchant_id, webhook_id))
    ping = event_rules.ping(random.token_hex(16), merchant_id, found.id, now)

    _count(limits.of_webhook_tests(merchant_id), "webhook test", merchant_id, caller.agent_id, now)
    events.create(ping)
    return ping.id


def _managed(body: Context, caller: Caller, merchant_id: int, *keys: Key[Webhook]) -> tuple[Merchant, Any]:
    """Return the merchant of the path, which the caller must manage, and the webhook of the first key."""
    admitted, merchant = _admitted(body, caller, merchant_id, *keys)
    found = admitted.read(keys[0]) if keys else None
    if keys and found is None:
        raise ServiceError(ErrorCode.WEBHOOK_NOT_FOUND)
    _check_readable(body)
    return merchant, found


def _admitted(body: Context, caller: Caller, merchant_id: int, *keys: Key[Any]) -> tuple[Admitted, Merchant]:
    admitted = admit(caller, merchants.key(merchant_id), *keys, current_account_id=body.current_account_id)
    permissions.check_can_manage(admitted.agent, merchant_id)
    return admitted, require_merchant(admitted, merchant_id)


def _check_readable(body: Context) -> None:
    _check_url(body.readable("url"))
    body.check_readable()


def _check_room(merchant: Merchant, once: Once) -> None:
    if merchant.webhooks >= webhooks.MOST:
        once.look_again()
        raise invalid(Finding("url", Check.OUT_OF_RANGE, f"A merchant has at most {webhooks.MOST} webhooks."))


def _check_url(url: str | None) -> None:
    if url is not None and not may_be_called(url, settings().plain_webhook_hosts):
        raise invalid(Finding("url", Check.FORMAT, HTTPS))


def _each_once(types: list[str] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(types or ()))


def _next_version(before: Webhook, body: UpdateWebhook, secret: Secret | None, now: datetime) -> Webhook:
    """Return the webhook with the request's changes.

    A new URL or state resets the failures. Slow answers stay counted: only a fast answer shows that a receiver is fast.
    """
    fields: dict[str, Any] = {
        name: value for name in ("url", "state", "description") if (value := getattr(body, name)) is not None
    }
    if body.types is not None:
        fields["types"] = _each_once(body.types)
    after = replace(before, **fields)
    if (after.url, after.state) != (before.url, before.state):
        after = replace(after, failing_since=None, told_at=None)
    if after.is_on and not before.is_on:
        after = replace(after, on_since=now)
    return after if secret is None else webhooks.rotated(after, secrets.seal(secret, before.id, OWNER), now)


DAY = timedelta(days=1)
OFF = "The webhook is switched off, and takes no event."
TOO_FAR = "The page is too far back: narrow the period."


def list_events(
    body: ListEvents, caller: Caller, merchant_id: int, now: datetime, most: int = MAX_CANDIDATES
) -> list[tuple[Event, list[Delivery]]]:
    """Return a page of the events of a period, newest first, each with its deliveries; look at `most` of both."""
    merchant, _ = _managed(body, caller, merchant_id)
    today = business_day(now, merchant.gmt)
    period = period_of(body.period.first, body.period.last, today)
    begin = start_of(max(period.first, today - KEPT_FOR - DAY), merchant.gmt)
    end = start_of(max(min(period.last, today), date.min + DAY) + DAY, merchant.gmt)
    first = (max(body.page, 1) - 1) * PAGE_SIZE
    page = list(islice(_matching(body, event_rules.spans(merchant_id, begin, end), most), first, first + PAGE_SIZE))
    existing = {one.id for one in webhooks_store.of_merchant(merchant_id)} if page else set()

    return [
        (event, [delivery_rules.as_of_webhooks(one, existing) for one in deliveries_store.deliveries_in(items)])
        for event, items in page
    ]


def _matching(body: ListEvents, spans: list[tuple[str, str, str]], most: int) -> Iterator[tuple[Event, list[Item]]]:
    looked_at = 0
    for span in reversed(spans):
        for found in deliveries_store.between(*span, newest_first=True):
            looked_at += 1 + len(found[1])
            if looked_at > most:
                raise ServiceError(ErrorCode.PERIOD_TOO_LONG, TOO_FAR)
            if not body.types or found[0].kind in body.types:
                yield found


def resend(body: ResendEvent, caller: Caller, merchant_id: int, event_id: str, now: datetime) -> None:
    """Send an event again, to one webhook or to each that takes its kind. Its attempts start from scratch."""
    named = body.webhook_id if body.faults else None  # else it is found among the webhooks that take the event
    _managed(body, caller, merchant_id, *([] if named is None else [webhooks_store.key(merchant_id, named)]))
    found = deliveries_store.with_id(merchant_id, event_id)
    if found is None:
        raise ServiceError(ErrorCode.EVENT_NOT_FOUND)
    made, deliveries = found
    wanted = _wanted(body.webhook_id, made, webhooks_store.of_merchant(merchant_id))
    before = {one.webhook_id: one for one in deliveries}

    _count(limits.of_resent_events(merchant_id), "resent event", merchant_id, caller.agent_id, now)
    for webhook in wanted:
        known = before.get(webhook.id) or delivery_rules.begun(made, webhook.id, now)
        deliveries_store.begin_again(delivery_rules.again(known, now))


def _count(limit: Limit, kind: str, merchant_id: int, agent_id: int, now: datetime) -> None:
    """Count one more of a merchant; raise THROTTLED until the next day when it has made all that it may."""
    day = limits.day_of(now)
    try:
        commit(*limits_store.additions({limit: 1}, day))
    except LimitReachedError:
        message_limits.log_withheld(kind, merchant_id, agent_id)
        message = f"A merchant may make {limit.most} {kind}s a day (UTC)."
        seconds = math.ceil((limits.ends_at(day) - now).total_seconds())
        raise ServiceError(ErrorCode.THROTTLED, message, retry_after=seconds) from None


def _wanted(webhook_id: int | None, made: Event, found: list[Webhook]) -> list[Webhook]:
    """Return the webhooks that get an event again. A named webhook gets it even if it does not take its kind."""
    if webhook_id is None:
        return [one for one in found if one.takes(made.kind) or (made.kind == PING and one.id == made.webhook_id)]
    named = [one for one in found if one.id == webhook_id]
    if not named:
        raise ServiceError(ErrorCode.WEBHOOK_NOT_FOUND)
    if not named[0].is_on:
        raise invalid(Finding("webhook_id", Check.CONTRADICTION, OFF))
    return named
