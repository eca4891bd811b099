"""Accounts for tests: an agent, its login and its merchant, stored in the tables, with its credentials.

Written without transactions: moto copies whole tables for each.
"""

import base64
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from argon2 import PasswordHasher

from chalicelib.domain.agent import NO_CLIENT, Agent, BranchActions, Login
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.secret import Secret
from chalicelib.domain.sessions import new_session
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import secrets
from chalicelib.services.authentication import caller_of, session_digest
from chalicelib.store import agent_changes, agent_sessions, agents, merchants
from chalicelib.store.table import put_new, update, write_one
from infra.operator import stage_secret
from tests.support.builders import a_login, a_merchant, a_terminal, an_agent
from tests.support.http import Reply
from tests.support.stored import stored_record

PASSWORD = "a-password:with a colon"  # noqa: S105  of test agents alone
SIGNING = "a signing secret of more than thirty-two bytes"
QUICK_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)  # argon2 with its least parameters
PASSWORD_HASH = QUICK_HASHER.hash(PASSWORD)


@dataclass(frozen=True)
class Account:
    """An agent as it was stored, and its secret key."""

    agent: Agent
    key: str

    @property
    def email(self) -> str:
        return self.agent.email

    @property
    def basic(self) -> str:
        return basic(self.email, PASSWORD)

    @property
    def basic_with_key(self) -> str:
        return basic(self.email, self.key)

    @property
    def login(self) -> Login:
        """Return its login as it is stored now."""
        return stored_record(agents.login_key(self.email))

    def jwt(self, secret: str = "", /, **payload: Any) -> str:
        """Return an Authorization header with a token of the test stage."""
        return f"Jwt {signed({'email': self.email, 'token': secret or self.key, **payload})}"

    def set_on_login(self, **values: Any) -> None:
        """Change the stored login alone."""
        write_one(update(agents.login_key(self.email), values))

    def change(self, **fields: Any) -> None:
        """Change the agent and the same fields of its login, as an update of the agent does."""
        mirrored = {name: value for name, value in fields.items() if name in {"state", "credential_version"}}
        write_one(update(agents.key(self.agent.id), fields))
        if mirrored:
            write_one(update(agents.login_key(self.email), mirrored))


def basic(login: str, secret: str) -> str:
    """Return the Authorization header of RFC 7617."""
    return "Basic " + base64.b64encode(f"{login}:{secret}".encode()).decode()


def signed(payload: dict[str, Any], key: str = SIGNING, **options: Any) -> str:
    """Return a signed JSON web token."""
    import jwt  # noqa: PLC0415  a test asserts that only the Jwt scheme imports it

    return jwt.encode(payload, key, **{"algorithm": "HS256", **options})


def accept_test_tokens() -> None:
    """Make the stage accept the tokens that `signed` returns."""
    if secrets.signing()[:1] != (Secret(SIGNING),):
        stage_secret.rotate_signing(Secret(SIGNING), again=True)


def a_stored_merchant(**changes: Any) -> Merchant:
    """Store a merchant."""
    merchant = a_merchant(**changes)
    write_one(put_new("merchants", merchant, "id"))
    return merchant


def block(merchant: Merchant) -> None:
    """Block a merchant."""
    write_one(update(merchants.key(merchant.id), {"state": 0}))


def a_stored_terminal(merchant: Merchant, **changes: Any) -> int:
    """Store a terminal of the merchant, and return its ID."""
    terminal = a_terminal(client_id=merchant.id, **changes)
    write_one(put_new("terminals", terminal, "id"))
    return terminal.id


def an_account(*rights: int, merchant: Merchant | None = None, system: bool = False, **changes: Any) -> Account:
    """Store an agent with a password and a secret key; it has a merchant of its own unless one is given."""
    client_id = NO_CLIENT if system else (merchant or a_stored_merchant()).id
    given = (BranchActions(client_id, rights),) if rights else ()
    agent = an_agent(client_id=client_id, is_system_user=system, branches_actions=given, **changes)
    key = f"secret-key-of-agent-{agent.id}"
    login = a_login(
        agent,
        credential_version=agent.credential_version,
        state=agent.state,
        terminal_id=agent.terminal_id,
        password_hash=PASSWORD_HASH,
        key_digest=secrets.keyed_digest(Secret(key)),
    )
    write_one(put_new("agents", agent, "id"))
    write_one(agent_changes.create_login(login))
    return Account(agent, key)


def a_session(account: Account, now: datetime) -> str:
    """Store a session that begins now, and return its ID."""
    session_id = Secret(str(uuid4()))
    agent_sessions.create(
        new_session(session_digest(session_id), account.agent.id, account.agent.credential_version, now)
    )
    return session_id.reveal()


def refusal_of(authorization: str, now: datetime) -> ErrorCode | None:
    """Return the error with which a credential is refused; None when it is accepted."""
    try:
        caller_of(authorization, now)
    except ServiceError as refusal:
        return refusal.error
    return None


def guess(account: Account, times: int, now: datetime) -> list[ErrorCode | None]:
    """Try so many wrong passwords, and return the error of each."""
    return [refusal_of(basic(account.email, f"wrong {number}"), now) for number in range(times)]


def is_401(reply: Reply, code: int) -> bool:
    """Return whether a reply is a complete refusal of a credential; API Gateway renames a header of a function's."""
    scheme = reply.headers.get("WWW-Authenticate") or reply.headers.get("x-amzn-Remapped-WWW-Authenticate")
    return (
        reply.error == (401, code)
        and reply.body.keys() == {"ErrorCode", "ErrorMessage", "Validations"}
        and scheme == 'Basic realm="payments"'
        and reply.headers["Content-Type"] == "application/json"
    )
