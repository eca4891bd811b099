"""Linked cards by ID, and by the agent they belong to. There is no number in here, only the acquirer's token."""

from chalicelib.domain.card import ACTIVE, VERIFIED, LinkedCard
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store.query import all_of
from chalicelib.store.table import Key, Write, put_new, update, write_one

TABLE = "cards"


def key(card_id: int) -> Key[LinkedCard]:
    """Where the card is kept."""
    return Key(TABLE, LinkedCard, {"id": card_id})


def create(card: LinkedCard) -> None:
    """Keep a new card."""
    write_one(put_new(TABLE, card, "id"))


def finish(card: LinkedCard) -> None:
    """Keep what the acquirer made of a card: its status and token."""
    token = {"link_id": card.link_id, "storage_id": card.storage_id}
    values = {"status": card.status, "updated_at": card.updated_at, **{k: v for k, v in token.items() if v is not None}}
    write_one(update(key(card.id), "SET " + ", ".join(f"#{name} = :{name}" for name in values), values))


def of_agent(agent_id: int) -> list[LinkedCard]:
    """The agent's cards, by ID."""
    return all_of(TABLE, LinkedCard, ("account_id", agent_id), "by_account")


def pay(card_id: int, agent_id: int) -> Write:
    """Count a payment with the card; 566 when it was taken away since it was looked at."""
    return update(
        key(card_id),
        "ADD #transaction_count :one",
        {"one": 1, "agent": agent_id, "active": ACTIVE, "verified": VERIFIED, "no": False},
        condition="#account_id = :agent AND #state = :active AND #status = :verified AND #deleted = :no",
        otherwise=ServiceError(ErrorCode.CARD_NOT_FOUND),
    )
