"""Linked cards: listing an agent's, and linking one."""

from dataclasses import replace
from datetime import datetime

from chalicelib.domain import permissions
from chalicelib.domain.acquirer import APPROVED_CODE, AcquirerError, LinkRequest
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.card import FAILED, IN_VERIFICATION, VERIFIED, CardData, LinkedCard
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import acquirers
from chalicelib.schemas.linked_cards import PAGE_SIZE, GetLinkedCards
from chalicelib.services.admission import admit
from chalicelib.store import agents, linked_cards, sequences

LINK_S = 20  # an operator waits


def linked(body: GetLinkedCards, caller: Caller) -> list[LinkedCard]:
    """A page of the cards of an agent that match the filters, by ID."""
    owner_id = caller.agent_id if body.account_id is None else body.account_id
    admitted = admit(caller, agents.key(owner_id), current_account_id=body.current_account_id)
    owner: Agent | None = admitted.others[0]
    if owner is None:
        raise ServiceError(ErrorCode.AGENT_NOT_FOUND)
    permissions.see_cards(admitted.agent, owner.client_id, owner.id)

    wanted = [card for card in linked_cards.of_agent(owner_id) if _matches(card, body)]
    start = (max(body.page or 1, 1) - 1) * PAGE_SIZE
    return wanted[start : start + PAGE_SIZE]


def _matches(card: LinkedCard, body: GetLinkedCards) -> bool:
    return (
        body.state in (None, card.state) and body.status in (None, card.status) and card.deleted == bool(body.deleted)
    )


def link(agent: Agent, card: CardData, alias: str, now: datetime, acquirer: str | None = None) -> LinkedCard:
    """Link a card to an agent: the acquirer keeps it, we keep its face and the acquirer's token.

    Its Status says how it went: verified, or error. A card whose acquirer did not answer stays in verification, and
    cannot be paid with.
    """
    code = acquirer or next(iter(acquirers.codes()), None)
    if code not in acquirers.codes():
        raise ServiceError(ErrorCode.KIND_NOT_SUPPORTED, "The stage has no acquirer of this code.")
    kept = LinkedCard(
        id=sequences.next_id(linked_cards.TABLE),
        client_id=agent.client_id,
        account_id=agent.id,
        acquirer=code,
        face=card.face,
        alias=alias,
        created_at=now,
        updated_at=now,
        status=IN_VERIFICATION,
    )
    linked_cards.create(kept)

    try:
        answer = acquirers.named(code).link(LinkRequest(f"card#{kept.id}", card), LINK_S)
    except AcquirerError:
        return kept

    status = VERIFIED if answer.code == APPROVED_CODE else FAILED
    kept = replace(kept, status=status, link_id=answer.link_id, storage_id=answer.storage_id)
    linked_cards.finish(kept)
    return kept
