"""A counter of receipt numbers that is written back, by what was known of it before and is stored now."""

import pytest

from chalicelib.store.table import VERSION, Item
from infra.operator.receipt_counters import Days, Given

NAME = "receipts#1#2#2026-11"


def counter(days: Days, version: int = 1, name: str = NAME) -> Item:
    last = {day: {"N": str(number)} for day, number in days.items()}
    return {"name": {"S": name}, "last": {"M": last}, VERSION: {"N": str(version)}}


@pytest.mark.parametrize(
    ("copied", "before", "of_payments", "now", "written"),
    [
        pytest.param(
            {"27": 5}, {"27": 5}, {"27": 5}, {"27": 7}, {"27": 7}, id="given meanwhile, on a day with numbers"
        ),
        pytest.param(
            {"27": 5}, {"27": 5}, {"27": 5}, {"28": 1}, {"27": 5, "28": 1}, id="given meanwhile, on a new day"
        ),
        pytest.param({"27": 5}, {"27": 9}, {"27": 6}, {"27": 9}, {"27": 6}, id="a present number that no payment has"),
        pytest.param({"27": 5}, {"27": 3}, {"27": 4}, {"27": 3}, {"27": 5}, id="the copy is the highest"),
        pytest.param({"27": 5}, {}, {"26": 2, "27": 8}, None, {"26": 2, "27": 8}, id="none is stored"),
    ],
)
def test_a_counter_written_back_gives_no_number_twice(
    copied: Days, before: Days, of_payments: Days, now: Days | None, written: Days
) -> None:
    given = Given({NAME: before}, {NAME: of_payments})
    item = counter(copied, 4)
    expected = item if written == copied else counter(written, 5)
    assert given.written_back(item, None if now is None else counter(now)) == expected


def test_another_sequence_is_written_back_as_it_was_copied() -> None:
    name = "messages#2026-11-27#agent#2"
    copied = counter({"27": 5}, name=name)
    assert Given({}, {name: {"27": 9}}).written_back(copied, counter({"27": 7}, name=name)) is copied
