"""Agents (POS users) of a merchant."""

from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.schemas.agents import (
    BulkAnswer,
    BulkUpdate,
    CreateAgent,
    ListAgents,
    PosAnswer,
    PosListAnswer,
    UpdateAgent,
)
from chalicelib.schemas.request_context import ZoneQuery
from chalicelib.services import agents


def create(merchant_id: int, body: CreateAgent, caller: Caller) -> PosAnswer:
    """Create an agent."""
    now = datetime.now(UTC)
    return PosAnswer.of(agents.create(body, caller, merchant_id, now), now, body.gmt)


def get(merchant_id: int, pos_id: int, body: ZoneQuery, caller: Caller) -> PosAnswer:
    """Get an agent, with its secret key."""
    return PosAnswer.of(agents.get(caller, merchant_id, pos_id), datetime.now(UTC), body.gmt)


def update(merchant_id: int, pos_id: int, body: UpdateAgent, caller: Caller) -> PosAnswer:
    """Update an agent."""
    now = datetime.now(UTC)
    return PosAnswer.of(agents.update(body, caller, merchant_id, pos_id, now), now, body.gmt)


def update_bulk(merchant_id: int, body: BulkUpdate, caller: Caller) -> BulkAnswer:
    """Update several agents."""
    return BulkAnswer.of(agents.update_bulk(body, caller, merchant_id, datetime.now(UTC)))


def search(merchant_id: int, body: ListAgents, caller: Caller) -> PosListAnswer:
    """Search the agents of a merchant, 100 a page."""
    page, total = agents.search(body, caller, merchant_id)
    return PosListAnswer.of(page, total, datetime.now(UTC), body.gmt)
