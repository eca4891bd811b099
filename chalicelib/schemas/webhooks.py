"""The requests about webhooks and events, their views, and the body that a webhook receives."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, Field

from chalicelib import exact_json
from chalicelib.domain import urls, webhooks
from chalicelib.domain.answer_size import shortened
from chalicelib.domain.business_days import text_of, zone_of
from chalicelib.domain.deliveries import Attempt, Delivery
from chalicelib.domain.events import PING, Event, Kind
from chalicelib.domain.paging import PAGE_SIZE
from chalicelib.domain.phases import SHOWN
from chalicelib.domain.secret import Secret
from chalicelib.domain.webhooks import Webhook
from chalicelib.errors import ErrorCode
from chalicelib.schemas.base import Answer, Identifier, LongText, State, View, pattern, views_of
from chalicelib.schemas.field_types import one_of
from chalicelib.schemas.history import PeriodModel
from chalicelib.schemas.request_context import Context

URL_PATTERN = f"^{urls.PATTERN.replace('?P<scheme>', '')}$"
HTTPS = "An address such as https://shop.example/events is expected, public, without user information and fragment."


Url = Annotated[str, Field(max_length=512), pattern(URL_PATTERN, HTTPS)]
KindName = Annotated[str, Field(max_length=64), one_of(tuple(Kind))]
Types = Annotated[list[KindName], Field(max_length=2 * len(Kind))]


class CreateWebhook(Context):
    """The body of merchant/{merchantId}/webhook/create."""

    JUDGED: ClassVar[tuple[str, ...]] = ("url",)

    url: Url
    types: Types | None = None
    description: LongText | None = None


class UpdateWebhook(Context):
    """The body of merchant/{merchantId}/webhook/{webhookId}/update; an absent field changes nothing."""

    JUDGED: ClassVar[tuple[str, ...]] = ("url",)

    url: Url | None = None
    types: Types | None = None
    state: State | None = None
    description: LongText | None = None
    rotate_secret: bool | None = None


class DeleteWebhook(Context):
    """The body of merchant/{merchantId}/webhook/{webhookId}/delete."""


class ListWebhooks(Context):
    """The body of merchant/{merchantId}/webhook/list."""


class TestWebhook(Context):
    """The body of merchant/{merchantId}/webhook/{webhookId}/test."""

    __test__ = False  # pytest would take this name for a test


class WebhookView(View):
    """The Webhook object. Its secret is shown only once."""

    id: int
    url: str
    types: list[str]
    state: int
    description: str | None
    created: str
    updated: str
    secret: str | None

    @classmethod
    def of(cls, webhook: Webhook, gmt: int | None, merchant_gmt: int, secret: Secret | None = None) -> Self:
        """Return the view of a webhook, with times in the zone of the request's `gmt`, and a new secret if any."""
        zone = zone_of(gmt, merchant_gmt)
        return cls.carried(
            webhook,
            types=list(webhook.types or Kind),
            created=text_of(webhook.created_at, zone),
            updated=text_of(webhook.updated_at, zone),
            secret=secret.reveal() if secret else None,
        )


class WebhookAnswer(Answer):
    """The answer to creating and updating a webhook."""

    webhook: WebhookView


class WebhooksAnswer(Answer):
    """The answer to listing webhooks."""

    webhooks: list[WebhookView]


class TestAnswer(Answer):
    """The answer to testing a webhook: the ID of the event for it."""

    __test__ = False

    event_id: str


LISTED = (*Kind, PING)


class ListEvents(Context):
    """The body of merchant/{merchantId}/event/list."""

    PATHS: ClassVar[dict[str, str]] = {"period.first": "Period.From"}

    period: PeriodModel = PeriodModel()
    types: Annotated[list[Annotated[str, Field(max_length=64), one_of(LISTED)]], Field(max_length=2 * len(LISTED))] = []  # noqa: RUF012  pydantic copies it
    page: Identifier = 0


class ResendEvent(Context):
    """The body of merchant/{merchantId}/event/{eventId}/resend."""

    REFERENCES: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.WEBHOOK_NOT_FOUND: "WebhookID"}
    JUDGED: ClassVar[tuple[str, ...]] = ("webhook_id",)

    webhook_id: Identifier | None = None


