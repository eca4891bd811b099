"""Linked cards by ID and by agent: the acquirer's token, and no card number."""

from contextlib import suppress

from chalicelib.domain.card import CARD_ACTIVE, VERIFIED, LinkedCard
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store.table import AlreadyExistsError, Key, Write, check, list_records, put_new, update, write_one

TABLE = "cards"


class NoCardError(Exception):
    """The card is not stored."""


def key(card_id: int) -> Key[LinkedCard]:
    """Return the key of a card."""
    return Key(TABLE, LinkedCard, {"id": card_id})


def create(card: LinkedCard) -> None:
    """Store a new card. If it exists, our first write succeeded: its ID is given only once."""
    with suppress(AlreadyExistsError):
        write_one(put_new(TABLE, card, "id"))


def finish(card: LinkedCard) -> None:
    """Store the acquirer's answer to linking a card: the status, and the token if there is one."""
    token = {"link_id": card.link_id, "storage_id": card.storage_id}
    values = {"status": card.status, "updated_at": card.updated_at, **{k: v for k, v in token.items() if v is not None}}
    write_one(update(key(card.id), values))


def of_agent(agent_id: int) -> list[LinkedCard]:
    """List the agent's cards by ID."""
    return list_records(TABLE, LinkedCard, ("account_id", agent_id), "by_account")


def of_merchant(client_id: int) -> list[LinkedCard]:
    """List the cards of a merchant's agents by ID."""
    return list_records(TABLE, LinkedCard, ("client_id", client_id), "by_client")


def check_usable(card_id: int, agent_id: int) -> Write:
    """Return a check, for the transaction of a new payment, that the card can still pay. It raises 566 otherwise."""
    condition = "#account_id = :agent AND #state = :active AND #status = :verified AND attribute_not_exists(#deleted)"
    values = {"agent": agent_id, "active": CARD_ACTIVE, "verified": VERIFIED}
    return check(key(card_id), condition, values, ServiceError(ErrorCode.CARD_NOT_FOUND))


def count_payment(card_id: int) -> Write:
    """Return the write that counts a payment that took money, in any state of the card. It goes with the outcome.

    It raises NoCardError for a card that is missing, of which it must not make one.
    """
    exists = "attribute_exists(#account_id)"
    return update(key(card_id), add={"transaction_count": 1}, condition=exists, otherwise=NoCardError())
