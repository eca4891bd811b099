"""Sessions: how long they last, and the device that began a remembered one."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta


@dataclass(frozen=True)
class Lifetime:
    """The longest age of a session, its longest time without use, and how often its use is recorded."""

    age: timedelta
    idle: timedelta
    recorded_every: timedelta


ORDINARY = Lifetime(timedelta(hours=12), timedelta(minutes=30), timedelta(minutes=1))
REMEMBERED = Lifetime(timedelta(days=180), timedelta(days=30), timedelta(minutes=10))


@dataclass(frozen=True)
class Session:
    """A stored session. Its key is the digest of its ID. The store deletes it after `expires_at` (epoch s).

    A remembered session has a `remembered_for`, and the `device` that signed in.
    """

    digest: str
    agent_id: int
    credential_version: int
    opened_at: datetime
    used_at: datetime
    expires_at: int
    ended: bool | None = None  # True: by user/logout/session
    remembered_for: str | None = None
    device: str | None = None

    @property
    def lifetime(self) -> Lifetime:
        """Return how long it lasts."""
        return REMEMBERED if self.remembered_for else ORDINARY


def new_session(digest: str, agent_id: int, credential_version: int, now: datetime) -> Session:
    """Return a session that begins now."""
    session = Session(digest, agent_id, credential_version, now, now, 0)
    return replace(session, expires_at=expiry(session, now))


def remember(session: Session, device: str | None) -> Session:
    """Return a new session as a remembered one, which began on a device."""
    listed_for = remembered_for(session.agent_id, session.credential_version)
    remembered = replace(session, remembered_for=listed_for, device=device)
    return replace(remembered, expires_at=expiry(remembered, session.opened_at))


def remembered_for(agent_id: int, credential_version: int) -> str:
    """Return the key under which an agent's remembered sessions are listed. A new version leaves the others behind."""
    return f"{agent_id}#{credential_version}"


@dataclass(frozen=True)
class RememberedSession:
    """The facts of a remembered session that its merchant may see: its `name`, and no more of its digest."""

    digest: str = field(repr=False)
    opened_at: datetime
    used_at: datetime
    device: str | None = None

    @property
    def name(self) -> str:
        """Return the name by which its merchant may end it. Nobody signs in with it."""
        return self.digest[:NAME_LENGTH]

    @property
    def lifetime(self) -> Lifetime:
        """Return how long it lasts."""
        return REMEMBERED


NAME_LENGTH = 16  # of a digest
MOST_ALIVE = 100  # sessions of an agent: the next one ends the oldest
MAX_DEVICE = 100  # characters
BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "SamsungBrowser/": "Samsung Internet",
    "Firefox/": "Firefox",
    "FxiOS/": "Firefox",
    "CriOS/": "Chrome",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
}
SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "CrOS": "ChromeOS",
    "Macintosh": "Mac",
    "Linux": "Linux",
}


def device_of(user_agent: str) -> str | None:
    """Return the device in a User-Agent header: the browser and the system, else the header's first characters."""
    names = [next((name for word, name in known.items() if word in user_agent), None) for known in (BROWSERS, SYSTEMS)]
    if all(names):
        return ", ".join(filter(None, names))
    return "".join(filter(str.isprintable, user_agent)).strip()[:MAX_DEVICE].strip() or None


def is_alive(session: Session, now: datetime) -> bool:
    """Return whether the session is still valid. The store deletes late, so it may return an expired session."""
    return not session.ended and now < ends_at(session)


def ends_at(session: Session | RememberedSession) -> datetime:
    """Return the end of the session without further use."""
    return min(session.opened_at + session.lifetime.age, session.used_at + session.lifetime.idle)


def is_use_to_record(session: Session, now: datetime) -> bool:
    """Return whether to record this use of the session."""
    return now >= session.used_at + session.lifetime.recorded_every


KNOWN_FOR = timedelta(days=7)  # after its end: a till that goes on with it does not guess passwords


def expiry(session: Session, now: datetime) -> int:
    """Return the time (epoch s) after which the store may delete a session that is used now."""
    known_until = ends_at(replace(session, used_at=now)) + KNOWN_FOR
    return int(known_until.timestamp()) + 1  # rounded up, so that it is never deleted before it expires


def last_expiry(now: datetime) -> int:
    """Return the time (epoch s) after which the store may delete every session that began by now."""
    return int((now + REMEMBERED.age + KNOWN_FOR).timestamp()) + 1
