"""Calls of AWS that brought no result. None of these errors shows parameters, items, keys or what AWS wrote."""

from collections.abc import Sequence


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
