"""Changing a record that somebody else may be changing: nobody's change is lost, nothing is torn."""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from chalicelib.errors import RETRY, ErrorCode, ServiceError

T = TypeVar("T")

ATTEMPTS = 20  # each lost to another change that was kept, so somebody always gets on


class ChangedMeanwhileError(Exception):
    """The record is no longer the one that was read."""


def retry_on_change(attempt: Callable[[], T]) -> T:
    """Load, decide, store: once more from the load whenever the record changed in between."""
    for _ in range(ATTEMPTS):
        with suppress(ChangedMeanwhileError):
            return attempt()
    raise ServiceError(ErrorCode.STORE_UNAVAILABLE, headers=RETRY)
