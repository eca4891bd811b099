"""Repeating calls to AWS that collided or were throttled, and telling an outage from a defect."""

import random
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from chalicelib.errors import RETRY, ErrorCode, ServiceError
from chalicelib.store import lost_time

T = TypeVar("T")

ATTEMPTS = 8  # of a call that collides: the pauses between them are below five seconds in all, half of it on average
REPEATED_FOR = 10  # seconds; botocore repeats a throttled call, too, which may take three seconds each time
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
        except (ClientError, BotoCoreError) as error:
            if not _is_outage(error):
                raise
            if not _is_repeated(error) or time.monotonic() > until:
                raise ServiceError(ErrorCode.STORE_UNAVAILABLE, headers=RETRY) from error
            pause = random.uniform(0, 0.02 * 2**number)  # noqa: S311  jitter, not a secret
            lost_time.spend(time.monotonic() - began + pause)
            lost_time.check()
            time.sleep(pause)
    raise ServiceError(ErrorCode.STORE_UNAVAILABLE, headers=RETRY)


def _is_repeated(error: ClientError | BotoCoreError) -> bool:
    """Return whether to repeat the call: after a collision, and when time is limited what botocore does otherwise.

    A call that was not answered in time is not repeated then: it may have been carried out, and no time is left.
    """
    return _collided(error) or (lost_time.is_limited() and not isinstance(error, ReadTimeoutError))


def _is_outage(error: ClientError | BotoCoreError) -> bool:
    if isinstance(error, BotoCoreError) or _collided(error):
        return True
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return error.response["Error"]["Code"] in OUTAGES or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _collided(error: ClientError | BotoCoreError) -> bool:
    if isinstance(error, BotoCoreError):
        return False
    reasons: Sequence[Any] = error.response.get("CancellationReasons", [])
    codes = {reason.get("Code") for reason in reasons} | {error.response["Error"]["Code"]}
    return bool(codes & COLLISIONS)
