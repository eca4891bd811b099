"""Sign-in: verify the Authorization header against stored credentials, and log denials."""

import secrets as random_source
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NoReturn, TypeGuard

from chalicelib.domain.agent import ACTIVE, KEY, PASSWORD, Caller, Login
from chalicelib.domain.guid import is_guid
from chalicelib.domain.password_lock import (
    MANY_PLACES,
    FailedAttempts,
    finished,
    is_full,
    is_locked,
    is_over,
    reaches_many_places,
)
from chalicelib.domain.second_factor import CodeUse
from chalicelib.domain.secret import Secret
from chalicelib.domain.sessions import Session, ends_at, is_alive, is_use_to_record
from chalicelib.domain.sign_in import Credential, Scheme, basic, is_logon_to_record, scheme_of
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import secrets
from chalicelib.log import log
from chalicelib.services import json_web_tokens, passwords
from chalicelib.settings import settings
from chalicelib.store import agents, password_lock, sessions
from chalicelib.store.aws_client import CallError, limit_lost_time
from chalicelib.store.table import client, read

LOGIN = "login"  # the kind of the pseudonyms in the log


@dataclass(eq=False, repr=False)
class Attempt:
    """An attempt to sign in, with the facts known so far."""

    source: str = ""  # the caller's address
    scheme: str | None = None
    login: str | None = None


@contextmanager
def log_denial(attempt: Attempt) -> Iterator[None]:
    """Log one line if the attempt is denied in the block."""
    try:
        yield
    except ServiceError as refusal:
        if refusal.error.is_denial:
            log(
                "denied",
                scheme=attempt.scheme,
                code=refusal.error.code,
                login=None if attempt.login is None else secrets.pseudonym(LOGIN, attempt.login),
                source=attempt.source,
            )
        raise


SECONDS = 4.5  # that an outage may cost the authorizer; its function is stopped after five


def prepare() -> None:
    """Make the client of the store, and begin to fetch the stage's secret: the first request waits less."""
    with limit_lost_time(SECONDS), suppress(CallError):  # the first request meets the failure again and reports it
        client()
    secrets.fetch_early()


def authenticate(authorization: str, source: str, now: datetime) -> Caller:
    """Return the caller that the header proves; log a denial. Raise an outage of the store within `SECONDS`."""
    attempt = Attempt(source)
    with limit_lost_time(SECONDS), log_denial(attempt):
        return caller_of(authorization, now, attempt)


def enabled_schemes() -> frozenset[str]:
    """Return the schemes of the Authorization header that the stage has enabled."""
    return settings().auth_schemes


def caller_of(authorization: str, now: datetime, attempt: Attempt | None = None) -> Caller:
    """Return the caller that the header proves, or raise the reason for the refusal (HTTP 401)."""
    attempt = attempt or Attempt()
    scheme, value = scheme_of(authorization)
    attempt.scheme = scheme
    if scheme not in enabled_schemes():
        names = ", ".join(sorted(enabled_schemes()))
        raise ServiceError(ErrorCode.SCHEME_DISABLED, f"This authorization scheme is not enabled. Enabled: {names}.")
    if scheme is Scheme.SESSION:
        return _caller_of_session(Secret(value), now)

    credential = basic(value) if scheme is Scheme.BASIC else json_web_tokens.credential_of(value, now)
    attempt.login = credential.login
    login = read(agents.login_key(credential.login))
    if _is_key(login, credential.secret):
        return replace(_caller_of_login(login, credential), by=KEY)
    session = _session_of(login, credential.secret, now)
    if login is not None and session is not None:
        return _caller_of_login(login, credential, session)
    return replace(_caller_of_login(_check_password(login, credential, attempt, now), credential), by=PASSWORD)


def caller_of_password(
    credential: Credential, now: datetime, attempt: Attempt | None = None, code: Secret | None = None
) -> Caller:
    """Return the caller of a login and its password, and record the logon. Refuse a secret key and a session.

    Take the code of its second factor, if one is on; raise SECOND_FACTOR without a code, and for a wrong or used one.
    """
    attempt = attempt or Attempt()
    attempt.login = credential.login
    login = read(agents.login_key(credential.login))
    return _caller_of_login(_check_password(login, credential, attempt, now, code, is_sign_in=True), credential)


def new_secret_key() -> Secret:
    """Return a new secret key of 256 random bits."""
    return Secret(random_source.token_urlsafe(32))


def session_digest(secret: Secret) -> str:
    """Return the digest under which a session is stored. It ignores the case of the session's ID.

    An ID has 122 random bits: with a known digest key it cannot be guessed either.
    """
    return secrets.keyed_digest(Secret(secret.reveal().lower()))


def _is_key(login: Login | None, secret: Secret) -> TypeGuard[Login]:
    stored = (login.key_digest if login else None) or ""  # also for an unknown login, which must take as long
    return secrets.is_digest_of(stored, secret) and login is not None


def _session_of(login: Login | None, secret: Secret, now: datetime) -> Session | None:
    """Return the login's session with this ID and record its use; None when the secret is no ID of its sessions.

    An unknown login costs the same store call.
    """
    session = _session(secret) if is_guid(secret.reveal()) else None
    if login is None or session is None or session.agent_id != login.agent_id:
        return None
    _check_active(login)
    if not is_alive(session, now) or session.credential_version != login.credential_version:
        raise ServiceError(ErrorCode.SESSION_EXPIRED)
    return _recorded(session, now)


