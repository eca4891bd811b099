"""What signing in needs, under the e-mail: one strong read, and the e-mail belongs to one agent."""

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
    """Where the login of an e-mail is kept, whatever its case."""
    return Key(TABLE, Login, {"email": canonical(email)})


def create(login: Login) -> Write:
    """Give an e-mail to an agent, unless it belongs to one already."""
    return put_new(TABLE, replace(login, email=canonical(login.email)), "email", ServiceError(ErrorCode.EMAIL_TAKEN))


def count_failure(email: str, login: Login | None, now: datetime) -> None:
    """Count a wrong password; the tenth in a row locks passwords. 104 when they were locked meanwhile.

    The count is never above ten: of guesses sent all at once, those after the tenth learn nothing. An e-mail nobody
    has (no `login`) costs the same write and leaves nothing.
    """
    over = login.locked_until if login else None
    if over and over <= now and _begin_anew(email, over):
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


def _begin_anew(email: str, over: datetime) -> bool:
    """Count the first failure after a lock that is over; False when somebody else did."""
    change = update(
        key(email),
        "SET #failed_attempts = :one REMOVE #locked_until",
        {"one": 1, "over": over},
        condition="#locked_until = :over",
    )
    try:
        write_one(change)
    except AlreadyExistsError:
        return False
    return True


def _lock(email: str, now: datetime) -> None:
    """Lock passwords, unless they are. Whoever finds the count full does it, so a crash in between is mended."""
    lock = update(
        key(email),
        "SET #locked_until = :until",
        {"until": now + LOCK_FOR, "limit": LOCK_AFTER},
        condition="#failed_attempts >= :limit AND attribute_not_exists(#locked_until)",
    )
    with suppress(AlreadyExistsError):
        write_one(lock)


def note_logon(email: str, now: datetime) -> None:
    """Write down that a password was right: the count of failures begins anew. 104 when locked meanwhile."""
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
    """Keep the password under stronger parameters, unless it was changed meanwhile."""
    change = update(
        key(login.email),
        "SET #password_hash = :new",
        {"new": password_hash, "old": login.password_hash},
        condition="#password_hash = :old",
    )
    with suppress(AlreadyExistsError):
        write_one(change)
