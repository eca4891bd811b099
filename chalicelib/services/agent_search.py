"""Searching the agents of a merchant."""

from chalicelib.domain import permissions
from chalicelib.domain.agent import Agent, Caller, Login
from chalicelib.domain.agent_profile import Profile, matches_search
from chalicelib.domain.paging import page_of
from chalicelib.schemas.agents import ListAgents
from chalicelib.services import pictures
from chalicelib.services.admission import admit
from chalicelib.services.agents import secret_key_of
from chalicelib.services.merchants import require_merchant
from chalicelib.store import agents, logins, merchants, terminals
from chalicelib.store.table import read, read_all


def search(body: ListAgents, caller: Caller, merchant_id: int) -> tuple[list[Profile], int]:
    """Return a page of the agents that match, by ID, and the number of all that match.

    An agent that is named by its e-mail comes with its secret key; of a longer list each key would be a call of KMS.
    """
    admitted = admit(caller, merchants.key(merchant_id), current_account_id=body.current_account_id)
    permissions.check_can_manage(admitted.agent, merchant_id)
    merchant = require_merchant(admitted.others[0])

    candidates = agents.of_merchant(merchant_id) if body.email is None else _with_email(body.email, merchant_id)
    names = {terminal.id: terminal.tid for terminal in terminals.of_merchant(merchant_id)}
    found = [
        agent
        for agent in candidates
        if body.state in (None, agent.state)
        and (not body.search or matches_search(agent, body.search, names.get(agent.terminal_id or 0)))
    ]

    page = page_of(found, body.page)
    logins_of_page: list[Login | None] = read_all([logins.key(agent.email) for agent in page])
    profiles = [
        Profile(
            agent,
            merchant,
            login,
            names.get(agent.terminal_id or 0),
            avatar_url=pictures.signed_url(agent.avatar_key),
            secret_key=None if body.email is None else secret_key_of(agent),
        )
        for agent, login in zip(page, logins_of_page, strict=True)
    ]
    return profiles, len(found)


def _with_email(email: str, merchant_id: int) -> list[Agent]:
    """Return the agent with this e-mail, if it is the merchant's. Strong reads find one that was just created."""
    login = read(logins.key(email)) if email.strip() else None
    agent = read(agents.key(login.agent_id)) if login and login.client_id == merchant_id else None
    return [agent] if agent else []
