"""Passwords: argon2id, and a short memory of those verified a moment ago, because one verification costs 19 ms."""

import hmac
import secrets
import unicodedata
from collections import OrderedDict
from datetime import datetime, timedelta
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from chalicelib.domain.secret import Secret

if TYPE_CHECKING:
    from argon2 import PasswordHasher

# What an unknown login is verified against, so that it takes as long as a known one. Of a random text nobody kept.
NOBODYS_HASH = "$argon2id$v=19$m=19456,t=2,p=1$g7XprkKyaxPvyaszu4tn1g$mVbllcduzCeuFuLSEHLui8Sqhmd4GxYT/2g3CWR89Tw"

REMEMBERED = timedelta(seconds=60)
AT_MOST = 1024  # verified passwords remembered


class Memory:
    """Which passwords were right a moment ago, by a keyed mark under a key of this process: no password is in it."""

    def __init__(self, at_most: int = AT_MOST) -> None:
        self._key = secrets.token_bytes(32)
        self._until: OrderedDict[bytes, datetime] = OrderedDict()
        self._at_most = at_most
        self._lock = Lock()

    def knows(self, password_hash: str, password: bytes, now: datetime) -> bool:
        """Whether this password matched this hash within the last minute."""
        until = self._until.get(self._mark(password_hash, password))
        return until is not None and now < until

    def keep(self, password_hash: str, password: bytes, now: datetime) -> None:
        """Remember a match; the oldest is forgotten for it when there are too many."""
        with self._lock:
            self._until[self._mark(password_hash, password)] = now + REMEMBERED
            while len(self._until) > self._at_most:
                self._until.popitem(last=False)

    def _mark(self, password_hash: str, password: bytes) -> bytes:
        # A hash is salted, so it is one login's and one password's: changing the password forgets it.
        return hmac.digest(self._key, password_hash.encode() + b"\0" + password, "sha256")


_memory = Memory()


@cache
def hasher() -> "PasswordHasher":
    """argon2id at the OWASP minimum (Password Storage Cheat Sheet): 19 MiB, two passes, one lane."""
    from argon2 import PasswordHasher  # noqa: PLC0415  20 ms, which a start for a secret key does not pay

    return PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)


def hash_password(password: Secret) -> str:
    """What a password is kept as."""
    return hasher().hash(_bytes_of(password))


def matches(password_hash: str | None, password: Secret, now: datetime) -> bool:
    """Whether it is the password; no hash (an unknown login) takes as long as a wrong password."""
    text = _bytes_of(password)
    if password_hash and _memory.knows(password_hash, text, now):
        return True
    right = _verify(password_hash or NOBODYS_HASH, text)
    if not right or not password_hash:
        return False
    _memory.keep(password_hash, text, now)
    return True


def _verify(password_hash: str, password: bytes) -> bool:
    from argon2.exceptions import InvalidHashError, VerificationError  # noqa: PLC0415  as above

    try:
        return hasher().verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def is_outdated(password_hash: str) -> bool:
    """Whether it was made under weaker parameters than today's."""
    return hasher().check_needs_rehash(password_hash)


def _bytes_of(password: Secret) -> bytes:
    """One text, one password, however the keyboard composed its accents (RFC 8265)."""
    return unicodedata.normalize("NFC", password.reveal()).encode()
