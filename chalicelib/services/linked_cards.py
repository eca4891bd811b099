"""List the linked cards of an agent or a merchant, and link a card."""

from dataclasses import replace
from datetime import datetime

from chalicelib.domain import permissions
from chalicelib.domain.acquirer import APPROVED_CODE, AcquirerError, LinkRequest
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.card import FAILED, IN_VERIFICATION, VERIFIED, CardData, LinkedCard
from chalicelib.domain.paging import page_of
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import acquirers
from chalicelib.log import log_defect
from chalicelib.schemas.linked_cards import GetLinkedCards
from chalicelib.services.caller_check import admit
from chalicelib.store import agents, linked_cards, sequences

LINK_TIMEOUT_S = 20  # an operator is waiting


def list_cards(body: GetLinkedCards, caller: Caller) -> tuple[list[LinkedCard], int]:
    """Return a page of the cards that match the filters, by ID, and the zone of their merchant.

    They are those of the agent in the request. Without one, they are an administrator's merchant's, else the caller's.
    """
    owner_id = caller.agent_id if body.account_id is None else body.account_id
    admitted = admit(caller, agents.key(owner_id), current_account_id=body.current_account_id)
    owner = admitted.read(agents.key(owner_id))
    if owner is None:
        raise ServiceError(ErrorCode.AGENT_NOT_FOUND)
    permissions.check_is_own(admitted.agent, owner.client_id, owner.id)
    body.check_readable()
    merchant = admitted.merchant_of(owner.client_id)

    is_of_merchant = body.account_id is None and permissions.is_administrator(owner)
    found = linked_cards.of_merchant(owner.client_id) if is_of_merchant else linked_cards.of_agent(owner_id)
    cards = (card for card in found if card.deleted == bool(body.deleted))
    matching = [card for card in cards if body.state in (None, card.state) and body.status in (None, card.status)]
    return page_of(matching, body.page), merchant.gmt if merchant else 0


def link(agent: Agent, card: CardData, alias: str, now: datetime, acquirer: str | None = None) -> LinkedCard:
    """Link a card to an agent. The acquirer stores the card; this service stores a masked number and a token.

    The result's Status is verified, or error when the acquirer declined. Without an answer, or after a defect of the
    adapter, the card stays "in verification" and cannot pay.
    """
    code = acquirer or next((one for one in acquirers.codes() if acquirers.named(one).links_cards), None)
    if code not in acquirers.codes():
        raise ServiceError(ErrorCode.KIND_NOT_SUPPORTED, "The stage has no acquirer of this code that links cards.")
    if not acquirers.named(code).links_cards:
        raise ServiceError(ErrorCode.KIND_NOT_SUPPORTED, f"The acquirer {code} links no cards. Nothing was stored.")
    linked = LinkedCard(
        id=sequences.next_id(linked_cards.TABLE),
        client_id=agent.client_id,
        account_id=agent.id,
        acquirer=code,
        details=card.details,
        alias=alias,
        created_at=now,
        updated_at=now,
        status=IN_VERIFICATION,
    )
    linked_cards.create(linked)

    try:
        answer = acquirers.named(code).link(LinkRequest(f"card#{linked.id}", card), LINK_TIMEOUT_S)
    except AcquirerError:
        return linked
    except Exception as defect:  # noqa: BLE001  the adapter may raise anything
        log_defect(defect, linked_card=linked.id)
        return linked

    status = VERIFIED if answer.code == APPROVED_CODE else FAILED
    linked = replace(linked, status=status, link_id=answer.link_id, storage_id=answer.storage_id)
    linked_cards.finish(linked)
    return linked
