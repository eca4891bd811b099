"""Sessions, under the digest of their ID: who reads the table can use none of them."""

from dataclasses import replace
from datetime import datetime

from chalicelib.domain.session import Session, expiry
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store.table import Key, put_new, update, write_one

TABLE = "sessions"


def key(digest: str) -> Key[Session]:
    """Where the session of this digest is kept."""
    return Key(TABLE, Session, {"digest": digest})


def keep(session: Session) -> None:
    """Keep a new session."""
    write_one(put_new(TABLE, session, "digest"))


def touch(session: Session, now: datetime) -> Session:
    """Write down that it was used, which prolongs it. Raises 105 when it is gone meanwhile."""
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
