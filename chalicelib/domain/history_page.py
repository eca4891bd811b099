"""A page of the history: on which day and in which hour it begins, and how many entries to skip there.

Counters tell it, so that page 1,000 reads as few entries as page 1. Pure functions.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from chalicelib.domain import paging
from chalicelib.domain.history_entry import ORDER, CounterKey, HistoryEntry
from chalicelib.domain.money import amount_in

MAX_CANDIDATES = 20_000  # entries that a list by a text may read: about 3 s of processor time
MAX_OF_ALL_KINDS = 50_000  # entries among which the store finds those of a kind
BUSY_DAY = 2 * paging.PAGE_SIZE  # transactions: a page that begins or ends in a busier day is searched by hours
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class TimeRange:
    """A range of time in the merchant's zone, without its end, and the number of its transactions."""

    begin: datetime
    end: datetime
    count: int


@dataclass(frozen=True)
class Place:
    """The place of a page: the time ranges that hold it, in the order of the list, and how many entries to skip."""

    ranges: Sequence[TimeRange]
    skip: int

    @property
    def busy_days(self) -> list[date]:
        """Return the days of which the hours narrow the place: a busy first and a busy last day."""
        ends = (self.ranges[0], self.ranges[-1]) if self.ranges else ()
        return [day.begin.date() for day in dict.fromkeys(ends) if day.count > BUSY_DAY]


@dataclass(frozen=True)
class DayCount:
    """A counter's transactions on a day, and the money that its payments took, in minor units."""

    counter: CounterKey
    day: date
    count: int
    taken_minor: int


def days_of(day_counts: Iterable[DayCount], *, newest_first: bool) -> list[TimeRange]:
    """Return the days with transactions, in the order of the list."""
    counts = Counter[date]()
    for day_count in day_counts:
        counts[day_count.day] += day_count.count
    days = sorted(((day, count) for day, count in counts.items() if count), reverse=newest_first)
    return [_range(datetime.combine(day, time.min), timedelta(days=1), count) for day, count in days]


def place_in_days(days: Iterable[TimeRange], page: int) -> Place:
    """Return the days that hold page `page` (from 1)."""
    return ranges_of_page(days, (page - 1) * paging.PAGE_SIZE, paging.PAGE_SIZE)


def place_in_hours(place: Place, counts: Mapping[date, Mapping[int, int]], *, newest_first: bool) -> Place:
    """Return the place within hours. `counts` are the numbers of busy days, by hour."""
    finer: list[TimeRange] = []
    for day in place.ranges:
        finer += hours_of(day, counts.get(day.begin.date(), {}), newest_first=newest_first)
    return ranges_of_page(finer, place.skip, paging.PAGE_SIZE)


def hours_of(day: TimeRange, counts: Mapping[int, int], *, newest_first: bool) -> list[TimeRange]:
    """Return the hours of a day that have transactions, in the order of the list.

    If `counts` have fewer transactions than the day, return the whole day: a range may be too long, never too short.
    """
    if sum(counts.values()) < day.count:
        return [day]
    hours = sorted(counts.items(), reverse=newest_first)
    return [_range(day.begin + number * HOUR, HOUR, count) for number, count in hours]


def _range(begin: datetime, length: timedelta, count: int) -> TimeRange:
    return TimeRange(begin, begin + length, count)


def ranges_of_page(ranges: Iterable[TimeRange], skip: int, size: int) -> Place:
    """Return the place of the `size` transactions after the first `skip`."""
    held: list[TimeRange] = []
    wanted = size
    for time_range in ranges:
        if not held and skip >= time_range.count:
            skip -= time_range.count
        elif time_range.count:
            held.append(time_range)
            wanted -= time_range.count if len(held) > 1 else time_range.count - skip
        if wanted <= 0:
            break
    return Place(held, skip)


def entries_of_page(
    entries: Sequence[HistoryEntry], page: int, *, newest_first: bool, skip: int = 0
) -> list[HistoryEntry]:
    """Return page `page` (from 1) of the entries after the first `skip`."""
    start = skip + (page - 1) * paging.PAGE_SIZE
    return sorted(entries, key=ORDER, reverse=newest_first)[start : start + paging.PAGE_SIZE]


def amount_taken(counted: Iterable[DayCount | HistoryEntry], currency: str | None) -> Decimal:
    """Return AmountCvt: the money that payments took in the merchant's currency."""
    return amount_in(currency, ((one.counter.currency, one.counter.digits, one.taken_minor) for one in counted))
