"""Pages of a list."""

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from chalicelib.domain.transaction import Transaction

T = TypeVar("T")

PAGE_SIZE = 100


def page_of(items: list[T], number: int | None) -> list[T]:
    """Return one page of a list: page 1 for number 0 or none, an empty page after the last one."""
    start = (max(number or 1, 1) - 1) * PAGE_SIZE
    return items[start : start + PAGE_SIZE]


def page_count(total: int) -> int:
    """Return the number of pages for `total` items."""
    return -(-total // PAGE_SIZE)


@dataclass(frozen=True)
class Page:
    """A page of transactions in the order of the list, with the number and amount of all matches."""

    transactions: list[Transaction]
    total: int
    amount: Decimal
