"""A session: issued for a password, valid for 12 hours, or until it is not used for 30 minutes."""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.record import Record

MAX_AGE = timedelta(hours=12)
MAX_IDLE = timedelta(minutes=30)
USE_RECORDED_EVERY = timedelta(minutes=1)  # a use sooner than this after the recorded one is not recorded


class Session(Record):
    """A stored session: under the digest of its ID, never the ID. The store deletes it after `expires_at` (epoch s)."""

    digest: str
    agent_id: int
    credential_version: int
    opened_at: datetime
    used_at: datetime
    expires_at: int


def new_session(digest: str, agent_id: int, credential_version: int, now: datetime) -> Session:
    """Return a session that begins now."""
    return Session(digest, agent_id, credential_version, now, now, _epoch(now + MAX_IDLE))


def is_alive(session: Session, now: datetime) -> bool:
    """Return whether the session is still valid. The store deletes late, so an expired session may be read."""
    return now < ends_at(session)


def ends_at(session: Session) -> datetime:
    """Return when the session ends unless it is used again."""
    return min(session.opened_at + MAX_AGE, session.used_at + MAX_IDLE)


def is_use_to_record(session: Session, now: datetime) -> bool:
    """Return whether this use of the session is to be recorded."""
    return now >= session.used_at + USE_RECORDED_EVERY


def expiry(session: Session, now: datetime) -> int:
    """Return when (epoch s) the store may delete a session that is used now."""
    return _epoch(ends_at(replace(session, used_at=now)))


def _epoch(at: datetime) -> int:
    return int(at.timestamp()) + 1  # rounded up: never deleted before it expires
