"""The time a request may lose to an outage of AWS: the authorizer must answer before its caller gives up.

Under a limit the client repeats no call. `with_retries` repeats one that failed at once, and gives up when the next
attempt could lose more time than is left. Calls that are answered lose no time, however slow they are: many requests at
once on a small machine are no outage. In the cloud the time limit of the function stops those.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from chalicelib.aws.client import Limits
from chalicelib.errors import ErrorCode, ServiceError

PATIENT = Limits(connect_seconds=1, read_seconds=3, attempts=3)  # leaves the gateway's 29 s to the acquirer
HURRIED = Limits(connect_seconds=0.5, read_seconds=2.5, attempts=1)
HURRIED_SECRET = Limits(connect_seconds=0.5, read_seconds=1, attempts=1)  # a remembered one leaves time for the store


@dataclass(eq=False, repr=False)
class _Allowance:
    left: float


_allowance: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def limit_lost_time(seconds: float) -> Iterator[None]:
    """Let the calls to AWS in the block lose so many seconds at most: then they raise 903."""
    token = _allowance.set(_Allowance(seconds))
    try:
        yield
    finally:
        _allowance.reset(token)


def is_limited() -> bool:
    """Return whether there is a limit."""
    return _allowance.get() is not None


def limits(hurried: Limits = HURRIED) -> Limits:
    """Return the limits of the call that is made now; raise 903 when no time is left for it."""
    check()
    return hurried if is_limited() else PATIENT


def spend(seconds: float) -> None:
    """Count time that was lost to a call that failed."""
    allowance = _allowance.get()
    if allowance is not None:
        allowance.left -= seconds


def check() -> None:
    """Raise 903 when the next attempt could lose more time than is left."""
    allowance = _allowance.get()
    if allowance is not None and allowance.left < HURRIED.longest:
        raise ServiceError(ErrorCode.STORE_UNAVAILABLE)
