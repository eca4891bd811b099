"""The errors of calls of AWS, and which calls may be repeated after them."""

from collections.abc import Sequence

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


class CallError(Exception):
    """A call of AWS failed."""


class RefusedError(CallError):
    """AWS answered with an error: its code, and the reason for each write of a cancelled transaction.

    The message of AWS may quote the request. So it is only in `message`, not in the error's text or repr. The messages
    about single writes follow it.
    """

    def __init__(
        self, operation: str, code: str, *, status: int = 400, message: str = "", reasons: Sequence[str] = ()
    ) -> None:
        super().__init__(f"{operation}: {code} ({status})")
        self.operation = operation
        self.code = code
        self.status = status
        self.message = message
        self.reasons = tuple(reasons)  # for a cancelled transaction: a code per write, "None" if that write was fine


class UnansweredError(CallError):
    """No usable answer came. If the request was sent, it may have been executed."""


class UnreachableError(UnansweredError):
    """No connection was made, so nothing was sent."""


class TimedOutError(UnansweredError):
    """A sent request was not answered in time."""


def is_repeated(error: CallError) -> bool:
    """Return whether another attempt may succeed."""
    if not isinstance(error, RefusedError):
        return True
    return error.code in TRANSIENT or error.status in UNAVAILABLE or is_throttled(error)


def is_throttled(error: CallError) -> bool:
    """Return whether the service asks for fewer requests."""
    return isinstance(error, RefusedError) and (error.code in THROTTLED or error.status == TOO_MANY)
