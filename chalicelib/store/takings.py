"""Takings: the money that moved on the days or in the hours of a period, read from counters."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import partial

from chalicelib.domain.business_days import Period
from chalicelib.domain.counters import GIVEN_BACK, MONEY, MOVED, Counters, counted_taxes
from chalicelib.domain.price_list import Tax
from chalicelib.domain.takings import Moved
from chalicelib.store.counters import (
    counter_at,
    counter_pages,
    counters_range,
    day_of_slots,
    original_agent_at,
    slots_prefix,
    slots_range,
    total_prefix,
)
from chalicelib.store.table import Range

FEW_DAYS = 7  # for longer periods, all agents' slots are read instead of one agent's day by day


def by_day(client_id: int, period: Period, agent_id: int | None) -> Iterator[list[Moved]]:
    """Yield the money that moved on each day of a period, of one agent or of all, by counter and shard.

    Each list is from one store call.
    """
    for month in period.months:
        first = date.fromisoformat(f"{month}-01")
        span = counters_range(client_id, month, total_prefix(agent_id))
        for page in counter_pages(span, partial(_moved_on_days, first)):
            yield [one for one in page if one.day in period]


def by_hour(client_id: int, period: Period, agent_id: int | None) -> Iterator[list[Moved]]:
    """Yield the money that moved in each hour of a period, otherwise like `by_day`."""
    for first, span in _slots_ranges(client_id, period, agent_id):
        yield from counter_pages(span, partial(_moved_in_hours, first, agent_id))


def _moved_on_days(month: date, at: str, numbers: Counters, taxes: Sequence[Tax]) -> list[Moved]:
    return list(moved_in_total(month, at, numbers, taxes))


def _moved_in_hours(month: date, agent_id: int | None, at: str, numbers: Counters, taxes: Sequence[Tax]) -> list[Moved]:
    day = month.replace(day=day_of_slots(at))
    return list(moved_in_slots(day, at, numbers, taxes)) if at.startswith(slots_prefix(day, agent_id)) else []


def _slots_ranges(client_id: int, period: Period, agent_id: int | None) -> Iterator[tuple[date, Range]]:
    """Yield the ranges of the slots of a period, each with a day of its month: of each day, or of each month."""
    length = (period.last - period.first).days
    if agent_id is not None and length < FEW_DAYS:
        for day in (period.first + timedelta(days=number) for number in range(length + 1)):
            yield day, counters_range(client_id, day.isoformat()[:7], slots_prefix(day, agent_id))
        return
    for days in map(period.within, period.months):
        yield days.first, slots_range(client_id, days.first, days.last)


def moved_in_total(month: date, at: str, numbers: Counters, taxes: Sequence[Tax] = ()) -> Iterator[Moved]:
    """Yield the money that moved on each day of a total; `month` is a day of its month."""
    for day in sorted({name[1:] for name in numbers}):
        yield _moved(at, numbers, taxes, month.replace(day=int(day)), None)


def moved_in_slots(day: date, at: str, numbers: Counters, taxes: Sequence[Tax] = ()) -> Iterator[Moved]:
    """Yield the money that moved in each hour of the slots of a day."""
    for hour in sorted({name[1:] for name in numbers if not name.isdecimal()}):
        yield _moved(at, numbers, taxes, day, int(hour))


def _moved(at: str, numbers: Counters, taxes: Sequence[Tax], day: date, hour: int | None) -> Moved:
    when = f"{day:%d}" if hour is None else f"{hour:02d}"
    return Moved(
        counter=counter_at(at),
        day=day,
        hour=hour,
        number=numbers.get(f"{MOVED}{when}", 0),
        amount_minor=_money(numbers, when),
        taxes=tuple(counted_taxes(numbers, when, taxes)),
        original_agent=original_agent_at(at),
    )


def _money(numbers: Counters, when: str) -> int:
    return numbers.get(f"{MONEY}{when}", 0) + numbers.get(f"{GIVEN_BACK}{when}", 0)  # a counter has only one of them
