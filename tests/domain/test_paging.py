"""Pages of a list."""

import pytest

from chalicelib.domain.paging import PAGE_SIZE, page_count, page_of

ITEMS = list(range(2 * PAGE_SIZE + 1))


@pytest.mark.parametrize(
    ("number", "first", "size"),
    [(None, 0, PAGE_SIZE), (0, 0, PAGE_SIZE), (1, 0, PAGE_SIZE), (2, PAGE_SIZE, PAGE_SIZE), (3, 2 * PAGE_SIZE, 1)],
)
def test_pages_follow_each_other_from_page_one(number: int | None, first: int, size: int) -> None:
    page = page_of(ITEMS, number)

    assert (page[0], len(page)) == (first, size)


def test_a_page_after_the_last_one_is_empty() -> None:
    assert page_of(ITEMS, 4) == page_of(ITEMS, 10**12) == page_of([], 1) == []


@pytest.mark.parametrize(("total", "pages"), [(0, 0), (1, 1), (PAGE_SIZE, 1), (PAGE_SIZE + 1, 2)])
def test_a_page_that_is_not_full_counts_as_a_page(total: int, pages: int) -> None:
    assert page_count(total) == pages
