"""Repeating calls to AWS that collided or were throttled, and telling an outage from a defect."""

import random
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

from chalicelib.aws.errors import CallError, RefusedError, TimedOutError
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import lost_time

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
            lost_time.spend(time.monotonic() - began + pause)
            lost_time.check()
            time.sleep(pause)
    raise ServiceError(ErrorCode.STORE_UNAVAILABLE)


def _is_repeated(error: CallError) -> bool:
    """Return whether to repeat the call: after a collision, and when time is limited what the client does otherwise.

    A call that was not answered in time is not repeated then: it may have been carried out, and no time is left.
    """
    return _collided(error) or (lost_time.is_limited() and not isinstance(error, TimedOutError))


def _is_outage(error: CallError) -> bool:
    if not isinstance(error, RefusedError) or _collided(error):
        return True
    return error.code in OUTAGES or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _collided(error: CallError) -> bool:
    return isinstance(error, RefusedError) and not COLLISIONS.isdisjoint({error.code, *error.reasons})
