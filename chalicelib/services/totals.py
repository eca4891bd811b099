"""Totals of all agents of a merchant: of days that are over from what was rolled up, of open days from their slots.

Whoever needs what is not rolled up, or is outdated, counts it from the totals of the agents and stores it again.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial

from chalicelib.domain.business_days import Period, days_of_month
from chalicelib.domain.history import DayTotal
from chalicelib.domain.totals import (
    DaySlots,
    RolledMonth,
    RolledSlots,
    last_closed_day,
    last_open_day,
    of_all_agents,
    slots_of_all_agents,
)
from chalicelib.errors import ServiceError
from chalicelib.log import log
from chalicelib.record import Record
from chalicelib.store import totals
from chalicelib.store.totals import StoredMonth


class Counted(Record):
    """The totals of the days of a period, and the slots of a day, which are read when they are asked for."""

    day_totals: Sequence[DayTotal]
    slots_of: Callable[[date], Sequence[DaySlots]]


class _Month(Record):
    """The totals of a month; what was rolled up anew; and the slots of its open days, if they were read."""

    day_totals: Sequence[DayTotal]
    made: RolledMonth | None = None
    slots: Sequence[DaySlots] = ()


def of_agent(client_id: int, agent_id: int, period: Period) -> Counted:
    """Read the totals of one agent: one query for each month."""
    months = [totals.of_month(client_id, month, agent_id) for month in period.months]
    day_totals = [one for of_one in months for one in of_one]
    return Counted(day_totals, lambda day: totals.slots_of(client_id, day, agent_id))


def of_merchant(client_id: int, period: Period, now: datetime) -> Counted:
    """Read the totals of all agents together: one query for each year, one for open days, more for what is outdated."""
    begun = Period(period.first, min(period.last, last_open_day(now)))
    names = begun.months if begun.first <= begun.last else []
    stored = totals.of_months(client_id, names)
    months = [_month(client_id, _days_in(begun, name), stored[name], now) for name in names]
    if made := [month.made for month in months if month.made]:
        _store_if_possible(partial(totals.store_months, client_id, made))
    slots = [one for month in months for one in month.slots]
    day_totals = [one for month in months for one in month.day_totals]
    return Counted(day_totals, partial(_slots, client_id, slots, stored, now))


def _days_in(period: Period, month: str) -> Period:
    """Return the part of a period that is in a month."""
    whole = days_of_month(month)
    return Period(max(period.first, whole.first), min(period.last, whole.last))


def _month(client_id: int, days: Period, stored: StoredMonth, now: datetime) -> _Month:
    """Return the totals of these days of a month."""
    month, closed = days.first.isoformat()[:7], last_closed_day(now)
    rolled = stored.rolled
    if days.first <= closed and not _holds(stored, min(days.last, closed)):
        every = of_all_agents(totals.of_month(client_id, month, None))
        through = min(days_of_month(month).last, closed)
        over = [one for one in every if one.day <= through]
        return _Month(every, RolledMonth(month, stored.version, through, tuple(over)))
    over = [one for one in rolled.day_totals if one.day in days and one.day <= closed] if rolled else []
    if days.last <= closed:
        return _Month(over)
    slots = totals.slots_of_days(client_id, max(days.first, closed + timedelta(days=1)), days.last)
    return _Month([*over, *of_all_agents(one.total for one in slots)], slots=slots)


def _holds(stored: StoredMonth, through: date) -> bool:
    """Return whether what is rolled up covers the days until this one, and nothing was written to them since."""
    rolled = stored.rolled
    return rolled is not None and rolled.version == stored.version and rolled.through >= through


def _slots(
    client_id: int, read: Sequence[DaySlots], stored: Mapping[str, StoredMonth], now: datetime, day: date
) -> Sequence[DaySlots]:
    """Return the slots of a day: those that were read for its total, those that were rolled up, or those of agents."""
    if of_day := [one for one in read if one.day == day]:
        return of_day
    if day > last_closed_day(now):
        return totals.slots_of(client_id, day, None)
    version = stored[day.isoformat()[:7]].version
    rolled = totals.rolled_slots_of(client_id, day)
    if rolled is None or rolled.version != version:
        rolled = RolledSlots(day, version, slots_of_all_agents(day, totals.slots_of(client_id, day, None)))
        _store_if_possible(partial(totals.store_slots, client_id, rolled))
    return rolled.slots


def _store_if_possible(store: Callable[[], None]) -> None:
    """Store what was rolled up. A list that needed it is right without it, and the next one makes it again."""
    try:
        store()
    except ServiceError as outage:
        log("rolled_totals_not_stored", error_code=outage.error.code)
