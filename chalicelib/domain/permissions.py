"""Who may do what: the one place that decides it, from the roles' table.

Another merchant's object is answered as a missing one is; what the caller's own merchant has is answered with 151.
"""

from chalicelib.domain.agent import Agent
from chalicelib.errors import ErrorCode, ServiceError

UNIT_ADMINISTRATOR = 200
VIEW_DIVISIONS = 201  # see the operations of colleagues
ASSIGN_TERMINAL = 210
ADMINISTRATOR = 220
REVERSE_OTHERS = 301  # reverse the payments of colleagues


def is_administrator(agent: Agent) -> bool:
    """Whether the agent administers its merchant."""
    return ADMINISTRATOR in agent.rights


def sees_merchant(agent: Agent) -> bool:
    """Whether a history is the whole merchant's; else it is the agent's own payments."""
    return agent.is_system_user or is_administrator(agent) or VIEW_DIVISIONS in agent.rights


def create_merchants(agent: Agent) -> None:
    """System users create merchants."""
    if not agent.is_system_user:
        raise ServiceError(ErrorCode.ROLE_MAY_NOT)


def manage(agent: Agent, client_id: int) -> None:
    """Change a merchant, its agents and terminals: system users everywhere, administrators at home."""
    _at_home(agent, client_id, ErrorCode.MERCHANT_NOT_FOUND)
    _allow(agent.is_system_user or is_administrator(agent))


def see_agent(agent: Agent, client_id: int, agent_id: int) -> None:
    """Read an agent, its secret key included: who manages the merchant, and the agent itself."""
    _at_home(agent, client_id, ErrorCode.MERCHANT_NOT_FOUND)
    _allow(agent.is_system_user or is_administrator(agent) or agent.id == agent_id)


def take_payments(agent: Agent) -> None:
    """Take and prepare payments: whoever has a merchant to take them for."""
    _allow(not agent.is_system_user)


def see_transaction(agent: Agent, client_id: int, agent_id: int) -> None:
    """Read a payment of `agent_id`: one's own, a colleague's with right 201."""
    _at_home(agent, client_id, ErrorCode.TRANSACTION_NOT_FOUND)
    _allow(sees_merchant(agent) or agent.id == agent_id)


def history_of(agent: Agent, account: Agent | None) -> tuple[int, int | None]:
    """Whose history is listed: a merchant, and one of its agents or (None) all of them.

    `account` is the one the request names. A system user, who has no merchant, sees what the account it names would
    see; anybody else may name a colleague with right 201. A foreign account is 563, as a missing one is.
    """
    if agent.is_system_user:
        if account is None or account.is_system_user:
            raise ServiceError(ErrorCode.AGENT_NOT_FOUND)
        return account.client_id, None if sees_merchant(account) else account.id
    if account is None:
        return agent.client_id, None if sees_merchant(agent) else agent.id
    _at_home(agent, account.client_id, ErrorCode.AGENT_NOT_FOUND)
    _allow(sees_merchant(agent) or agent.id == account.id)
    return agent.client_id, account.id


def reverse(agent: Agent, client_id: int, agent_id: int) -> None:
    """Reverse a payment of `agent_id`: one's own, a colleague's with right 301."""
    _at_home(agent, client_id, ErrorCode.TRANSACTION_NOT_FOUND)
    _allow(agent.is_system_user or is_administrator(agent) or REVERSE_OTHERS in agent.rights or agent.id == agent_id)


def see_cards(agent: Agent, client_id: int, agent_id: int) -> None:
    """List the cards linked to `agent_id`."""
    _at_home(agent, client_id, ErrorCode.AGENT_NOT_FOUND)
    _allow(agent.is_system_user or is_administrator(agent) or agent.id == agent_id)


def _at_home(agent: Agent, client_id: int, missing: ErrorCode) -> None:
    if not agent.is_system_user and agent.client_id != client_id:
        raise ServiceError(missing)


def _allow(allowed: bool) -> None:  # noqa: FBT001  it reads as a sentence where it is called
    if not allowed:
        raise ServiceError(ErrorCode.ROLE_MAY_NOT)
