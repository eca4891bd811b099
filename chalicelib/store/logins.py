"""Logins by e-mail: signing in needs one strong read, and an e-mail belongs to one agent."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from chalicelib.domain.agent import Login
from chalicelib.domain.credential import LOCK_AFTER, LOCK_FOR, canonical
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store.codec import decode
from chalicelib.store.table import AlreadyExistsError, Key, Write, put_new, update, write_one

TABLE = "logins"
NOT_FULL = "(attribute_not_exists(#failed_attempts) OR #failed_attempts < :limit)"


def key(email: str) -> Key[Login]:
    """Return the key of the login of an e-mail, in any case."""
    return Key(TABLE, Login, {"email": canonical(email)})


def create(login: Login) -> Write:
    """Store a new login; raise 307 when its e-mail belongs to an agent already."""
    return put_new(TABLE, replace(login, email=canonical(login.email)), "email", ServiceError(ErrorCode.EMAIL_TAKEN))


def count_failure(email: str, login: Login | None, now: datetime) -> None:
    """Count a wrong password; lock passwords at the tenth in a row; raise 104 when they were locked meanwhile.

    The count never exceeds ten: of guesses sent at the same time, those after the tenth learn nothing. An unknown
    e-mail (no `login`) costs the same write and stores nothing.
    """
    locked_until = login.locked_until if login else None
    if locked_until and locked_until <= now and _restart_count(email, locked_until):
        return
    one_more = update(
        key(email),
        "ADD #failed_attempts :one",
        {"one": 1, "limit": LOCK_AFTER},
        condition=f"attribute_exists(#email) AND {NOT_FULL}",
    )
    try:
        count = decode(Login, write_one(one_more)).failed_attempts
    except AlreadyExistsError:
        if login is None:
            return
        _lock(email, now)
        raise ServiceError(ErrorCode.LOGIN_LOCKED) from None
    if count == LOCK_AFTER:
        _lock(email, now)


def record_logon(email: str, now: datetime) -> None:
    """Record a right password, which resets the count of failures; raise 104 when passwords were locked meanwhile."""
    logon = update(
        key(email),
        "SET #last_logon = :now, #failed_attempts = :none REMOVE #locked_until",
        {"now": now, "none": 0, "limit": LOCK_AFTER},
        condition=f"attribute_exists(#email) AND ({NOT_FULL} OR #locked_until <= :now)",
    )
    try:
        write_one(logon)
    except AlreadyExistsError:
        _lock(email, now)
        raise ServiceError(ErrorCode.LOGIN_LOCKED) from None


def rehash(login: Login, password_hash: str) -> None:
    """Store a hash of the same password with stronger parameters, unless the password was changed meanwhile."""
    change = update(
        key(login.email),
        "SET #password_hash = :new",
        {"new": password_hash, "old": login.password_hash},
        condition="#password_hash = :old",
    )
    with suppress(AlreadyExistsError):
        write_one(change)


def _restart_count(email: str, ended: datetime) -> bool:
    """Count the first failure after a lock that ended; return False when another request has done so."""
    change = update(
        key(email),
        "SET #failed_attempts = :one REMOVE #locked_until",
        {"one": 1, "over": ended},
        condition="#locked_until = :over",
    )
    try:
        write_one(change)
    except AlreadyExistsError:
        return False
    return True


def _lock(email: str, now: datetime) -> None:
    """Lock passwords, unless they are locked; every request that finds the count full does so, in case one crashed."""
    lock = update(
        key(email),
        "SET #locked_until = :until",
        {"until": now + LOCK_FOR, "limit": LOCK_AFTER},
        condition="#failed_attempts >= :limit AND attribute_not_exists(#locked_until)",
    )
    with suppress(AlreadyExistsError):
        write_one(lock)
