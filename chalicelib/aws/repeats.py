"""The rules of repeating a call, as botocore's mode `standard` has them.

A request that brought no usable answer is repeated, also a write: each write of ours is conditional, has a token, or
may happen twice without harm.
"""

import random
from threading import Lock

from chalicelib.aws.connections import Answer
from chalicelib.aws.errors import CallError, RefusedError

TRANSIENT = frozenset({
    "PriorRequestNotComplete",
    "ReplicatedWriteConflictException",
    "RequestTimeout",
    "RequestTimeoutException",
})  # fmt: skip
THROTTLED = frozenset({
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "LimitExceededException",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "TransactionInProgressException",
})  # fmt: skip
UNAVAILABLE = frozenset({500, 502, 503, 504})
TOO_MANY = 429
LONGEST = 20  # seconds of a pause
MOST_ASKED = 5  # seconds that the service may add to a pause


class Quota:
    """The repeats a process may still make: an outage uses them up, answers bring them back."""

    MOST, COST, COST_OF_THROTTLED = 500, 14, 5

    def __init__(self) -> None:
        self._left, self._lock = self.MOST, Lock()

    def take(self, cost: int) -> bool:
        """Take the cost of one repeat, if so much is left."""
        with self._lock:
            if cost > self._left:
                return False
            self._left -= cost
            return True

    def give_back(self, cost: int) -> None:
        """Give back what the repeats before an answer cost; 1 for a call that needed none."""
        if self._left < self.MOST:
            with self._lock:
                self._left = min(self.MOST, self._left + cost)


def is_repeated(error: CallError) -> bool:
    """Return whether another attempt may bring a result."""
    if not isinstance(error, RefusedError):
        return True
    return error.code in TRANSIENT or error.status in UNAVAILABLE or is_throttled(error)


def is_throttled(error: CallError) -> bool:
    """Return whether the service wants fewer requests."""
    return isinstance(error, RefusedError) and (error.code in THROTTLED or error.status == TOO_MANY)


def pause(error: CallError, attempt: int, scale: float, answer: Answer | None) -> float:
    """Return the seconds before the next attempt: up to `scale` doubled with each, or a second when throttled."""
    longest = (1.0 if is_throttled(error) else scale) * 2.0 ** (attempt - 1)
    drawn = random.random() * min(longest, LONGEST)  # noqa: S311  jitter, not a secret
    asked = (answer.headers if answer else {}).get("x-amz-retry-after", "")
    return max(drawn, min(int(asked[:9]) / 1000, MOST_ASKED + drawn)) if asked.isdecimal() else drawn
