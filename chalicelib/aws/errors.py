"""Calls of AWS that brought no result, and which of them are repeated: the rules of botocore's mode `standard`.

No error shows parameters, items, keys or what AWS wrote. A request that brought no usable answer is repeated, also a
write: each write of ours is conditional, has a token, or may happen twice without harm.
"""

import random
from collections.abc import Sequence
from threading import Lock

TRANSIENT = frozenset({
    "PriorRequestNotComplete", "ReplicatedWriteConflictException", "RequestTimeout", "RequestTimeoutException",
})  # fmt: skip
THROTTLED = frozenset({
    "BandwidthLimitExceeded", "EC2ThrottledException", "LimitExceededException", "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException", "RequestLimitExceeded", "RequestThrottled", "RequestThrottledException",
    "SlowDown", "ThrottledException", "Throttling", "ThrottlingException", "TooManyRequestsException",
    "TransactionInProgressException",
})  # fmt: skip
UNAVAILABLE = frozenset({500, 502, 503, 504})
TOO_MANY = 429
LONGEST = 20  # seconds of a pause
MOST_ASKED = 5  # seconds that the service may add to a pause


class CallError(Exception):
    """A call of AWS that brought no result."""


class RefusedError(CallError):
    """AWS answered with an error: its code, and why each write of a transaction was cancelled.

    The message of AWS may quote what was sent. It is in `message`, and neither in the text nor in the repr.
    """

    def __init__(
        self, operation: str, code: str, *, status: int = 400, message: str = "", reasons: Sequence[str] = ()
    ) -> None:
        super().__init__(f"{operation}: {code} ({status})")
        self.operation = operation
        self.code = code
        self.status = status
        self.message = message
        self.reasons = tuple(reasons)  # of a cancelled transaction: a code for each write; "None": not this one


class UnansweredError(CallError):
    """No answer that can be used. If the request left, it may have been carried out."""


class UnreachableError(UnansweredError):
    """No connection: nothing was sent."""


class TimedOutError(UnansweredError):
    """A request that left and was not answered in time."""


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


def pause(error: CallError, attempt: int, scale: float, asked: str = "") -> float:
    """Return the seconds before the next attempt: up to `scale` doubled with each, or a second when throttled.

    The service may ask for more, in milliseconds.
    """
    longest = (1.0 if is_throttled(error) else scale) * 2.0 ** (attempt - 1)
    drawn = random.random() * min(longest, LONGEST)  # noqa: S311  jitter, not a secret
    return max(drawn, min(int(asked[:9]) / 1000, MOST_ASKED + drawn)) if asked.isdecimal() else drawn
