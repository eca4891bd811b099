"""Totals of all agents of a merchant: which days are over, and what was counted on them. Pure functions.

A day is the day of whatever zone it was counted in. It has ended in every zone twelve hours after it ended in UTC.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta

from chalicelib.domain.history import CounterKey, DayTotal
from chalicelib.record import Record

ALL_AGENTS = 0  # the agent of a counter that counts all of them
ENDED_EVERYWHERE = timedelta(hours=12)  # after the end of the day in UTC: the zone that is last is UTC-12
ON_THE_WAY = timedelta(hours=1)  # for what was not yet late when it began; nothing is under way for so long
FIRST_ZONE = timedelta(hours=14)  # ahead of UTC


class DaySlots(Record):
    """The transactions of a counter in each quarter of an hour of one day (00 to 95), and the minor units they took."""

    counter: CounterKey
    day: date
    quarters: Mapping[str, int]
    taken_minor: int = 0

    @property
    def total(self) -> DayTotal:
        """Return the total of the day."""
        return DayTotal(self.counter, self.day, sum(self.quarters.values()), self.taken_minor)


class RolledMonth(Record):
    """The totals of the days of a month (2026-03) until `through`, of all agents, by kind.

    The version is the number of late writes of the month, read before the totals were.
    """

    month: str
    version: int
    through: date
    day_totals: tuple[DayTotal, ...]


class RolledSlots(Record):
    """The slots of a day that is over, of all agents, by kind; the version is that of its month."""

    day: date
    version: int
    slots: tuple[DaySlots, ...]


def is_late(day: date, now: datetime) -> bool:
    """Return whether what is written to the counters of a day comes after the day has ended in every zone."""
    return now >= datetime.combine(day, time.min, UTC) + timedelta(days=1) + ENDED_EVERYWHERE


def last_closed_day(now: datetime) -> date:
    """Return the latest day to whose counters only late writes are made from now on."""
    return (now.astimezone(UTC) - ENDED_EVERYWHERE - ON_THE_WAY).date() - timedelta(days=1)


def last_open_day(now: datetime) -> date:
    """Return the latest day that has begun in any zone."""
    return (now.astimezone(UTC) + FIRST_ZONE).date()


def of_all_agents(day_totals: Iterable[DayTotal]) -> list[DayTotal]:
    """Add up the totals of agents and shards: one for each kind and day."""
    counts, money = Counter[tuple[CounterKey, date]](), Counter[tuple[CounterKey, date]]()
    for one in day_totals:
        key = replace(one.counter, agent_id=ALL_AGENTS), one.day
        counts[key] += one.count
        money[key] += one.taken_minor
    found = (DayTotal(counter, day, count, money[counter, day]) for (counter, day), count in counts.items())
    return [one for one in found if one.count or one.taken_minor]


def slots_of_all_agents(day: date, slots: Iterable[DaySlots]) -> tuple[DaySlots, ...]:
    """Add up the quarters of an hour of a day: one for each kind."""
    added: defaultdict[CounterKey, Counter[str]] = defaultdict(Counter)
    for one in slots:
        added[replace(one.counter, agent_id=ALL_AGENTS)].update(one.quarters)
    return tuple(DaySlots(counter, day, quarters) for counter, quarters in added.items())
