"""Passwords: hashed and verified with argon2id, which costs 19 ms each time; a new one is refused if it is weak."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import islice

from chalicelib import outside
from chalicelib.domain.secret import Secret
from chalicelib.errors import Check, Finding
from chalicelib.settings import settings

# The hash of a random text that is not stored. An unknown login is verified against it and so takes as long as a known
# one.
UNKNOWN_LOGIN_HASH = "$argon2id$v=19$m=19456,t=2,p=1$g7XprkKyaxPvyaszu4tn1g$mVbllcduzCeuFuLSEHLui8Sqhmd4GxYT/2g3CWR89Tw"


def hash_password(password: Secret) -> str:
    """Return the hash that is stored for a password."""
    return outside.current.hasher().hash(_bytes_of(password))


def verify(password_hash: str | None, password: Secret) -> bool:
    """Return whether the password is right. Without a hash (an unknown login) it takes as long as a wrong password."""
    return _verify_hash(password_hash or UNKNOWN_LOGIN_HASH, _bytes_of(password)) and bool(password_hash)


def _verify_hash(password_hash: str, password: bytes) -> bool:
    from argon2.exceptions import InvalidHashError, VerificationError  # noqa: PLC0415  as above

    try:
        return outside.current.hasher().verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def is_outdated(password_hash: str) -> bool:
    """Return whether the hash was made with weaker parameters than today's."""
    return outside.current.hasher().check_needs_rehash(password_hash)


def _bytes_of(password: Secret) -> bytes:
    """Return the bytes to hash. Every Unicode composition of the same characters gives the same bytes (RFC 8265)."""
    return unicodedata.normalize("NFC", password.reveal()).encode()


LEAST_OF_MANAGERS = 12  # characters, because administrators and system users may do more
COMMONEST = 10_000  # first passwords of zxcvbn's list, the commonest first
# The credentials in this project's documents. Anybody can read them.
DOCUMENTED = re.compile(
    r"(system|owner|till\d*)-(demo|other)-password|till-demo-secret-key-0001|the-password-of-[a-z]+"
    r"|correct horse battery|a password for the counter"
)


def weakness_of(password: Secret, login: str, *, shop: str = "", is_manager: bool) -> Finding | None:
    """Return why a new password is refused; None if it is not.

    `login` is the agent's e-mail, `shop` its merchant's name.
    """
    text = _compared(password.reveal())
    if is_manager and len(password.reveal()) < LEAST_OF_MANAGERS:
        message = f"An administrator or a system user needs at least {LEAST_OF_MANAGERS} characters."
        return Finding("password", Check.OUT_OF_RANGE, message)
    own = {_compared(one) for one in (login, login.partition("@")[0], shop)}
    reason = next(_weaknesses(password, text, own), None)
    return Finding("password", Check.FORMAT, f"{reason} Choose another password.") if reason else None


def _weaknesses(password: Secret, text: str, own: set[str]) -> Iterator[str]:
    """Yield what is wrong with a password, the cheapest checks first. `text` is the password as it is compared."""
    if len(set(text)) <= 1:
        yield "It repeats one character."
    if text in own:
        yield "It is the login or the name of the shop."
    if text in _commonest():
        yield f"It is one of the {COMMONEST:,} commonest passwords."
    if is_documented(password):
        yield "It stands in the documents of the service."


def is_documented(secret: Secret) -> bool:
    """Return whether a password or a key stands in our documents. The local stage has such credentials."""
    return DOCUMENTED.fullmatch(_compared(secret.reveal())) is not None and not settings().is_local


def _compared(text: str) -> str:
    """Return a text as it is compared: the same for other capitals, widths and outer blanks."""
    return unicodedata.normalize("NFKC", text).lower().strip()


@cache
def _commonest() -> frozenset[str]:
    from zxcvbn.frequency_lists import FREQUENCY_LISTS  # noqa: PLC0415  50 ms, only when somebody sets a password

    return frozenset(islice(FREQUENCY_LISTS["passwords"], COMMONEST))
