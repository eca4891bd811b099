"""Optimistic concurrency: a change of a record that was changed meanwhile starts again, so that no change is lost."""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from chalicelib.errors import ErrorCode, ServiceError

T = TypeVar("T")

ATTEMPTS = 20  # each one fails only because another change was stored, so there is always progress


class ChangedMeanwhileError(Exception):
    """A record that is no longer the version that was read."""


def retry_on_change(attempt: Callable[[], T]) -> T:
    """Call `attempt` (load, decide, store), and again from the load whenever the record changed in between."""
    for _ in range(ATTEMPTS):
        with suppress(ChangedMeanwhileError):
            return attempt()
    raise ServiceError(ErrorCode.STORE_UNAVAILABLE)
