"""The credential in an Authorization header, and the lock of a login after failed passwords."""

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.domain.agent import Login
from chalicelib.domain.secret import Secret
from chalicelib.errors import ErrorCode, ServiceError

LOCK_AFTER = 10  # failed passwords in a row
LOCK_FOR = timedelta(minutes=30)
LOGON_RECORDED_EVERY = timedelta(hours=1)  # for agents that send their password with each request

MAX_HEADER = 16_384  # characters; API Gateway takes 10,240 bytes of headers in all
MAX_LOGIN = 254  # RFC 5321: the longest e-mail address
MAX_SECRET = 512


class Scheme(StrEnum):
    """A scheme of the Authorization header."""

    BASIC = "Basic"
    JWT = "Jwt"
    SESSION = "Session"


@dataclass(frozen=True)
class Credential:
    """A login, and the secret that proves who uses it."""

    login: str
    secret: Secret


def scheme_of(authorization: str) -> tuple[Scheme, str]:
    """Return the scheme of a header, written in any case, and the value after it.

    Raise NO_CREDENTIAL for an empty header, SCHEME_DISABLED for an unknown scheme, BAD_CREDENTIAL for an empty or
    over-long value.
    """
    word, _, value = authorization.strip().partition(" ")
    if not word:
        raise ServiceError(ErrorCode.NO_CREDENTIAL)
    scheme = next((scheme for scheme in Scheme if scheme.lower() == word.lower()), None)
    if scheme is None:
        raise ServiceError(ErrorCode.SCHEME_DISABLED)
    value = value.strip()
    if not value or len(value) > MAX_HEADER:
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
    return scheme, value


def basic(value: str) -> Credential:
    """Return the credential of RFC 7617: base64 of login:secret in UTF-8, where only the secret may contain colons."""
    try:
        text = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):  # the other ValueErrors: not ASCII, not UTF-8
        raise ServiceError(ErrorCode.BAD_CREDENTIAL) from None
    login, colon, secret = text.partition(":")
    if not colon:
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
    return credential(login, secret)


def credential(login: str, secret: str) -> Credential:
    """Return the credential of a login and its secret, or raise BAD_CREDENTIAL when no agent could have them."""
    if not 0 < len(login.strip()) <= MAX_LOGIN or not 0 < len(secret) <= MAX_SECRET:
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
    try:
        (login + secret).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, from an escape in JSON
        raise ServiceError(ErrorCode.BAD_CREDENTIAL) from None
    return Credential(canonical(login), Secret(secret))


def canonical(email: str) -> str:
    """Return the spelling that a login is stored under: logins are compared without case."""
    return email.strip().lower()


def is_locked(login: Login, now: datetime) -> bool:
    """Return whether passwords are refused now. Secret keys are not: guessing passwords must not stop a till."""
    return login.locked_until is not None and now < login.locked_until


def is_logon_to_record(login: Login, now: datetime) -> bool:
    """Return whether the recorded last logon is old enough to be recorded again."""
    return login.last_logon is None or now >= login.last_logon + LOGON_RECORDED_EVERY
