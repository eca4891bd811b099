"""The optimistic loop: a whole attempt is repeated after a concurrent change.

botocore repeats single calls, see `aws_client`.
"""

import itertools
from collections.abc import Callable
from typing import TypeVar

from chalicelib import outside
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store.aws_client import spend

T = TypeVar("T")
F = TypeVar("F")

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
