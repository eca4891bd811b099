"""The lock of passwords: ten wrong ones in a row at one login, known or unknown, lock them for half an hour."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from chalicelib.domain.agent import Login

LOCK_AFTER = 10  # failed passwords in a row
LOCK_FOR = timedelta(minutes=30)
COUNTED_FOR = timedelta(hours=24)  # failed passwords in a row count for this long after the last one
MANY_PLACES = 5  # addresses with failed passwords for one login: no longer a forgetful person


@dataclass(frozen=True)
class FailedAttempts:
    """The failed passwords in a row for one login, which may be unknown.

    `sources` are digests of the callers' addresses, `counted_as` is the random name of the last count.
    """

    failed_attempts: int = 0
    locked_until: datetime | None = None
    counted_until: datetime | None = None
    sources: frozenset[str] = frozenset()
    counted_as: str | None = None


@dataclass(frozen=True)
class Verification:
    """A verification that finishes at `at`, and the values with which the store counts it.

    It counts while the login has fewer than `limit` failures, or if these failures are over. Every other verification
    finds passwords locked, even if it began before the lock and its password is right. The failure that reaches
    `limit` locks passwords until `locked_until`.
    """

    at: datetime
    limit: int
    counted_until: datetime
    locked_until: datetime


def finished(now: datetime) -> Verification:
    """Return the verification that finishes now."""
    return Verification(now, LOCK_AFTER, now + COUNTED_FOR, now + LOCK_FOR)


def is_locked(attempts: Login | FailedAttempts, now: datetime) -> bool:
    """Return whether passwords are refused now. Secret keys still work, so that guesses cannot stop a till."""
    return attempts.locked_until is not None and now < attempts.locked_until


def is_full(attempts: FailedAttempts, now: datetime) -> bool:
    """Return whether as many failures count as lock passwords, also if the lock is not stored yet."""
    return attempts.failed_attempts >= LOCK_AFTER and not is_over(attempts, now)


def is_over(attempts: FailedAttempts, now: datetime) -> bool:
    """Return whether the failures no longer count: the lock has ended, or the last failure is a day old."""
    return any(end is not None and end <= now for end in (attempts.locked_until, attempts.counted_until))


def reaches_many_places(before: FailedAttempts, source: str) -> bool:
    """Return whether a failure from this source is the first from `MANY_PLACES` addresses."""
    return source not in before.sources and len(before.sources) == MANY_PLACES - 1
