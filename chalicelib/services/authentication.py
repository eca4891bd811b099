"""Authentication: the Authorization header, verified against the stored credentials.

It runs in the authorizer, before anything else. A secret key costs one strong read, and so does a password that this
process has verified a moment ago; another password costs two, and one write.
"""

import secrets as random_source
from datetime import datetime
from hmac import compare_digest
from typing import TypeGuard

from chalicelib.domain.agent import Caller, Login
from chalicelib.domain.credential import (
    Credential,
    FailedAttempts,
    Scheme,
    basic,
    is_locked,
    is_logon_to_record,
    reaches_many_places,
    scheme_of,
)
from chalicelib.domain.guid import is_guid
from chalicelib.domain.secret import Secret
from chalicelib.domain.session import Session, ends_at, is_alive, is_use_to_record
from chalicelib.domain.state import ACTIVE
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import secrets
from chalicelib.services import denials, json_web_tokens, passwords
from chalicelib.services.denials import Attempt, log_denial
from chalicelib.settings import settings
from chalicelib.store import agents, logins, sessions
from chalicelib.store.lost_time import limit_lost_time
from chalicelib.store.table import read

SECONDS = 4.5  # that the authorizer may lose to an outage; its function is stopped after five


def prepare() -> None:
    """Begin to fetch what every request needs, the stage's secret: the first request waits for less of it."""
    secrets.fetch_early()


def authenticate(authorization: str, source: str, now: datetime) -> Caller:
    """Return the caller that the header proves; log a denial. An outage of the store is raised within `SECONDS`."""
    attempt = Attempt(source)
    with limit_lost_time(SECONDS), log_denial(attempt):
        return caller_of(authorization, now, attempt)


def caller_of(authorization: str, now: datetime, attempt: Attempt | None = None) -> Caller:
    """Return the caller that the header proves, or raise the reason for refusing it (HTTP 401)."""
    attempt = attempt or Attempt()
    scheme, value = scheme_of(authorization)
    attempt.scheme = scheme
    if scheme not in settings().auth_schemes:
        raise ServiceError(ErrorCode.SCHEME_DISABLED)
    if scheme is Scheme.SESSION:
        return _caller_of_session(Secret(value), now)

    credential = basic(value) if scheme is Scheme.BASIC else json_web_tokens.credential_of(value)
    attempt.login = credential.login
    login = read(logins.key(credential.login))
    if _is_key(login, credential.secret):
        return _caller_of_login(login)
    session = _session_of(login, credential.secret, now)
    if login is not None and session is not None:
        return _caller_of_login(login, session)
    return _caller_of_login(_check_password(login, credential, attempt, now))


def caller_of_password(credential: Credential, now: datetime, attempt: Attempt | None = None) -> Caller:
    """Return the caller of a login and its password, and record the logon. A secret key or a session is refused."""
    attempt = attempt or Attempt()
    attempt.login = credential.login
    login = read(logins.key(credential.login))
    return _caller_of_login(_check_password(login, credential, attempt, now, is_sign_in=True))


def new_secret_key() -> Secret:
    """Return a new secret key of 256 random bits."""
    return Secret(random_source.token_urlsafe(32))


def session_digest(secret: Secret) -> str:
    """Return the digest that a session is stored under: the same for its ID in upper and lower case."""
    return secrets.keyed_digest(Secret(secret.reveal().lower()))


def _is_key(login: Login | None, secret: Secret) -> TypeGuard[Login]:
    digest = secrets.keyed_digest(secret)  # for an unknown login, too, so that it takes as long
    return login is not None and login.key_digest is not None and compare_digest(login.key_digest, digest)


def _session_of(login: Login | None, secret: Secret, now: datetime) -> Session | None:
    """Return the session of this login whose ID the secret is, and record its use; None when it is no such ID.

    It is looked for when nobody has the login, too, so that this costs the same.
    """
    session = _session(secret) if is_guid(secret.reveal()) else None
    if login is None or session is None or session.agent_id != login.agent_id:
        return None
    _check_active(login)
    if not is_alive(session, now) or session.credential_version != login.credential_version:
        raise ServiceError(ErrorCode.SESSION_EXPIRED)
    return _recorded(session, now)


def _check_password(
    login: Login | None, credential: Credential, attempt: Attempt, now: datetime, *, is_sign_in: bool = False
) -> Login:
    """Return the login if the secret is its password. An unknown login costs the same time and the same store calls.

    After a password was verified a conditional write decides, because others may have been verified at the same time.
    A password that this process remembers is decided on the login as it was read.
    """
    is_logon = login is not None and login.state == ACTIVE and (is_sign_in or is_logon_to_record(login, now))
    if _is_remembered(login, credential.secret, now):
        if is_logon or login.failed_attempts:
            logins.decide_success(login.email, now, is_logon=is_logon)
        return login
    verified = _verify(login, credential, attempt, now)
    logins.decide_success(verified.email, now, is_logon=is_logon)
    if passwords.is_outdated(verified.password_hash or ""):
        logins.rehash(verified, passwords.hash_password(credential.secret))
    return verified


def _is_remembered(login: Login | None, secret: Secret, now: datetime) -> TypeGuard[Login]:
    return login is not None and not is_locked(login, now) and passwords.is_remembered(login.password_hash, secret, now)


def _verify(login: Login | None, credential: Credential, attempt: Attempt, now: datetime) -> Login:
    """Return the login if the secret is its password, else count the failure and raise 102; 104 while it is locked."""
    unknown = logins.counter_of_unknown(secrets.pseudonym("unknown login", credential.login))
    counter = logins.counter(login.email) if login else unknown
    seen = read(counter.key) or FailedAttempts()
    if is_locked(seen, now):
        raise ServiceError(ErrorCode.LOGIN_LOCKED)
    if passwords.verify(login.password_hash if login else None, credential.secret, now) and login is not None:
        return login
    source = secrets.pseudonym("source", attempt.source)
    before = logins.count_failure(counter, seen, source, now)
    if reaches_many_places(before, source):
        denials.log_many_places(credential.login)
    raise ServiceError(ErrorCode.BAD_CREDENTIAL)


def _caller_of_session(secret: Secret, now: datetime) -> Caller:
    if not is_guid(secret.reveal()):
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
    session = _session(secret)
    if session is None or not is_alive(session, now):
        raise ServiceError(ErrorCode.SESSION_EXPIRED)
    agent = read(agents.key(session.agent_id))
    if agent is None or agent.deleted:
        raise ServiceError(ErrorCode.SESSION_EXPIRED)
    if agent.state != ACTIVE:  # first, because blocking makes a new credential version, too
        raise ServiceError(ErrorCode.AGENT_BLOCKED)
    if agent.credential_version != session.credential_version:
        raise ServiceError(ErrorCode.SESSION_EXPIRED)
    end = ends_at(_recorded(session, now))
    return Caller(agent.id, agent.client_id, agent.credential_version, agent.terminal_id, end)


def _session(secret: Secret) -> Session | None:
    return read(sessions.key(session_digest(secret)))


def _recorded(session: Session, now: datetime) -> Session:
    """Record the use of a session if it is time to, and return the session as it is then."""
    return sessions.touch(session, now) if is_use_to_record(session, now) else session


def _check_active(login: Login) -> None:
    if login.state != ACTIVE:
        raise ServiceError(ErrorCode.AGENT_BLOCKED)


def _caller_of_login(login: Login, session: Session | None = None) -> Caller:
    _check_active(login)
    end = ends_at(session) if session else None
    return Caller(login.agent_id, login.client_id, login.credential_version, login.terminal_id, end)
