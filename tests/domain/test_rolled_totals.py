"""Days that are over in every zone, and the totals of all agents."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.business_days import ON_THE_WAY, business_day, is_late, last_closed_day, last_open_day
from chalicelib.domain.history import DayTotal, entry_of
from chalicelib.domain.totals import ALL_AGENTS, DaySlots, of_all_agents, slots_of_all_agents
from tests.support.transactions import a_payment

DAY = date(2026, 3, 14)
INSTANTS = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
ZONES = st.integers(-12, 14)
COUNTER = entry_of(a_payment()).counter


@given(INSTANTS, ZONES)
def test_what_is_counted_at_once_is_counted_on_an_open_day_and_never_late(now: datetime, gmt: int) -> None:
    today = business_day(now, gmt)

    assert last_closed_day(now) < today <= last_open_day(now)
    assert not is_late(today, now)


@given(INSTANTS, st.integers(0, 5), st.timedeltas(timedelta(), timedelta(days=5)))
def test_a_write_that_is_not_late_has_an_hour_before_its_day_counts_as_over(
    now: datetime, days: int, passed: timedelta
) -> None:
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
