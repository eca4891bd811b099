"""Sessions, by the digest of their ID."""

from dataclasses import replace
from datetime import datetime

from chalicelib.domain.sessions import Session, expiry
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import table

TABLE = "sessions"


def key(digest: str) -> table.Key[Session]:
    """Return the key of the session with this digest."""
    return table.Key(TABLE, Session, {"digest": digest})


def end(digest: str) -> None:
    """End a session; raise 105 when it was deleted meanwhile."""
    table.write_one(ending(digest, "digest", ServiceError(ErrorCode.SESSION_EXPIRED)))


def ending(digest: str, required: str, otherwise: Exception) -> table.Write:
    """Return the write that ends a session, which must have the attribute `required`.

    Its next use is refused, even when API Gateway remembers its caller.
    """
    ended, condition = {"ended": True}, f"attribute_exists(#{required})"
    return table.update(key(digest), ended, remove=("remembered_for",), condition=condition, otherwise=otherwise)


def touch(session: Session, now: datetime) -> Session:
    """Record the use of a session, which extends it; raise 105 when it was ended or deleted meanwhile."""
    touched = replace(session, used_at=now, expires_at=expiry(session, now))
    table.write_one(
        table.update(
            key(session.digest),
            {"used_at": touched.used_at, "expires_at": touched.expires_at},
            condition="attribute_exists(#digest) AND attribute_not_exists(#ended)",
            otherwise=ServiceError(ErrorCode.SESSION_EXPIRED),
        )
    )
    return touched
