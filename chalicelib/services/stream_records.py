"""The records of a table's stream, which begin work right after it is stored."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from chalicelib.errors import ServiceError
from chalicelib.log import log, log_defect
from chalicelib.store.table import UnreadableError

R = TypeVar("R")
Image = Mapping[str, Any]  # a stored item


def begin_each(records: Sequence[tuple[str, Image]], begin: Callable[[Image], R]) -> tuple[list[R], list[str]]:
    """Begin the work of each stream record: a pair of its sequence number and the stored item.

    Return the results, and the numbers of the records that must come again, because the store was unavailable.
    """
    begun, failed = [], []
    for number, image in records:
        try:
            begun.append(begin(image))
        except UnreadableError as wrong:
            log("unreadable", number=number, reason=wrong.reason)
        except ServiceError as outage:  # the store is unavailable
            log_defect(outage, number=number)
            failed.append(number)
    return begun, failed
