"""Retries: of an AWS call after a collision, and of a whole attempt after a concurrent change.

The time that an outage may cost a request limits both.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

from chalicelib import outside
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store.aws_client import CallError, Limits, RefusedError, TimedOutError

PATIENT = Limits(connect_seconds=1, read_seconds=3, attempts=3)  # leaves most of GATEWAY_SECONDS to the acquirer
HURRIED = Limits(connect_seconds=0.5, read_seconds=2.5, attempts=1)
HURRIED_SECRET = Limits(connect_seconds=0.5, read_seconds=1, attempts=1)  # short, to leave time for the store


@dataclass(eq=False, repr=False)
class _Allowance:
    left: float


_allowance: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def limit_lost_time(seconds: float) -> Iterator[None]:
    """Limit the time that AWS calls in the block may lose; after it they raise 903."""
    token = _allowance.set(_Allowance(seconds))
    try:
        yield
    finally:
        _allowance.reset(token)


def is_limited() -> bool:
    """Return whether lost time is limited."""
    return _allowance.get() is not None


def limits(hurried: Limits = HURRIED) -> Limits:
    """Return the limits of the next call; raise 903 when no time is left for it."""
    check()
    return hurried if is_limited() else PATIENT


def spend(seconds: float) -> None:
    """Count the time that a failed call lost."""
    allowance = _allowance.get()
    if allowance is not None:
        allowance.left -= seconds


def check() -> None:
    """Raise 903 when the next attempt could lose more time than is left."""
    allowance = _allowance.get()
    if allowance is not None and allowance.left < HURRIED.longest:
        raise ServiceError(ErrorCode.STORE_UNAVAILABLE)


T = TypeVar("T")
F = TypeVar("F")

ATTEMPTS = 8  # of a colliding call: the pauses take at most five seconds together, on average half of that
REPEATED_FOR = 10  # seconds; the client also repeats a throttled call, for up to three seconds each time
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
DROPPED = "ResourceNotFoundException"  # a table is gone, until an operator restores it


def with_retries(attempt: Callable[[], T]) -> T:
    """Call `attempt`, again after each collision; raise 903 when the store is unavailable.

    A write without a response may have happened. A repeated request with the same ID finds it stored.
    """
    until = outside.current.elapsed() + REPEATED_FOR
    for number in range(ATTEMPTS):
        began = outside.current.elapsed()
        try:
            return attempt()
        except CallError as error:
            if not _is_outage(error):
                raise
            if is_dropped(error) or not _is_repeated(error) or outside.current.elapsed() > until:
                raise ServiceError(ErrorCode.STORE_UNAVAILABLE) from error
            pause = outside.current.between(0, 0.02 * 2**number)
            spend(outside.current.elapsed() - began + pause)
            check()
            outside.current.pause(pause)
    raise ServiceError(ErrorCode.STORE_UNAVAILABLE)


def _is_repeated(error: CallError) -> bool:
    """Return whether to repeat the call: after a collision, or instead of the client when time is limited.

    A timed-out call is not repeated then, because it may have succeeded and no time is left.
    """
    return _collided(error) or (is_limited() and not isinstance(error, TimedOutError))


def is_dropped(error: BaseException | None) -> bool:
    """Return whether a call was refused because its table does not exist."""
    return isinstance(error, RefusedError) and error.code == DROPPED


def _is_outage(error: CallError) -> bool:
    if not isinstance(error, RefusedError) or _collided(error):
        return True
    return error.code in {*OUTAGES, DROPPED} or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _collided(error: CallError) -> bool:
    return isinstance(error, RefusedError) and not COLLISIONS.isdisjoint({error.code, *error.reasons})


CHANGED_FOR = 5  # seconds, while others change the record; an acquirer needs the others of a request
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 0.2  # seconds at most between two attempts


class ChangedMeanwhileError(Exception):
    """A stored record is no longer as it was read. A subclass says which one."""


def retry_on_change(attempt: Callable[[], T]) -> T:
    """Call `attempt` (load, decide, store). Repeat it whenever a record has changed since the load.

    An attempt fails only if another change was stored, so some change always succeeds. Raise 903 when others change the
    record for five seconds.
    """
    until, longest = outside.current.elapsed() + CHANGED_FOR, FIRST_PAUSE
    while True:
        try:
            return attempt()
        except ChangedMeanwhileError:
            if outside.current.elapsed() > until:
                raise ServiceError(ErrorCode.STORE_UNAVAILABLE) from None
        pause = outside.current.between(0, longest)
        spend(pause)
        outside.current.pause(pause)
        longest = min(2 * longest, LONGEST_PAUSE)


def retry_with(found: F, attempt: Callable[[F], T], read_again: Callable[[], F]) -> T:
    """Call `attempt` (decide, store) with the records that were read already, and after a change with `read_again`'s.

    Otherwise it is `retry_on_change`.
    """
    reads = itertools.chain([found], (read_again() for _ in itertools.count()))
    return retry_on_change(lambda: attempt(next(reads)))
