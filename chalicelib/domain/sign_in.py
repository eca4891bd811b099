"""Sign-in: the schemes of the Authorization header, and the credential in it."""

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.domain.agent import Login
from chalicelib.domain.secret import Secret
from chalicelib.errors import ErrorCode, ServiceError

LOGON_RECORDED_EVERY = timedelta(hours=1)  # for agents that send their password with each request

MAX_HEADER = 16_384  # characters; API Gateway takes 10,240 bytes of headers in all
MAX_LOGIN = 254  # RFC 5321: the longest e-mail address
MAX_SECRET = 512


class Scheme(StrEnum):
    """A scheme of the Authorization header."""

    BASIC = "Basic"
    JWT = "Jwt"
    SESSION = "Session"


class Source(str):
    """The caller's address, as API Gateway saw it."""

    __slots__ = ()


@dataclass(frozen=True)
class Credential:
    """A login, and the secret that proves who uses it. `ends_at` is the end of the token that held them."""

    login: str
    secret: Secret
    ends_at: datetime | None = None


def scheme_of(authorization: str) -> tuple[Scheme | None, str]:
    """Return the scheme of a header, in any case, and the value after it. The scheme is None for an unknown one.

    Raise NO_CREDENTIAL for an empty header, BAD_CREDENTIAL for an empty or too long value of a known scheme.
    """
    word, _, value = authorization.strip().partition(" ")
    if not word:
        raise ServiceError(ErrorCode.NO_CREDENTIAL)
    scheme = next((scheme for scheme in Scheme if scheme.lower() == word.lower()), None)
    value = value.strip()
    if scheme is None:
        return None, value
    if not value or len(value) > MAX_HEADER:
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
    return scheme, value


def basic(value: str) -> Credential:
    """Return the credential of RFC 7617: base64 of login:secret in UTF-8. Only the secret may contain colons."""
    try:
        text = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, ValueError):  # ValueError: not ASCII or not UTF-8
        raise ServiceError(ErrorCode.BAD_CREDENTIAL) from None
    login, _, secret = text.partition(":")
    return credential(login, secret)


def credential(login: str, secret: str) -> Credential:
    """Return the credential of a login and its secret, or raise BAD_CREDENTIAL when no agent can have them."""
    if not 0 < len(login.strip()) <= MAX_LOGIN or not 0 < len(secret) <= MAX_SECRET:
        raise ServiceError(ErrorCode.BAD_CREDENTIAL)
    try:
        (login + secret).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, from a JSON escape
        raise ServiceError(ErrorCode.BAD_CREDENTIAL) from None
    return Credential(canonical(login), Secret(secret))


def canonical(email: str) -> str:
    """Return the spelling under which a login is stored. Logins ignore case."""
    return email.strip().lower()


def is_logon_to_record(login: Login, now: datetime) -> bool:
    """Return whether the recorded last logon is old enough to be recorded again."""
    return login.last_logon is None or now >= login.last_logon + LOGON_RECORDED_EVERY
