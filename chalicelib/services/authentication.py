"""Who is calling: the Authorization header, proved against what is kept.

It runs in the authorizer, before anything else, and costs one strong read when a password or a secret key is sent.
"""

import secrets as randomness
from datetime import datetime
from hmac import compare_digest
from typing import TypeGuard

from chalicelib.domain.agent import Caller, Login
from chalicelib.domain.credential import BASIC, SESSION, Credential, basic, has_logon_to_note, is_locked, scheme_of
from chalicelib.domain.merchant import ACTIVE
from chalicelib.domain.secret import Secret
from chalicelib.domain.session import Session, is_alive, is_guid, wants_touch
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import secrets
from chalicelib.services import json_web_tokens, passwords
from chalicelib.services.passwords import hash_password
from chalicelib.settings import settings
from chalicelib.store import agents, logins, sessions
from chalicelib.store.table import read

__all__ = ["caller_of", "hash_password", "new_secret_key", "session_digest", "sign_in"]


def caller_of(authorization: str, now: datetime) -> Caller:
    """Who the header proves to be calling, or the 401 that says why not."""
    scheme, value = scheme_of(authorization)
    if scheme not in settings().auth_schemes:
        raise ServiceError(ErrorCode.SCHEME_DISABLED)
    if scheme == SESSION:
        return _by_session(Secret(value), now)

    credential = basic(value) if scheme == BASIC else json_web_tokens.credential_of(value)
    login = read(logins.key(credential.login))
    if _is_key(login, credential.secret) or _is_session_of(login, credential.secret, now):
        return _caller(login)
    login = _proved(login, credential, now)
    if login.failed_attempts or has_logon_to_note(login, now):
        logins.record_logon(login.email, now)
    return _caller(login)


def sign_in(credential: Credential, now: datetime) -> Caller:
    """Whose password this is, noted as a logon. Nothing but the password will do."""
    login = _proved(read(logins.key(credential.login)), credential, now)
    logins.record_logon(login.email, now)
    return _caller(login)


def new_secret_key() -> Secret:
    """A secret key of 256 random bits."""
    return Secret(randomness.token_urlsafe(32))


def _is_key(login: Login | None, secret: Secret) -> TypeGuard[Login]:
    digest = secrets.keyed_digest(secret)  # for an unknown login too: it shall take as long
    return login is not None and login.key_digest is not None and compare_digest(login.key_digest, digest)


def _is_session_of(login: Login | None, secret: Secret, now: datetime) -> TypeGuard[Login]:
    session = _session(secret) if is_guid(secret.reveal()) else None
    if login is None or session is None or session.agent_id != login.agent_id:
        return False
    _caller(login)  # the blocked go no further
    if not is_alive(session, now) or session.credential_version != login.credential_version:
        raise ServiceError(ErrorCode.SESSION_EXPIRED)
    _touch(session, now)
    return True


def _proved(login: Login | None, credential: Credential, now: datetime) -> Login:
    """The login, when the secret is its password. An unknown one costs the same time and the same store calls."""
    if login is not None and is_locked(login, now):
        raise ServiceError(ErrorCode.LOGIN_LOCKED)
    right = passwords.matches(login.password_hash if login else None, credential.secret, now)
    if login is None or login.password_hash is None or not right:
        logins.count_failure(credential.login, login, now)
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
    _caller(login)  # the blocked go no further
    if passwords.is_outdated(login.password_hash):
        logins.rehash(login, hash_password(credential.secret))
    return login


def _by_session(secret: Secret, now: datetime) -> Caller:
    if not is_guid(secret.reveal()):
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
    session = _session(secret)
    if session is None or not is_alive(session, now):
        raise ServiceError(ErrorCode.SESSION_EXPIRED)
    agent = read(agents.key(session.agent_id))
    if agent is None or agent.deleted:
        raise ServiceError(ErrorCode.SESSION_EXPIRED)
    if agent.state != ACTIVE:  # first, because blocking is a new credential version too
        raise ServiceError(ErrorCode.AGENT_BLOCKED)
    if agent.credential_version != session.credential_version:
        raise ServiceError(ErrorCode.SESSION_EXPIRED)
    _touch(session, now)
    return Caller(agent.id, agent.client_id, agent.credential_version, agent.terminal_id)


def session_digest(secret: Secret) -> str:
    """What a session is kept under: its ID in either case leads to it."""
    return secrets.keyed_digest(Secret(secret.reveal().lower()))


def _session(secret: Secret) -> Session | None:
    return read(sessions.key(session_digest(secret)))


def _touch(session: Session, now: datetime) -> None:
    if wants_touch(session, now):
        sessions.touch(session, now)


def _caller(login: Login) -> Caller:
    if login.state != ACTIVE:
        raise ServiceError(ErrorCode.AGENT_BLOCKED)
    return Caller(login.agent_id, login.client_id, login.credential_version, login.terminal_id)