def _check_password(  # noqa: PLR0913  each argument is needed and independent
    login: Login | None,
    credential: Credential,
    attempt: Attempt,
    now: datetime,
    code: Secret | None = None,
    *,
    is_sign_in: bool = False,
) -> Login:
    """Return the login if the secret is its password. An unknown login costs the same time and the same store calls.

    After verification a conditional write decides, because other guesses may be verified at the same time, and the same
    code of a second factor.
    """
    is_logon = login is not None and login.state == ACTIVE and (is_sign_in or is_logon_to_record(login, now))
    verified = _verify(login, credential, attempt, now)
    use = _use_of(verified, code, attempt, now) if verified.totp_sealed else None
    try:
        password_lock.count_success(verified.email, finished(now), use, is_logon=is_logon)
    except password_lock.CodeUsedError:
        if use is None:  # it was switched on meanwhile
            raise ServiceError(ErrorCode.SECOND_FACTOR) from None
        count_wrong_code(verified.email, attempt, now)
    if passwords.is_outdated(verified.password_hash or ""):
        agents.rehash(verified, passwords.hash_password(credential.secret))
    return verified


def _verify(login: Login | None, credential: Credential, attempt: Attempt, now: datetime) -> Login:
    """Return the login if the secret is its password, else count the failure and raise 102. Raise 104 while locked."""
    unknown = password_lock.counter_of_unknown(secrets.pseudonym("unknown login", credential.login))
    counter = password_lock.counter(login.email) if login else unknown
    seen = read(counter.key) or FailedAttempts()
    if is_locked(seen, now):
        raise ServiceError(ErrorCode.LOGIN_LOCKED)
    if passwords.verify(login.password_hash if login else None, credential.secret) and login is not None:
        return login
    _count_failure(counter, seen, attempt, now)
    raise ServiceError(ErrorCode.BAD_CREDENTIAL)


def _count_failure(counter: password_lock.Counter, seen: FailedAttempts, attempt: Attempt, now: datetime) -> None:
    source = secrets.pseudonym("source", attempt.source)
    before = password_lock.count_failure(counter, finished(now), source, begins_anew=is_over(seen, now))
    if reaches_many_places(before, source):
        log("login_from_many_places", login=secrets.pseudonym(LOGIN, attempt.login or ""), sources=MANY_PLACES)


def _use_of(login: Login, code: Secret | None, attempt: Attempt, now: datetime) -> CodeUse:
    """Return the use of a right code, or raise SECOND_FACTOR. The right password without a code resets nothing."""
    _check_active(login)
    if code is None:
        check_unlocked(login.email, now)  # the answer says that the password is right
        raise ServiceError(ErrorCode.SECOND_FACTOR)
    from chalicelib.services import second_factor  # noqa: PLC0415  only needed where a factor is on

    return second_factor.use_of(login, code, now) or count_wrong_code(login.email, attempt, now)


def check_unlocked(email: str, now: datetime) -> None:
    """Raise LOGIN_LOCKED when the passwords of a login are locked, or its failures are full."""
    found = read(password_lock.counter(email).key) or FailedAttempts()
    if is_locked(found, now) or is_full(found, now):
        raise ServiceError(ErrorCode.LOGIN_LOCKED)


def count_wrong_code(email: str, attempt: Attempt, now: datetime) -> NoReturn:
    """Count a wrong code like a wrong password, and raise SECOND_FACTOR, or LOGIN_LOCKED when passwords are locked."""
    counter = password_lock.counter(email)
    seen = read(counter.key) or FailedAttempts()
    if is_locked(seen, now):
        raise ServiceError(ErrorCode.LOGIN_LOCKED)
    _count_failure(counter, seen, attempt, now)
    raise ServiceError(ErrorCode.SECOND_FACTOR)


def _caller_of_session(secret: Secret, now: datetime) -> Caller:
    if not is_guid(secret.reveal()):
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
    session = _session(secret)
    if session is None or not is_alive(session, now):
        raise ServiceError(ErrorCode.SESSION_EXPIRED)
    agent = read(agents.key(session.agent_id))
    if agent is None or agent.deleted:
        raise ServiceError(ErrorCode.SESSION_EXPIRED)
    if agent.state != ACTIVE:  # first, because blocking also makes a new credential version
        raise ServiceError(ErrorCode.AGENT_BLOCKED)
    if agent.credential_version != session.credential_version:
        raise ServiceError(ErrorCode.SESSION_EXPIRED)
    end = ends_at(_recorded(session, now))
    return Caller(agent.id, agent.client_id, agent.credential_version, agent.terminal_id, end, session.digest)


def _session(secret: Secret) -> Session | None:
    return read(sessions.key(session_digest(secret)))


def _recorded(session: Session, now: datetime) -> Session:
    """Return the session; if its last recorded use is old enough, record the new one."""
    return sessions.touch(session, now) if is_use_to_record(session, now) else session


def _check_active(login: Login) -> None:
    if login.state != ACTIVE:
        raise ServiceError(ErrorCode.AGENT_BLOCKED)


def _caller_of_login(login: Login, credential: Credential, session: Session | None = None) -> Caller:
    _check_active(login)
    ends = [one for one in (credential.ends_at, ends_at(session) if session else None) if one]
    digest = session.digest if session else None
    return Caller(
        login.agent_id, login.client_id, login.credential_version, login.terminal_id, min(ends, default=None), digest
    )
