"""What a caller asks about linked cards, and how one looks."""

from collections.abc import Mapping
from datetime import UTC, datetime, time
from typing import Annotated, ClassVar

from pydantic import Field

from chalicelib.domain.card import LinkedCard, last_day
from chalicelib.schemas.base import Answer, Identifier, View
from chalicelib.schemas.request_context import Context
from chalicelib.schemas.transaction_parts import moment

PAGE_SIZE = 100
LINK_TYPE = 1  # there is one


class GetLinkedCards(Context):
    """The filters; one that is absent lets everything through, but `Deleted` absent is 0."""

    SPELLINGS: ClassVar[Mapping[str, str]] = {"AccountID": "AccountId"}

    account_id: Identifier | None = Field(None, alias="AccountId")
    state: Identifier | None = None
    status: Identifier | None = None
    deleted: Annotated[int, Field(ge=0, le=1)] | None = None
    page: Identifier | None = None


class LinkedCardView(View):
    """A linked card: nothing of it but its face and the acquirer's token."""

    id: int
    link_type: int = LINK_TYPE
    state: int
    status: int
    account_id: int
    alias: str
    cardholder_name: str | None
    link_id: str | None
    pan_ending: str | None
    pan_masked: str | None
    payment_type: str
    card_exp: str | None = Field(alias="CardExp")
    created: str
    updated: str
    deleted: bool
    can_delete: bool
    transaction_count: int
    storage_id: int | None


class LinkedCardsAnswer(Answer):
    """A page of an agent's linked cards, by ID."""

    linked_cards: list[LinkedCardView]


def linked_card_view(card: LinkedCard, gmt: int | None) -> LinkedCardView:
    """The card as it is shown; Created and Updated are shifted by `gmt` hours, CardExp is the end of its last day."""
    face = card.face
    end = datetime.combine(last_day(face.exp), time(23, 59, 59), UTC) if face.exp else None
    return LinkedCardView(
        id=card.id,
        state=card.state,
        status=card.status,
        account_id=card.account_id,
        alias=card.alias,
        cardholder_name=face.cardholder,
        link_id=card.link_id,
        pan_ending=face.last4,
        pan_masked=face.masked,
        payment_type=face.brand,
        card_exp=moment(end, None) if end else None,
        created=moment(card.created_at, gmt),
        updated=moment(card.updated_at, gmt),
        deleted=card.deleted,
        can_delete=not card.deleted,
        transaction_count=card.transaction_count,
        storage_id=card.storage_id,
    )
