"""What an Authorization header says, and when a login is locked."""

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime, timedelta

from chalicelib.domain.agent import Login
from chalicelib.domain.secret import Secret
from chalicelib.errors import ErrorCode, ServiceError

BASIC, JWT, SESSION = "Basic", "Jwt", "Session"
SCHEMES = {scheme.lower(): scheme for scheme in (BASIC, JWT, SESSION)}

LOCK_AFTER = 10  # failed passwords in a row
LOCK_FOR = timedelta(minutes=30)
LOGON_EVERY = timedelta(hours=1)  # how exact the last logon is for who sends a password with each request

MAX_HEADER = 16_384  # characters; API Gateway takes 10,240 bytes of headers in all
MAX_LOGIN = 254  # RFC 5321: the longest e-mail address
MAX_SECRET = 512


@dataclass(frozen=True)
class Credential:
    """Who somebody says to be, and the secret that shall prove it."""

    login: str
    secret: Secret


def scheme_of(authorization: str) -> tuple[str, str]:
    """The scheme, spelt as ours whatever its case, and what follows it. 101 for nothing, 107 for another scheme."""
    word, _, value = authorization.strip().partition(" ")
    if not word:
        raise ServiceError(ErrorCode.NO_CREDENTIAL)
    scheme = SCHEMES.get(word.lower())
    if scheme is None:
        raise ServiceError(ErrorCode.SCHEME_DISABLED)
    value = value.strip()
    if not value or len(value) > MAX_HEADER:
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
    return scheme, value


def basic(value: str) -> Credential:
    """The credential of RFC 7617: base64 of login:secret in UTF-8. The secret may hold colons, the login may not."""
    try:
        text = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):  # the other ValueErrors: not ASCII, not UTF-8
        raise ServiceError(ErrorCode.BAD_CREDENTIAL) from None
    login, colon, secret = text.partition(":")
    if not colon:
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
    return credential(login, secret)


def credential(login: str, secret: str) -> Credential:
    """A login and its secret, 102 when no agent could have them."""
    if not 0 < len(login.strip()) <= MAX_LOGIN or not 0 < len(secret) <= MAX_SECRET:
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
    try:
        (login + secret).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, from an escape in JSON
        raise ServiceError(ErrorCode.BAD_CREDENTIAL) from None
    return Credential(canonical(login), Secret(secret))


def canonical(email: str) -> str:
    """The one spelling a login is kept under: logins are compared without case."""
    return email.strip().lower()


def is_locked(login: Login, now: datetime) -> bool:
    """Whether passwords are refused for now. A secret key is not: nobody stops a till by guessing."""
    return login.locked_until is not None and now < login.locked_until


def has_logon_to_note(login: Login, now: datetime) -> bool:
    """Whether the last logon on record is old enough to be written again."""
    return login.last_logon is None or now >= login.last_logon + LOGON_EVERY
