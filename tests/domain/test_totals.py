"""Totals of days, and the takings that are made of them."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain import totals
from chalicelib.domain.business_days import ON_THE_WAY, business_day, is_late, last_closed_day, last_open_day
from chalicelib.domain.history import CounterKey, DayTotal, entry_of
from chalicelib.domain.totals import (
    ALL_AGENTS,
    DaySlots,
    Moved,
    check_size,
    of_all_agents,
    slots_of_all_agents,
    takings_of,
)
from chalicelib.errors import ErrorCode, ServiceError
from tests.support.transactions import a_payment

DAY = date(2026, 3, 14)
CASH = CounterKey(17, 10, 0, 2, "ZAR", "CASH")
PAID = Moved(CASH, DAY, None, 2, 2460)
GIVEN_BACK = Moved(replace(CASH, reverse_mode=2), DAY, None, 1, 1000)


def test_payments_and_reversals_of_a_kind_are_one_row() -> None:
    [row] = takings_of([PAID, GIVEN_BACK, replace(PAID, number=1, amount_minor=40)])

    assert (row.payments, row.amount, row.reversals, row.amount_reversed) == (3, Decimal("25.00"), 1, Decimal("10.00"))
    assert row.net == Decimal("15.00")
    assert (row.day, row.hour, row.agent_id, row.input_type, row.acquirer, row.currency) == (
        DAY,
        None,
        17,
        10,
        "CASH",
        "ZAR",
    )


def test_a_day_of_reversals_alone_is_below_zero() -> None:
    [row] = takings_of([GIVEN_BACK, replace(GIVEN_BACK, counter=replace(CASH, reverse_mode=1))])

    assert (row.payments, row.reversals, row.net) == (0, 2, Decimal("-20.00"))


@pytest.mark.parametrize(
    "other",
    [
        replace(PAID, day=date(2026, 3, 15)),
        replace(PAID, counter=replace(CASH, agent_id=18)),
        replace(PAID, counter=replace(CASH, input_type=7)),
        replace(PAID, counter=replace(CASH, acquirer="OTHER")),
        replace(PAID, counter=replace(CASH, currency="JPY", digits=0)),
    ],
)
def test_what_differs_has_a_row_of_its_own(other: Moved) -> None:
    assert len(takings_of([PAID, other])) == 2


def test_hours_have_rows_in_their_order() -> None:
    rows = takings_of(replace(PAID, hour=hour) for hour in (23, 0, 7, 0))

    assert [(row.hour, row.payments) for row in rows] == [(0, 4), (7, 2), (23, 2)]


def test_what_moved_nothing_has_no_row() -> None:
    assert takings_of([replace(PAID, number=0, amount_minor=0)]) == []


def test_more_rows_than_an_answer_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "MOST_ROWS", 24)
    rows = [replace(PAID, hour=hour) for hour in range(24)]

    assert len(takings_of(rows)) == 24
    with pytest.raises(ServiceError) as refused:
        takings_of([*rows, replace(PAID, day=date(2026, 3, 15))])
    assert refused.value.error is ErrorCode.PERIOD_TOO_LONG


def test_longer_names_than_an_answer_holds_are_refused() -> None:
    check_size(["Till 1"] * totals.MOST_ROWS)
    check_size([None] * totals.MOST_ROWS)

    for long in ("日", '"', "\\", "\n", "x"):
        with pytest.raises(ServiceError):
            check_size([long * 256] * totals.MOST_ROWS)


INSTANTS = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
ZONES = st.integers(-12, 14)
COUNTER = entry_of(a_payment()).counter


@given(INSTANTS, ZONES)
def test_what_is_counted_at_once_is_counted_on_an_open_day_and_never_late(now: datetime, gmt: int) -> None:
    today = business_day(now, gmt)

    assert last_closed_day(now) < today <= last_open_day(now)
    assert not is_late(today, now)


@given(INSTANTS, st.integers(0, 5), st.timedeltas(timedelta(), timedelta(days=5)))
def test_a_punctual_write_has_an_hour_before_its_day_is_over(now: datetime, days: int, passed: timedelta) -> None:
    day = now.date() - timedelta(days=days)

    if not is_late(day, now) and day <= last_closed_day(now + passed):
        assert passed >= ON_THE_WAY


def test_a_day_is_over_thirteen_hours_after_it_ended_in_utc() -> None:
    over = datetime(2026, 3, 15, 13, tzinfo=UTC)

    assert last_closed_day(over) == DAY
    assert last_closed_day(over - timedelta(microseconds=1)) == DAY - timedelta(days=1)
    assert is_late(DAY, over - ON_THE_WAY)
    assert not is_late(DAY, over - ON_THE_WAY - timedelta(microseconds=1))


def test_totals_of_agents_are_added_up_by_kind_and_day() -> None:
    other_kind = replace(COUNTER, input_type=7)
    of_agents = [
        DayTotal(COUNTER, DAY, 2, 2460),
        DayTotal(replace(COUNTER, agent_id=18), DAY, 1, 1230),
        DayTotal(COUNTER, DAY + timedelta(days=1), 1, 1230),
        DayTotal(other_kind, DAY, 1, 0),
        DayTotal(other_kind, DAY + timedelta(days=1), 0, 0),
    ]

    added = of_all_agents(of_agents)

    everybody = replace(COUNTER, agent_id=ALL_AGENTS)
    assert added == [
        DayTotal(everybody, DAY, 3, 3690),
        DayTotal(everybody, DAY + timedelta(days=1), 1, 1230),
        DayTotal(replace(other_kind, agent_id=ALL_AGENTS), DAY, 1, 0),
    ]


def test_slots_of_agents_are_added_up_by_kind() -> None:
    slots = [DaySlots(COUNTER, DAY, {"29": 1, "30": 2}), DaySlots(COUNTER, DAY, {"29": 4})]
    (added,) = slots_of_all_agents(DAY, slots)

    assert (added.counter.agent_id, added.quarters) == (ALL_AGENTS, {"29": 5, "30": 2})


def test_slots_are_the_total_of_their_day() -> None:
    assert DaySlots(COUNTER, DAY, {"29": 1, "30": 2}, 3690).total == DayTotal(COUNTER, DAY, 3, 3690)
