"""A session: what a password is exchanged for, good for 12 hours and for 30 minutes without use."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

ABSOLUTE = timedelta(hours=12)
IDLE = timedelta(minutes=30)
TOUCH_EVERY = timedelta(minutes=1)  # uses closer together than this are not written down

GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True)
class Session:
    """A session as it is kept: under the digest of its ID, never the ID. The store deletes it after `expires_at`."""

    digest: str
    agent_id: int
    credential_version: int
    opened_at: datetime
    used_at: datetime
    expires_at: int


def opened(digest: str, agent_id: int, credential_version: int, now: datetime) -> Session:
    """A session that begins now."""
    return Session(digest, agent_id, credential_version, now, now, _epoch(now + IDLE))


def is_alive(session: Session, now: datetime) -> bool:
    """Whether it may still be used. The store deletes late, so what is read may be over."""
    return now < session.opened_at + ABSOLUTE and now < session.used_at + IDLE


def wants_touch(session: Session, now: datetime) -> bool:
    """Whether this use is to be written down."""
    return now >= session.used_at + TOUCH_EVERY


def expiry(session: Session, now: datetime) -> int:
    """When (epoch s) the store may delete a session used now."""
    return _epoch(min(session.opened_at + ABSOLUTE, now + IDLE))


def is_guid(text: str) -> bool:
    """Whether a text could be the ID of a session."""
    return GUID.fullmatch(text) is not None


def _epoch(at: datetime) -> int:
    return int(at.timestamp()) + 1  # rounded up: never deleted before its time
