"""Agents by ID, and their logins by e-mail.

Sign-in needs one strong read, and an e-mail belongs to one agent. `agent_changes` stores both in one transaction.
"""

from contextlib import suppress

from chalicelib.domain.agent import Agent, Login
from chalicelib.domain.sign_in import canonical
from chalicelib.store import table

LOGINS = "logins"


def login_key(email: str) -> table.Key[Login]:
    """Return the key of the login of an e-mail, in any case."""
    return table.Key(LOGINS, Login, {"email": canonical(email)})


def rehash(login: Login, password_hash: str) -> None:
    """Store a hash of the same password with stronger parameters, unless the password has changed since."""
    change = table.update(
        login_key(login.email),
        {"password_hash": password_hash},
        condition="#password_hash = :old",
        compared={"old": login.password_hash},
    )
    with suppress(table.AlreadyExistsError):
        table.write_one(change)


TABLE = "agents"


def key(agent_id: int) -> table.Key[Agent]:
    """Return the key of an agent."""
    return table.Key(TABLE, Agent, {"id": agent_id})


def of_merchant(client_id: int) -> list[Agent]:
    """List the merchant's agents by ID."""
    return table.list_records(TABLE, Agent, ("client_id", client_id), "by_client")
