"""The request to list linked cards, and the view of a linked card."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field

from chalicelib.domain.business_days import text_of, zone_of
from chalicelib.domain.card import LINK_TYPE, LinkedCard, last_second
from chalicelib.errors import ErrorCode
from chalicelib.schemas.base import Answer, Identifier, View
from chalicelib.schemas.request_context import Context


class GetLinkedCards(Context):
    """The filters of the list. An absent filter does not filter, except that `Deleted` absent means 0.

    Without an account, an administrator gets the cards of its merchant, and any other agent its own.
    """

    SPELLINGS: ClassVar[Mapping[str, str]] = {"AccountID": "AccountId"}
    REFERENCES: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.AGENT_NOT_FOUND: "AccountId"}
    ZEROS: ClassVar[frozenset[str]] = frozenset({"State", "Status"})
    JUDGED: ClassVar[tuple[str, ...]] = ("account_id",)

    account_id: Identifier | None = Field(None, alias="AccountId")
    state: Identifier | None = None
    status: Identifier | None = None
    deleted: Annotated[int, Field(ge=0, le=1)] | None = None
    page: Identifier | None = None


class LinkedCardView(View):
    """A linked card: its masked number, its expiry and the acquirer's token, but never its number."""

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
    can_delete: bool = False  # the interface has no deletion
    transaction_count: int
    storage_id: int | None

    @classmethod
    def of(cls, card: LinkedCard, gmt: int | None, merchant_gmt: int) -> Self:
        """Return the view of a card, with times in the zone of the request's `gmt`."""
        details, zone = card.details, zone_of(gmt, merchant_gmt)
        return cls.carried(
            card,
            cardholder_name=details.cardholder,
            pan_ending=details.last4,
            pan_masked=details.masked,
            payment_type=details.brand,
            card_exp=text_of(last_second(details.exp, merchant_gmt), zone) if details.exp else None,
            created=text_of(card.created_at, zone),
            updated=text_of(card.updated_at, zone),
        )


class LinkedCardsAnswer(Answer):
    """The answer to listing linked cards: a page of cards by ID."""

    linked_cards: list[LinkedCardView]
