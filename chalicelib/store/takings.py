"""The money that moved on days and in hours, read from the totals and the slots of a merchant's agents.

The number of queries is that of the months, whatever was paid in them, and more for what has over a megabyte.
"""

from collections.abc import Iterator
from datetime import date, timedelta

from chalicelib.domain.period import Period, days_of_month
from chalicelib.domain.takings import Moved, too_much
from chalicelib.store import totals
from chalicelib.store.totals import GIVEN_BACK, MONEY, MOVED, Counters

FEW_DAYS = 7  # up to which the slots of one agent are read day by day, not among those of all
MOST_PAGES = 17  # of one answer


def by_day(client_id: int, period: Period, agent_id: int | None, pages: list[int]) -> Iterator[Moved]:
    """Yield what moved on each day of a period, of one agent or of all, by counter and shard.

    The pages that were read are appended to `pages`; raise PERIOD_TOO_LONG when there are more than `MOST_PAGES`.
    """
    for month in period.months:
        first = date.fromisoformat(f"{month}-01")
        for at, numbers in totals.read_counters(client_id, month, totals.total_prefix(agent_id), pages):
            _check(pages)
            yield from (one for one in moved_in_total(first, at, numbers) if one.day in period)


def by_hour(client_id: int, period: Period, agent_id: int | None, pages: list[int]) -> Iterator[Moved]:
    """Yield what moved in each hour of a period; else as `by_day`."""
    for day, at, numbers in _slots(client_id, period, agent_id, pages):
        _check(pages)
        if at.startswith(totals.slots_prefix(day, agent_id)):
            yield from moved_in_slots(day, at, numbers)


def moved_in_total(month: date, at: str, numbers: Counters) -> Iterator[Moved]:
    """Yield what moved on each day of a total; `month` is a day of its month."""
    counter = totals.counter_at(at)
    for day in sorted({name[1:] for name in numbers}):
        number, amount_minor = numbers.get(f"{MOVED}{day}", 0), _money(numbers, day)
        yield Moved(counter, month.replace(day=int(day)), None, number, amount_minor)


def moved_in_slots(day: date, at: str, numbers: Counters) -> Iterator[Moved]:
    """Yield what moved in each hour of the slots of a day."""
    counter = totals.counter_at(at)
    for hour in sorted({name[1:] for name in numbers if not name.isdecimal()}):
        yield Moved(counter, day, int(hour), numbers.get(f"{MOVED}{hour}", 0), _money(numbers, hour))


def _money(numbers: Counters, when: str) -> int:
    return numbers.get(f"{MONEY}{when}", 0) + numbers.get(f"{GIVEN_BACK}{when}", 0)  # a counter has one of them


def _slots(
    client_id: int, period: Period, agent_id: int | None, pages: list[int]
) -> Iterator[tuple[date, str, Counters]]:
    """Yield the slots of a period with their day; when an agent is named, they may be those of all."""
    if agent_id is not None and (period.last - period.first).days < FEW_DAYS:
        for number in range((period.last - period.first).days + 1):
            day = period.first + timedelta(days=number)
            prefix = totals.slots_prefix(day, agent_id)
            for at, numbers in totals.read_counters(client_id, day.isoformat()[:7], prefix, pages):
                yield day, at, numbers
        return
    for month in period.months:
        whole = days_of_month(month)
        first, last = max(period.first, whole.first), min(period.last, whole.last)
        for at, numbers in totals.read_slots(client_id, first, last, pages):
            yield first.replace(day=totals.day_of_slots(at)), at, numbers


def _check(pages: list[int]) -> None:
    if len(pages) > MOST_PAGES:
        raise too_much()
