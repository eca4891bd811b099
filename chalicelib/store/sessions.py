"""Sessions, by the digest of their ID."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain, islice

from chalicelib.domain.agent import Agent
from chalicelib.domain.sessions import (
    MAX_LISTED,
    REMEMBERED,
    RememberedSession,
    Session,
    ends_at,
    expiry,
    remembered_for,
)
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import table
from chalicelib.store.retries import ChangedMeanwhileError

TABLE = "sessions"


def key(digest: str) -> table.Key[Session]:
    """Return the key of the session with this digest."""
    return table.Key(TABLE, Session, {"digest": digest})


def create(session: Session) -> None:
    """Store a new session. If it exists, our first write succeeded: its ID is random."""
    with suppress(table.AlreadyExistsError):
        table.write_one(table.put_new(TABLE, session, "digest"))


def remembered(agent: Agent, now: datetime) -> list[RememberedSession]:
    """List the agent's remembered sessions that are valid, the last used first: at most `MAX_LISTED`.

    The index is milliseconds behind. Sessions that were ended, or are of an older credential version, are not in it.
    """
    condition = "#remembered_for = :whose AND #used_at > :idle"
    values = {"whose": remembered_for(agent.id, agent.credential_version), "idle": now - REMEMBERED.idle}
    newest = {
        "TableName": table.table_name(TABLE),
        "IndexName": "remembered",
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": table.attribute_names(condition),
        "ExpressionAttributeValues": {f":{name}": table.value_of(value) for name, value in values.items()},
        "ScanIndexForward": False,
        "Limit": MAX_LISTED,
    }
    pages = table.pages_of(newest)
    items = islice(chain.from_iterable(page["Items"] for page in pages), MAX_LISTED)  # a page may be short
    found = table.readable(TABLE, items, partial(table.decode, RememberedSession))
    return [session for session in found if now < ends_at(session)]


def end(digest: str) -> None:
    """End a session; raise 105 when it was deleted meanwhile."""
    table.write_one(_ending(digest, "digest", ServiceError(ErrorCode.SESSION_EXPIRED)))


def end_remembered(sessions: Iterable[RememberedSession]) -> list[table.Write]:
    """Return the writes that end remembered sessions. ChangedMeanwhileError is raised when one has ended meanwhile."""
    return [_ending(one.digest, "remembered_for", ChangedMeanwhileError()) for one in sessions]


def _ending(digest: str, required: str, otherwise: Exception) -> table.Write:
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
