"""The request to list linked cards, and the view of a linked card."""

from collections.abc import Mapping
from datetime import UTC, datetime, time
from typing import Annotated, ClassVar, Self

from pydantic import Field

from chalicelib.domain.card import LinkedCard, last_day
from chalicelib.schemas.base import Answer, Identifier, View
from chalicelib.schemas.request_context import Context
from chalicelib.schemas.transaction_parts import moment

LINK_TYPE = 1  # the only one


class GetLinkedCards(Context):
    """The filters of the list. An absent filter does not filter, except that `Deleted` absent means 0."""

    SPELLINGS: ClassVar[Mapping[str, str]] = {"AccountID": "AccountId"}

    account_id: Identifier | None = Field(None, alias="AccountId")
    state: Identifier | None = None
    status: Identifier | None = None
    deleted: Annotated[int, Field(ge=0, le=1)] | None = None
    page: Identifier | None = None


class LinkedCardView(View):
    """A linked card: its masked number, its expiry and the acquirer's token, never its number."""

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

    @classmethod
    def of(cls, card: LinkedCard, gmt: int | None) -> Self:
        """Return the view of a card.

        Created and Updated are shifted by `gmt` hours; CardExp is the end of the card's last day of validity.
        """
        details = card.details
        end = datetime.combine(last_day(details.exp), time(23, 59, 59), UTC) if details.exp else None
        return cls.carried(
            card,
            cardholder_name=details.cardholder,
            pan_ending=details.last4,
            pan_masked=details.masked,
            payment_type=details.brand,
            card_exp=moment(end, None) if end else None,
            created=moment(card.created_at, gmt),
            updated=moment(card.updated_at, gmt),
            can_delete=not card.deleted,
        )


class LinkedCardsAnswer(Answer):
    """The answer to listing linked cards: a page of an agent's cards, by ID."""

    linked_cards: list[LinkedCardView]

    @classmethod
    def of(cls, cards: list[LinkedCard], gmt: int | None) -> Self:
        """Return the answer with a page of cards."""
        return cls(linked_cards=[LinkedCardView.of(card, gmt) for card in cards])
