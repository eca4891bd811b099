"""The requests about webhooks, and the view of a webhook."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field

from chalicelib.domain import url
from chalicelib.domain.event import Kind
from chalicelib.domain.local_time import text_of, zone_of
from chalicelib.domain.secret import Secret
from chalicelib.domain.webhook import Webhook
from chalicelib.errors import Check
from chalicelib.schemas.base import Answer, LongText, State, View, problem
from chalicelib.schemas.messages import pattern
from chalicelib.schemas.request_context import Context

URL_PATTERN = f"^{url.PATTERN.replace('?P<scheme>', '')}$"
HTTPS = "An address such as https://shop.example/events is expected, public, without user information and fragment."


def _known_kind(kind: str) -> str:
    if kind not in set(Kind):
        raise problem(Check.NOT_IN_DICTIONARY, f"One of {', '.join(Kind)} is expected.")
    return kind


Url = Annotated[str, Field(max_length=512), pattern(URL_PATTERN, HTTPS)]
KindName = Annotated[str, Field(max_length=64), AfterValidator(_known_kind)]
Types = Annotated[list[KindName], Field(max_length=2 * len(Kind))]


class CreateWebhook(Context):
    """The body of merchant/{merchantId}/webhook/create."""

    url: Url
    types: Types | None = None
    description: LongText | None = None


class UpdateWebhook(Context):
    """The body of merchant/{merchantId}/webhook/{webhookId}/update; an absent field changes nothing."""

    url: Url | None = None
    types: Types | None = None
    state: State | None = None
    description: LongText | None = None
    rotate_secret: bool | None = None


class ListWebhooks(Context):
    """The body of merchant/{merchantId}/webhook/list."""


class TestWebhook(Context):
    """The body of merchant/{merchantId}/webhook/{webhookId}/test."""

    __test__ = False  # to pytest its name looks like a test's


class WebhookView(View):
    """The Webhook object; its secret is shown once."""

    id: int
    url: str
    types: list[str]
    state: int
    description: str | None
    created: str
    updated: str
    secret: str | None

    @classmethod
    def of(cls, webhook: Webhook, zone: int, secret: Secret | None = None) -> Self:
        """Return the view of a webhook, its times in a zone, with the secret that was just made."""
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

    @classmethod
    def of(cls, webhook: Webhook, secret: Secret | None, gmt: int | None, merchant_gmt: int) -> Self:
        """Return the answer with a webhook, its times in the zone of the request's `gmt`, else of its merchant."""
        return cls(webhook=WebhookView.of(webhook, zone_of(gmt, merchant_gmt), secret))


class WebhooksAnswer(Answer):
    """The answer to listing webhooks."""

    webhooks: list[WebhookView]

    @classmethod
    def of(cls, webhooks: list[Webhook], gmt: int | None, merchant_gmt: int) -> Self:
        """Return the answer with the webhooks of a merchant."""
        return cls(webhooks=[WebhookView.of(webhook, zone_of(gmt, merchant_gmt)) for webhook in webhooks])


class TestAnswer(Answer):
    """The answer to testing a webhook: the ID of the event that is sent to it."""

    __test__ = False

    event_id: str
