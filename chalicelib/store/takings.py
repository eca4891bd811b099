"""Takings: the money that moved on the days or in the hours of a period, read from counters."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from functools import partial

from chalicelib.domain.history_entry import AGAIN, DISCOUNTS, GROSS, LEFT, MONEY, MOVED, TAX, Counters
from chalicelib.domain.periods import Period
from chalicelib.domain.takings import Moved
from chalicelib.domain.taxes import Tax, TaxAmount
from chalicelib.store.history import TABLE
from chalicelib.store.history_lists import (
    counter_at,
    counters_range,
    day_of_hours,
    days_prefix,
    hours_prefix,
    hours_range,
    numbers_in,
    taxes_in,
)
from chalicelib.store.ranges import Range, item_pages
from chalicelib.store.table import Item, readable

FEW_DAYS = 7  # for longer periods, all agents' counters are read instead of one agent's day by day


def by_day(client_id: int, period: Period, agent_id: int | None) -> Iterator[list[Moved]]:
    """Yield the money that moved on each day of a period, of one agent or of all, by counter.

    Each list is from one store call.
    """
    for month in period.months:
        read = partial(moved_on_days, date.fromisoformat(f"{month}-01"))
        for page in _pages(counters_range(client_id, month, days_prefix(agent_id)), read):
            yield [one for one in page if one.day in period]


def by_hour(client_id: int, period: Period, agent_id: int | None) -> Iterator[list[Moved]]:
    """Yield the money that moved in each hour of a period, otherwise like `by_day`."""
    for month, span in _hours_ranges(client_id, period, agent_id):
        for page in _pages(span, partial(moved_in_hours, month)):
            yield [one for one in page if agent_id in (None, one.counter.agent_id)]


def _hours_ranges(client_id: int, period: Period, agent_id: int | None) -> Iterator[tuple[date, Range]]:
    """Yield the ranges of counters by hour in a period, each with a day of its month: of each day, or of each month."""
    length = (period.last - period.first).days
    if agent_id is not None and length < FEW_DAYS:
        for day in (period.first + timedelta(days=number) for number in range(length + 1)):
            yield day, counters_range(client_id, day.isoformat()[:7], hours_prefix(day, agent_id))
        return
    for days in map(period.within, period.months):
        yield days.first, hours_range(client_id, days.first, days.last)


def _pages(span: Range, read: Callable[[Item], list[Moved]]) -> Iterator[list[Moved]]:
    for page in item_pages(span):
        yield [one for of_counter in readable(TABLE, page, read) for one in of_counter]


def moved_on_days(month: date, item: Item) -> list[Moved]:
    """Return the money that moved on each day of a counter by day; `month` is a day of its month."""
    return _moved(item, lambda day: (month.replace(day=day), None))


def moved_in_hours(month: date, item: Item) -> list[Moved]:
    """Return the money that moved in each hour of a day's counter by hour; `month` is a day of its month."""
    day = month.replace(day=day_of_hours(item["at"]["S"]))
    return _moved(item, lambda hour: (day, hour))


def _moved(item: Item, time_of: Callable[[int], tuple[date, int | None]]) -> list[Moved]:
    """Return the money of each number in the names of a counter; `time_of` makes the day and the hour from it."""
    counter = counter_at(item["at"]["S"])
    numbers, taxes = numbers_in(item), taxes_in(item)
    return [
        Moved(
            counter,
            *time_of(int(when)),
            number=numbers.get(f"{MOVED}{when}", 0),
            amount_minor=numbers.get(f"{MONEY}{when}", 0),
            taxes=tuple(_counted_taxes(numbers, when, taxes)),
            taxed_again_minor=numbers.get(f"{AGAIN}{when}", 0),
            discounts_minor=numbers.get(f"{DISCOUNTS}{when}", 0),
            left_minor=numbers.get(f"{LEFT}{when}", 0),
        )
        for when in sorted({name[1:3] for name in numbers})
    ]


def _counted_taxes(numbers: Counters, when: str, taxes: Mapping[str, Tax]) -> Iterator[TaxAmount]:
    """Yield the taxes of a day or hour from the numbers of a counter, which names these taxes by their keys."""
    for key, tax in taxes.items():
        amounts = numbers.get(f"{GROSS}{when}{key}", 0), numbers.get(f"{TAX}{when}{key}", 0)
        if any(amounts):
            yield TaxAmount(tax.code, tax.name, tax.rate, *amounts)
