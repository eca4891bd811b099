"""Finding a merchant's agents."""

from chalicelib.domain import permissions
from chalicelib.domain.agent import Agent, Caller, Login
from chalicelib.domain.agent_profile import Profile, matches
from chalicelib.schemas.agents import ListAgents
from chalicelib.services import pictures
from chalicelib.services.admission import admit
from chalicelib.services.merchants import existing
from chalicelib.store import agents, logins, merchants, terminals
from chalicelib.store.table import read, read_all

PAGE = 100


def agents_of(body: ListAgents, caller: Caller, merchant_id: int) -> tuple[list[Profile], int]:
    """One page of the agents that match, by ID, without their secret keys; and how many match in all."""
    admitted = admit(caller, merchants.key(merchant_id), current_account_id=body.current_account_id)
    permissions.manage(admitted.agent, merchant_id)
    merchant = existing(admitted.others[0])

    candidates = agents.of_merchant(merchant_id) if body.email is None else _with_email(body.email, merchant_id)
    names = {terminal.id: terminal.tid for terminal in terminals.of_merchant(merchant_id)} if body.search else {}
    found = [
        agent
        for agent in candidates
        if body.state in (None, agent.state)
        and (not body.search or matches(agent, body.search, names.get(agent.terminal_id or 0)))
    ]

    start = (max(body.page or 1, 1) - 1) * PAGE
    page = found[start : start + PAGE]
    signing_in: list[Login | None] = read_all([logins.key(agent.email) for agent in page])
    profiles = [
        Profile(agent, merchant, login, pictures.address(agent.avatar_key))
        for agent, login in zip(page, signing_in, strict=True)
    ]
    return profiles, len(found)


def _with_email(email: str, merchant_id: int) -> list[Agent]:
    """The agent of a login, if it is the merchant's: a strong read, for what was created just now."""
    login = read(logins.key(email)) if email.strip() else None
    agent = read(agents.key(login.agent_id)) if login and login.client_id == merchant_id else None
    return [agent] if agent else []
