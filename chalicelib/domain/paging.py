"""Pages of a list: numbered from 1, all of one size."""

from typing import TypeVar

T = TypeVar("T")

PAGE_SIZE = 100


def page_of(items: list[T], number: int | None) -> list[T]:
    """Return one page of a list: page 1 for number 0 or none, an empty page after the last one."""
    start = (max(number or 1, 1) - 1) * PAGE_SIZE
    return items[start : start + PAGE_SIZE]


def page_count(total: int) -> int:
    """Return the number of pages that so many items fill."""
    return -(-total // PAGE_SIZE)
