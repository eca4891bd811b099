"""A counter of receipt numbers that is written back, by what was known of it before and is stored now."""

from datetime import date

import pytest

from chalicelib.store import receipt_numbers
from chalicelib.store.table import VERSION, Item, read
from infra.operator.receipt_counters import Days, Given, raise_counters
from tests.support.accounts import a_stored_merchant, an_account

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


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("is_system", "is_own"), [(False, True), (True, True), (True, False), (False, False)])
def test_the_numbers_of_payments_raise_the_counters_of_those_who_count(*, is_system: bool, is_own: bool) -> None:
    merchant = a_stored_merchant()
    agent = an_account(merchant=merchant if is_own else None, system=is_system).agent
    name = f"receipts#{merchant.id}#{agent.id}#2026-11"

    assert list(raise_counters(Given({}, {name: {"27": 5}}), merchant.id)) == []

    stored = read(receipt_numbers.key(merchant.id, agent.id, date(2026, 11, 27)))
    assert (stored and dict(stored.last)) == ({"27": 5} if is_system or is_own else None)
