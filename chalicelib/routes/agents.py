"""Agents (POS users)."""

from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.schemas.agent_view import BulkAnswer, PosAnswer, PosListAnswer, PosView
from chalicelib.schemas.agents import BulkUpdate, CreateAgent, ListAgents, UpdateAgent
from chalicelib.services import agent_bulk, agent_search, agents


def create(merchant_id: int, body: CreateAgent, caller: Caller) -> PosAnswer:
    """Create an agent."""
    now = datetime.now(UTC)
    return PosAnswer.of(agents.create(body, caller, merchant_id, now), now, body.gmt)


def get(merchant_id: int, pos_id: int, caller: Caller) -> PosAnswer:
    """Show an agent, with its secret key."""
    return PosAnswer.of(agents.get(caller, merchant_id, pos_id), datetime.now(UTC))


def update(merchant_id: int, pos_id: int, body: UpdateAgent, caller: Caller) -> PosAnswer:
    """Edit an agent."""
    now = datetime.now(UTC)
    return PosAnswer.of(agents.update(body, caller, merchant_id, pos_id, now), now, body.gmt)


def update_bulk(merchant_id: int, body: BulkUpdate, caller: Caller) -> BulkAnswer:
    """Edit several agents."""
    return BulkAnswer.of(agent_bulk.update(body, caller, merchant_id, datetime.now(UTC)))


def search(merchant_id: int, body: ListAgents, caller: Caller) -> PosListAnswer:
    """Find agents."""
    page, total = agent_search.agents_of(body, caller, merchant_id)
    now = datetime.now(UTC)
    return PosListAnswer.of([PosView.of(profile, now, body.gmt) for profile in page], total, agent_search.PAGE)
