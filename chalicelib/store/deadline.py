"""The time limit of the authorizer: all its calls to AWS together must end before its caller gives up.

Under a limit each attempt of a call is short and is not repeated by botocore: `with_retries` repeats it while there is
time for another one. Without a limit (the API, the jobs) botocore repeats a call that failed.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from chalicelib.errors import RETRY, ErrorCode, ServiceError


@dataclass(frozen=True)
class Limits:
    """The time limits of a client of AWS, and the attempts botocore makes of one call."""

    connect_seconds: float
    read_seconds: float
    attempts: int


PATIENT = Limits(connect_seconds=1, read_seconds=3, attempts=3)  # leaves the gateway's 29 s to the acquirer
HURRIED = Limits(connect_seconds=0.75, read_seconds=1, attempts=1)
ATTEMPT_SECONDS = HURRIED.connect_seconds + HURRIED.read_seconds

_ends_at: ContextVar[float | None] = ContextVar("ends_at", default=None)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Let all calls to AWS in the block end within so many seconds: they raise 903 when no time is left."""
    token = _ends_at.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _ends_at.reset(token)


def is_set() -> bool:
    """Return whether there is a time limit."""
    return _ends_at.get() is not None


def limits() -> Limits:
    """Return the limits of the call that is made now; raise 903 when there is no time for it."""
    check()
    return HURRIED if is_set() else PATIENT


def check(pause: float = 0) -> None:
    """Raise 903 when, after a pause of so many seconds, there is no time for another attempt."""
    ends_at = _ends_at.get()
    if ends_at is not None and time.monotonic() + pause + ATTEMPT_SECONDS > ends_at:
        raise ServiceError(ErrorCode.STORE_UNAVAILABLE, headers=RETRY)
