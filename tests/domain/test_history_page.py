"""A page of the history: its place in days and hours, its entries and its sum."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.history_entry import entry_of
from chalicelib.domain.history_page import (
    DayCount,
    TimeRange,
    amount_taken,
    days_of,
    entries_of_page,
    hours_of,
    ranges_of_page,
)
from chalicelib.domain.money import Currency
from tests.support.transactions import NOW, a_payment

DAY = timedelta(days=1)
MIDNIGHT = datetime(2026, 3, 14)  # noqa: DTZ001  the merchant's own


def ranges(counts: list[int]) -> list[TimeRange]:
    begins = [MIDNIGHT + timedelta(days=number) for number in range(len(counts))]
    return [TimeRange(begin, begin + timedelta(days=1), count) for begin, count in zip(begins, counts, strict=True)]


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(0, 200), st.integers(1, 50))
def test_the_stretches_of_a_page_hold_the_page_and_nothing_needless(counts: list[int], skip: int, size: int) -> None:
    everything = [(day.begin, number) for day in ranges(counts) for number in range(day.count)]
    page = everything[skip : skip + size]
    place = ranges_of_page(ranges(counts), skip, size)

    held = [(day.begin, number) for day in place.ranges for number in range(day.count)]
    assert held[place.skip : place.skip + size] == page
    assert [day.begin for day in place.ranges] == sorted({begin for begin, _ in page})


def test_days_come_in_the_order_of_the_list_without_those_that_hold_nothing() -> None:
    counter = entry_of(a_payment()).counter
    day_counts = [
        DayCount(counter, (MIDNIGHT + timedelta(days=day)).date(), count, 0) for day, count in ((0, 2), (1, 0), (2, 1))
    ]
    day_counts.append(replace(day_counts[0], count=3))

    days = days_of(day_counts, newest_first=True)

    assert [(day.begin.day, day.end - day.begin, day.count) for day in days] == [(16, DAY, 1), (14, DAY, 5)]
    assert days_of(day_counts, newest_first=False) == days[::-1]


def test_a_busy_day_falls_into_hours() -> None:
    day = TimeRange(MIDNIGHT, MIDNIGHT + timedelta(days=1), 6)
    hours = hours_of(day, {23: 2, 7: 4}, newest_first=False)

    assert [(one.begin.hour, one.begin.minute, one.count) for one in hours] == [(7, 0, 4), (23, 0, 2)]
    assert [one.end - one.begin for one in hours] == [timedelta(hours=1)] * 2
    assert hours[-1].end == day.end


def test_hours_that_hold_less_than_the_day_are_not_believed() -> None:
    day = TimeRange(MIDNIGHT, MIDNIGHT + timedelta(days=1), 6)

    assert hours_of(day, {7: 5}, newest_first=True) == [day]


@pytest.mark.parametrize(
    ("own", "sum_"), [("ZAR", "20.02"), ("JPY", "1001"), ("BHD", "1.001"), ("USD", "0"), (None, "0")]
)
def test_currencies_are_never_added(own: str | None, sum_: str) -> None:
    zar = Currency("ZAR", "710", 2)
    currencies = (zar, zar, Currency("JPY", "392", 0), Currency("BHD", "048", 3))
    entries = [entry_of(a_payment(amount_minor=1001, currency=currency)) for currency in currencies]

    assert amount_taken(entries, own) == Decimal(sum_)


def test_a_merchant_without_a_currency_has_that_of_its_payments() -> None:
    entries = [entry_of(a_payment(amount_minor=part)) for part in (100, 23)]

    assert amount_taken(entries, None) == Decimal("1.23")


def test_a_page_is_cut_from_the_order_of_instants_and_of_ids_within_one() -> None:
    twins = [entry_of(a_payment(id=name)) for name in ("B", "A")]
    older = entry_of(a_payment(id="C", created_at=NOW - timedelta(microseconds=1)))
    newest_first = entries_of_page([*twins, older], 1, newest_first=True)

    assert [entry.id for entry in newest_first] == ["B", "A", "C"]
    assert entries_of_page([*twins, older], 1, newest_first=False) == newest_first[::-1]
    assert entries_of_page([*twins, older], 2, newest_first=True) == []
