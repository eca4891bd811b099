"""Passwords: hashed and verified with argon2id, which costs 19 ms each time."""

import unicodedata

from chalicelib import outside
from chalicelib.domain.secret import Secret

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
