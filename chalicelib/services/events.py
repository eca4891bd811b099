"""Events of a merchant: listed with what became of them, and sent again."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from itertools import islice

from chalicelib.domain import permissions, webhooks
from chalicelib.domain.agent import Caller
from chalicelib.domain.business_days import business_day, period_of, start_of
from chalicelib.domain.history import MAX_CANDIDATES, PAGE_SIZE
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.references import missing
from chalicelib.domain.webhooks import KEPT_FOR, PING, Delivery, Event, Webhook
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid, invalid_references
from chalicelib.schemas.request_context import Context
from chalicelib.schemas.webhooks import ListEvents, ResendEvent
from chalicelib.services.access import admit
from chalicelib.services.merchants import require_merchant
from chalicelib.store import events, merchants
from chalicelib.store import webhooks as webhooks_store

DAY = timedelta(days=1)
OFF = "The webhook is switched off, and takes no event."
TOO_FAR = "The page is too far back: narrow the period."


def list_events(
    body: ListEvents, caller: Caller, merchant_id: int, now: datetime
) -> list[tuple[Event, list[Delivery]]]:
    """Return a page of the events of a period, newest first, each with its deliveries."""
    merchant = _managed(body, caller, merchant_id)
    today = business_day(now, merchant.gmt)
    period = period_of(body.period.first, body.period.last, today)
    begin = start_of(max(period.first, today - KEPT_FOR - DAY), merchant.gmt)
    end = start_of(max(min(period.last, today), date.min + DAY) + DAY, merchant.gmt)
    first = (max(body.page, 1) - 1) * PAGE_SIZE

    return list(islice(_matching(body, webhooks.spans(merchant_id, begin, end)), first, first + PAGE_SIZE))


def _matching(body: ListEvents, spans: list[tuple[str, str, str]]) -> Iterator[tuple[Event, list[Delivery]]]:
    looked_at = 0
    for span in reversed(spans):
        for found in events.between(*span, newest_first=True):
            looked_at += 1
            if looked_at > MAX_CANDIDATES:
                raise ServiceError(ErrorCode.PERIOD_TOO_LONG, TOO_FAR)
            if not body.types or found[0].kind in body.types:
                yield found


def resend(body: ResendEvent, caller: Caller, merchant_id: int, event_id: str, now: datetime) -> None:
    """Send an event again: to one webhook, or to each that takes its kind. Its attempts begin anew."""
    _managed(body, caller, merchant_id)
    found = events.with_id(merchant_id, event_id)
    if found is None:
        raise ServiceError(ErrorCode.EVENT_NOT_FOUND)
    made, deliveries = found
    wanted = _wanted(body.webhook_id, made, webhooks_store.of_merchant(merchant_id))
    before = {one.webhook_id: one for one in deliveries}

    for webhook in wanted:
        known = before.get(webhook.id) or webhooks.begun(made, webhook.id, now)
        events.begin_again(webhooks.again(known, webhooks.queue_of(merchant_id, webhook.id), now))


def _wanted(webhook_id: int | None, made: Event, found: list[Webhook]) -> list[Webhook]:
    """Return the webhooks that get an event again. One that is named takes kinds that it does not take by itself."""
    if webhook_id is None:
        return [one for one in found if one.takes(made.kind) or (made.kind == PING and one.id == made.webhook_id)]
    named = [one for one in found if one.id == webhook_id]
    if not named:
        raise invalid_references(missing("webhook_id", ErrorCode.WEBHOOK_NOT_FOUND))
    if not named[0].is_on:
        raise invalid(Finding("webhook_id", Check.CONTRADICTION, OFF))
    return named


def _managed(body: Context, caller: Caller, merchant_id: int) -> Merchant:
    admitted = admit(caller, merchants.key(merchant_id), current_account_id=body.current_account_id)
    permissions.check_can_manage(admitted.agent, merchant_id)
    return require_merchant(admitted.others[0])
