"""Passwords: argon2id, and a short-lived cache of verified passwords, because one verification costs 19 ms."""

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

# The hash of a random text that is not stored. An unknown login is verified against it and so takes as long as a known
# one.
UNKNOWN_LOGIN_HASH = "$argon2id$v=19$m=19456,t=2,p=1$g7XprkKyaxPvyaszu4tn1g$mVbllcduzCeuFuLSEHLui8Sqhmd4GxYT/2g3CWR89Tw"

CACHED_FOR = timedelta(seconds=60)
MAX_CACHED = 1024


class VerifiedPasswords:
    """A cache of recently verified passwords. It holds digests with a key of this process, and no password."""

    def __init__(self, max_cached: int = MAX_CACHED) -> None:
        self._key = secrets.token_bytes(32)
        self._until: OrderedDict[bytes, datetime] = OrderedDict()
        self._max_cached = max_cached
        self._lock = Lock()

    def contains(self, password_hash: str, password: bytes, now: datetime) -> bool:
        """Return whether this password matched this hash within the last minute."""
        until = self._until.get(self._digest(password_hash, password))
        return until is not None and now < until

    def add(self, password_hash: str, password: bytes, now: datetime) -> None:
        """Add a match; remove the oldest when there are too many."""
        with self._lock:
            self._until[self._digest(password_hash, password)] = now + CACHED_FOR
            while len(self._until) > self._max_cached:
                self._until.popitem(last=False)

    def _digest(self, password_hash: str, password: bytes) -> bytes:
        # A hash has a salt, so it belongs to one login and one password. A changed password is therefore not in the
        # cache.
        return hmac.digest(self._key, password_hash.encode() + b"\0" + password, "sha256")


_verified = VerifiedPasswords()


@cache
def hasher() -> "PasswordHasher":
    """Return argon2id at the OWASP minimum (Password Storage Cheat Sheet): 19 MiB, two passes, one lane."""
    from argon2 import PasswordHasher  # noqa: PLC0415  20 ms, which a cold start with a secret key does not need

    return PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)


def hash_password(password: Secret) -> str:
    """Return the hash that is stored for a password."""
    return hasher().hash(_bytes_of(password))


def is_remembered(password_hash: str | None, password: Secret, now: datetime) -> bool:
    """Return whether this process has verified the password within the last minute."""
    return password_hash is not None and _verified.contains(password_hash, _bytes_of(password), now)


def verify(password_hash: str | None, password: Secret, now: datetime) -> bool:
    """Return whether the password is right. Without a hash (an unknown login) it takes as long as a wrong password."""
    text = _bytes_of(password)
    right = _verify_hash(password_hash or UNKNOWN_LOGIN_HASH, text)
    if not right or not password_hash:
        return False
    _verified.add(password_hash, text, now)
    return True


def _verify_hash(password_hash: str, password: bytes) -> bool:
    from argon2.exceptions import InvalidHashError, VerificationError  # noqa: PLC0415  as above

    try:
        return hasher().verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def is_outdated(password_hash: str) -> bool:
    """Return whether the hash was made with weaker parameters than today's."""
    return hasher().check_needs_rehash(password_hash)


def _bytes_of(password: Secret) -> bytes:
    """Return the bytes to hash. Every Unicode composition of the same characters gives the same bytes (RFC 8265)."""
    return unicodedata.normalize("NFC", password.reveal()).encode()
