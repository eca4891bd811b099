"""A forgotten password: send a link to the login's e-mail, and set a new password by it.

The request of a link costs the same for every login, known or not: it only stores an e-mail that is owed. Whether the
login gets one is decided when the e-mail is sent, which nobody waits for. Then the token is made, so it is stored
nowhere but as a digest.
"""

import hashlib
import secrets as random_source
from dataclasses import replace
from datetime import datetime

from chalicelib.domain import password_reset as resets
from chalicelib.domain.agent import NO_CLIENT, Agent, Login
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.message_limits import day_of
from chalicelib.domain.outbox import RESET, Outbox
from chalicelib.domain.password_reset import ResetLink, is_good, may_have_link
from chalicelib.domain.secret import Secret
from chalicelib.domain.sign_in import canonical
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid
from chalicelib.gateways.secrets import pseudonym
from chalicelib.schemas.sign_in import ForgotPassword, ResetPassword
from chalicelib.services import message_limits
from chalicelib.services.authentication import Attempt, log_denial
from chalicelib.services.passwords import hash_password, verify, weakness_of
from chalicelib.settings import settings
from chalicelib.store import agent_changes, agents, merchants, outbox
from chalicelib.store import message_limits as counters
from chalicelib.store.agent_changes import LoginChange
from chalicelib.store.audit import Act
from chalicelib.store.retries import retry_on_change
from chalicelib.store.table import Key, commit, put_new, read

TABLE = "sequences"
MANY = 10**9  # messages of a day: no limit
SCHEME = "Reset"  # in the log: of a denied link
OF_THE_LOCAL_STAGE = "http://127.0.0.1:8000"  # a deployed stage has an address of its own


def forget(body: ForgotPassword, now: datetime) -> None:
    """Owe a link to a login, known or not, at most three a day. The answer and its time tell nothing of the login."""
    email = canonical(body.email)
    login = read(agents.login_key(email))  # what it is now: a change before the e-mail is sent ends the request
    message = resets.request(random_source.token_hex(16), email, login, message_limits.of_address(email), now)
    limit = resets.links_of_day(pseudonym(RESET, email))
    try:
        commit(outbox.put(message), *counters.additions({limit: 1}, day_of(now)))
    except counters.LimitReachedError:
        message_limits.log_withheld(RESET, NO_CLIENT, 0)


def with_link(entry: Outbox, now: datetime) -> Outbox | None:
    """Return the owed e-mail with a new link; None for a login that gets none. Each attempt makes and counts one."""
    login = read(agents.login_key(entry.to[0]))
    agent = read(agents.key(login.agent_id)) if login else None
    merchant = read(merchants.key(agent.client_id)) if agent and agent.client_id != NO_CLIENT else None
    if login is None or login.agent_version != entry.login_version:
        return None
    if agent is None or not may_have_link(agent, merchant):
        return None
    token = Secret(random_source.token_urlsafe(32))
    link = resets.new_link(_key(token).key["name"], agent, login, now)
    try:
        commit(put_new(TABLE, link, "name"), *counters.additions({resets.limit_of(entry): 1}, day_of(now)))
    except counters.LimitReachedError:
        message_limits.log_withheld(RESET, agent.client_id, agent.id)
        return None
    address = f"{settings().public_address or OF_THE_LOCAL_STAGE}/app#/reset/{token.reveal()}"
    return resets.with_link(entry, agent, address)


def reset(body: ResetPassword, source: str, now: datetime) -> None:
    """Set a new password by a link. All sessions, the lock and all older links end, and an e-mail tells so.

    Raise TOKEN_INVALID for a link that is no longer good.
    """
    token = Secret(body.token.get_secret_value())

    def attempt() -> None:
        with log_denial(Attempt(source, SCHEME)):
            agent, login, merchant = _agent_of(token, now)

        shop = merchant.name if merchant else ""
        if weakness := weakness_of(body.password, agent.email, shop=shop, is_manager=True):
            raise invalid(weakness)
        if login.password_hash and verify(login.password_hash, body.password):
            raise invalid(Finding("password", Check.FORMAT, "It is the present password. Choose another password."))

        after = replace(agent, credential_version=agent.credential_version + 1)
        change = LoginChange(password_hash=hash_password(body.password), unlock=True, end_sessions=True)
        told = resets.changed(random_source.token_hex(16), agent, now)
        # It counts, and no limit stops it: the link that it needs was counted.
        counted = counters.additions({replace(message_limits.of_address(agent.email), most=MANY): 1}, day_of(now))
        agent_changes.change(agent, after, change, Act("reset", agent.id, now), outbox.put(told), *counted)

    retry_on_change(attempt)


def _agent_of(token: Secret, now: datetime) -> tuple[Agent, Login, Merchant | None]:
    """Return the agent of a link, its login and its merchant, or raise TOKEN_INVALID."""
    link = read(_key(token))
    agent = read(agents.key(link.agent_id)) if link else None
    merchant = read(merchants.key(agent.client_id)) if agent and agent.client_id != NO_CLIENT else None
    login = read(agents.login_key(agent.email)) if agent else None
    if not (link and agent and login and is_good(link, agent, login, now) and may_have_link(agent, merchant)):
        message = "The link is not good: it was used, is too old, or another one was used. Ask for a new one."
        raise ServiceError(ErrorCode.TOKEN_INVALID, message)
    return agent, login, merchant


def _key(token: Secret) -> Key[ResetLink]:
    """Return the key of a link. Its token has 256 random bits, so a plain digest suffices."""
    return Key(TABLE, ResetLink, {"name": f"reset#{hashlib.sha256(token.reveal().encode()).hexdigest()}"})
