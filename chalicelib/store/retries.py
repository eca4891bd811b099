"""Repeating calls to AWS that collided or were throttled, and the time that a request may lose to an outage."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

from chalicelib.aws.client import CallError, Limits, RefusedError, TimedOutError
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


T = TypeVar("T")

ATTEMPTS = 8  # of a call that collides: the pauses between them are below five seconds in all, half of it on average
REPEATED_FOR = 10  # seconds; the client repeats a throttled call, too, which may take three seconds each time
COLLISIONS = frozenset({
    "TransactionConflict",
    "TransactionConflictException",
    "TransactionInProgressException",
    "ThrottlingError",
    "ThrottlingException",
    "ProvisionedThroughputExceeded",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
})  # fmt: skip
OUTAGES = frozenset({"InternalServerError", "ServiceUnavailable", "InternalFailure"})


def with_retries(attempt: Callable[[], T]) -> T:
    """Call `attempt`, and again after a collision; raise 903 when the store is out of reach.

    A write whose response was lost may have happened: a repeated request with the same ID finds it done.
    """
    until = time.monotonic() + REPEATED_FOR
    for number in range(ATTEMPTS):
        began = time.monotonic()
        try:
            return attempt()
        except CallError as error:
            if not _is_outage(error):
                raise
            if not _is_repeated(error) or time.monotonic() > until:
                raise ServiceError(ErrorCode.STORE_UNAVAILABLE) from error
            pause = random.uniform(0, 0.02 * 2**number)  # noqa: S311  jitter, not a secret
            spend(time.monotonic() - began + pause)
            check()
            time.sleep(pause)
    raise ServiceError(ErrorCode.STORE_UNAVAILABLE)


def _is_repeated(error: CallError) -> bool:
    """Return whether to repeat the call: after a collision, and when time is limited what the client does otherwise.

    A call that was not answered in time is not repeated then: it may have been carried out, and no time is left.
    """
    return _collided(error) or (is_limited() and not isinstance(error, TimedOutError))


def _is_outage(error: CallError) -> bool:
    if not isinstance(error, RefusedError) or _collided(error):
        return True
    return error.code in OUTAGES or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _collided(error: CallError) -> bool:
    return isinstance(error, RefusedError) and not COLLISIONS.isdisjoint({error.code, *error.reasons})
