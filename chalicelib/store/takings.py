"""Takings: the money that moved on the days or in the hours of a period, read from counters."""

from collections.abc import Iterator
from datetime import date, timedelta

from chalicelib.domain.business_days import Period
from chalicelib.domain.counters import GIVEN_BACK, MONEY, MOVED, Counters
from chalicelib.domain.takings import Moved
from chalicelib.store.counters import (
    counter_at,
    counter_pages,
    counters_range,
    day_of_slots,
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
        for page in counter_pages(counters_range(client_id, month, total_prefix(agent_id))):
            moved = (one for at, numbers in page for one in moved_in_total(first, at, numbers))
            yield [one for one in moved if one.day in period]


def by_hour(client_id: int, period: Period, agent_id: int | None) -> Iterator[list[Moved]]:
    """Yield the money that moved in each hour of a period, otherwise like `by_day`."""
    for first, span in _slots_ranges(client_id, period, agent_id):
        for page in counter_pages(span):
            slots = ((first.replace(day=day_of_slots(at)), at, numbers) for at, numbers in page)
            own = (one for one in slots if one[1].startswith(slots_prefix(one[0], agent_id)))
            yield [one for day, at, numbers in own for one in moved_in_slots(day, at, numbers)]


def _slots_ranges(client_id: int, period: Period, agent_id: int | None) -> Iterator[tuple[date, Range]]:
    """Yield the ranges of the slots of a period, each with a day of its month: of each day, or of each month."""
    length = (period.last - period.first).days
    if agent_id is not None and length < FEW_DAYS:
        for day in (period.first + timedelta(days=number) for number in range(length + 1)):
            yield day, counters_range(client_id, day.isoformat()[:7], slots_prefix(day, agent_id))
        return
    for days in map(period.within, period.months):
        yield days.first, slots_range(client_id, days.first, days.last)


def moved_in_total(month: date, at: str, numbers: Counters) -> Iterator[Moved]:
    """Yield the money that moved on each day of a total; `month` is a day of its month."""
    counter = counter_at(at)
    for day in sorted({name[1:] for name in numbers}):
        number, amount_minor = numbers.get(f"{MOVED}{day}", 0), _money(numbers, day)
        yield Moved(counter, month.replace(day=int(day)), None, number, amount_minor)


def moved_in_slots(day: date, at: str, numbers: Counters) -> Iterator[Moved]:
    """Yield the money that moved in each hour of the slots of a day."""
    counter = counter_at(at)
    for hour in sorted({name[1:] for name in numbers if not name.isdecimal()}):
        yield Moved(counter, day, int(hour), numbers.get(f"{MOVED}{hour}", 0), _money(numbers, hour))


def _money(numbers: Counters, when: str) -> int:
    return numbers.get(f"{MONEY}{when}", 0) + numbers.get(f"{GIVEN_BACK}{when}", 0)  # a counter has only one of them
