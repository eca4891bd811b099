"""Pages of the history: where they begin, and what a filter matches."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.history import (
    DayTotal,
    TimeRange,
    amount_taken,
    days_of,
    entries_of_page,
    entry_of,
    quarters_of,
    ranges_of_page,
)
from chalicelib.domain.money import Currency
from chalicelib.domain.transaction import Phase
from tests.support.transactions import NOW, a_payment

MIDNIGHT = datetime(2026, 3, 14)  # noqa: DTZ001  the merchant's own


def ranges(counts: list[int]) -> list[TimeRange]:
    begins = [MIDNIGHT + timedelta(days=number) for number in range(len(counts))]
    return [TimeRange(begin, begin + timedelta(days=1), count) for begin, count in zip(begins, counts, strict=True)]


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(0, 200), st.integers(1, 50))
def test_the_stretches_of_a_page_hold_the_page_and_no_more_than_they_must(
    counts: list[int], skip: int, size: int
) -> None:
    everything = [(day.begin, number) for day in ranges(counts) for number in range(day.count)]
    page = everything[skip : skip + size]

    held, left = ranges_of_page(ranges(counts), skip, size)

    inside = [(day.begin, number) for day in held for number in range(day.count)]
    assert inside[left : left + size] == page
    assert [day.begin for day in held] == sorted({begin for begin, _ in page})


def test_days_come_in_the_order_of_the_list_without_those_that_hold_nothing() -> None:
    counter = entry_of(a_payment()).counter
    day_totals = [
        DayTotal(counter, (MIDNIGHT + timedelta(days=day)).date(), count, 0) for day, count in ((0, 2), (1, 0), (2, 1))
    ]
    day_totals.append(replace(day_totals[0], count=3))

    days = days_of(day_totals, newest_first=True)

    assert [(day.begin.day, day.count) for day in days] == [(16, 1), (14, 5)]
    assert days_of(day_totals, newest_first=False) == days[::-1]


def test_a_busy_day_falls_into_quarters_of_an_hour() -> None:
    day = TimeRange(MIDNIGHT, MIDNIGHT + timedelta(days=1), 6)

    quarters = quarters_of(day, [{"29": 1, "95": 2}, {"29": 3}], newest_first=False)

    assert [(one.begin.hour, one.begin.minute, one.count) for one in quarters] == [(7, 15, 4), (23, 45, 2)]
    assert [one.end - one.begin for one in quarters] == [timedelta(minutes=15)] * 2
    assert quarters[-1].end == day.end


def test_quarters_that_hold_less_than_the_day_are_not_believed() -> None:
    day = TimeRange(MIDNIGHT, MIDNIGHT + timedelta(days=1), 6)

    assert quarters_of(day, [{"29": 5}], newest_first=True) == [day]


def test_an_entry_stands_in_the_merchants_zone() -> None:
    late = a_payment(created_at=datetime(2028, 2, 28, 22, 30, tzinfo=UTC), gmt=2)

    assert entry_of(late).at == datetime(2028, 2, 29, 0, 30)  # noqa: DTZ001  the merchant's own


def test_an_offline_payment_stands_where_it_was_taken_and_never_in_the_future() -> None:
    earlier, later = NOW - timedelta(days=3), NOW + timedelta(hours=5)

    assert entry_of(a_payment(date=earlier)).at == (earlier + timedelta(hours=2)).replace(tzinfo=None)
    assert entry_of(a_payment(date=later)).at == (NOW + timedelta(hours=2)).replace(tzinfo=None)


@pytest.mark.parametrize(
    ("phase", "taken"),
    [
        (Phase.SENT, 0),
        (Phase.UNKNOWN, 0),
        (Phase.DECLINED, 0),
        (Phase.REJECTED, 0),
        (Phase.AUTO_CANCELLING, 0),
        (Phase.AUTO_CANCELLED, 0),
        (Phase.AWAITING_COMPLETION, 1230),
        (Phase.APPROVED, 1230),
    ],
)
def test_a_payment_adds_to_the_sum_when_it_took_money(phase: Phase, taken: int) -> None:
    assert entry_of(a_payment(phase=phase)).taken_minor == taken


def test_a_reversal_adds_nothing_to_the_sum() -> None:
    assert entry_of(a_payment(original_id="A", reverse_mode=2, phase=Phase.REVERSAL_APPROVED)).taken_minor == 0


@pytest.mark.parametrize("phase", Phase)
def test_a_reversal_moved_money_when_it_was_approved(phase: Phase) -> None:
    moved = entry_of(a_payment(original_id="A", reverse_mode=2, phase=phase)).moved_minor

    assert moved == (-1230 if phase is Phase.REVERSAL_APPROVED else 0)


def test_a_payment_moved_what_it_took() -> None:
    assert [entry_of(a_payment(phase=phase)).moved_minor for phase in (Phase.APPROVED, Phase.SENT)] == [1230, 0]


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
