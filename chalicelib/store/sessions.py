"""Sessions by the digest of their ID: a reader of the table can use none of them."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from chalicelib.domain.session import Session, expiry
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store.table import AlreadyExistsError, Key, put_new, update, write_one

TABLE = "sessions"


def key(digest: str) -> Key[Session]:
    """Return the key of the session with this digest."""
    return Key(TABLE, Session, {"digest": digest})


def create(session: Session) -> None:
    """Store a new session. One that is there already is this one, whose first answer was lost: its ID is random."""
    with suppress(AlreadyExistsError):
        write_one(put_new(TABLE, session, "digest"))


def touch(session: Session, now: datetime) -> Session:
    """Record that a session was used, which extends it; raise 105 when it was deleted meanwhile."""
    touched = replace(session, used_at=now, expires_at=expiry(session, now))
    write_one(
        update(
            key(session.digest),
            "SET #used_at = :used_at, #expires_at = :expires_at",
            {"used_at": touched.used_at, "expires_at": touched.expires_at},
            condition="attribute_exists(#digest)",
            otherwise=ServiceError(ErrorCode.SESSION_EXPIRED),
        )
    )
    return touched