# These keep an event below 50 KB: a page of a hundred has at most 5 MB.
MOST_DELIVERIES, MOST_ATTEMPTS, MOST_OF_TEXT = 20, 100, 240  # of an event; of an event; bytes of an answer


class AttemptView(View):
    """One attempt to deliver an event."""

    timestamp: str
    milliseconds: int
    status: int | None
    answer: str | None
    reason: str | None

    @classmethod
    def of(cls, attempt: Attempt) -> Self:
        """Return the view of an attempt."""
        texts = {name: shortened(getattr(attempt, name), MOST_OF_TEXT) for name in ("answer", "reason")}
        return cls.carried(attempt, timestamp=instant_text(attempt.at), **texts)


class DeliveryView(View):
    """The delivery of an event to one webhook."""

    webhook_id: int
    state: str
    attempts: int
    last_status: int | None
    next_attempt: str | None
    attempt_list: list[AttemptView]

    @classmethod
    def of(cls, delivery: Delivery, most: int) -> Self:
        """Return the view of a delivery with its newest attempts, the newest first, at most so many."""
        return cls.carried(
            delivery,
            next_attempt=instant_text(delivery.due_at) if delivery.due_at else None,
            attempt_list=[AttemptView.of(attempt) for attempt in delivery.made[: -most - 1 : -1]],
        )


class EventView(View):
    """An event and its deliveries."""

    id: str
    type: str
    timestamp: str
    transaction_id: str | None
    state: int | None
    substate: int | None
    deliveries: list[DeliveryView]

    @classmethod
    def of(cls, event: Event, deliveries: list[Delivery]) -> Self:
        """Return the view of an event with the deliveries to its newest webhooks."""
        state, substate = _states(event)
        listed = sorted(deliveries, key=lambda one: one.webhook_id)[-MOST_DELIVERIES:]
        each = MOST_ATTEMPTS // max(len(listed), webhooks.MOST)
        return cls.carried(
            event,
            type=event.kind,
            timestamp=instant_text(event.at),
            state=state,
            substate=substate,
            deliveries=[DeliveryView.of(one, each) for one in listed],
        )


class EventCounters(View):
    """Paging information of a list without a total."""

    pagesize: int = PAGE_SIZE
    item_count_page: int


class EventsAnswer(Answer):
    """The answer to listing events: a page, newest first."""

    events: list[EventView]
    events_counters: EventCounters

    @classmethod
    def of(cls, page: list[tuple[Event, list[Delivery]]]) -> Self:
        """Return the answer with a page of events and their deliveries."""
        events = views_of(lambda one: EventView.of(*one), page)
        return cls(events=events, events_counters=EventCounters(item_count_page=len(events)))


class EventData(View):
    """The transaction of an event, as it was then: no card data, no address."""

    transaction_id: str
    original_id: str | None
    state: int
    substate: int
    client_id: int
    pos_id: int
    input_type: int
    amount: Decimal
    currency_id: str
    ext_id: str | None

    @classmethod
    def of(cls, event: Event) -> Self:
        """Return the data of an event of a transaction."""
        state, substate = _states(event)
        return cls.carried(event, state=state, substate=substate, currency_id=event.currency)


class PingData(View):
    """The data of a test: the merchant."""

    client_id: int


class EventBody(BaseModel):
    """The body that a webhook receives for an event of a transaction, in the form of Standard Webhooks."""

    type: str
    timestamp: str
    data: EventData


class PingBody(BaseModel):
    """The body that a webhook receives for a test."""

    type: str
    timestamp: str
    data: PingData


def body_of(event: Event) -> bytes:
    """Return the body that a webhook receives for an event, with the same bytes at each attempt."""
    written: dict[str, Any] = {"type": event.kind, "timestamp": instant_text(event.at)}
    if event.kind == PING:
        body: BaseModel = PingBody(**written, data=PingData.carried(event))
    else:
        body = EventBody(**written, data=EventData.of(event))
    return exact_json.text(body.model_dump(by_alias=True)).encode()


def instant_text(at: datetime) -> str:
    """Return an instant in UTC as in Standard Webhooks: 2026-03-14T09:26:53.589Z."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _states(event: Event) -> tuple[int | None, int | None]:
    """Return State and Substate for an event's phase."""
    if event.phase is None:
        return None, None
    look = SHOWN[event.phase]
    return look.state, look.substate
