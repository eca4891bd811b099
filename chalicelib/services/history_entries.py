"""The entries of a stretch of time: of all agents in one order, or agent by agent.

An entry that an earlier version wrote stands among those of its agent alone until `rebuild-totals` has brought it over.
So what is read in the order of all agents is compared with the totals, which were read before it: when it is less, the
stretch is read agent by agent.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from chalicelib.domain.history import MAX_CANDIDATES, DayTotal, HistoryEntry, TimeRange
from chalicelib.domain.history_filter import HistoryFilter
from chalicelib.domain.paging import PAGE_SIZE
from chalicelib.domain.period import Period
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import history, totals

QUIET_MONTH = 2 * PAGE_SIZE  # transactions, up to which a month is read at once, whoever was active in it
TOO_MANY = f"More than {MAX_CANDIDATES} operations would have to be looked at: narrow the period."


def of_ranges(
    client_id: int, wanted: HistoryFilter, held: Sequence[TimeRange], day_totals: Sequence[DayTotal]
) -> list[HistoryEntry]:
    """List the matching entries of these time ranges, from the first to the last of them.

    `day_totals` are those of all kinds. Raise PERIOD_TOO_LONG when a filter would have to look at too many.
    """
    if not held:
        return []
    begin, end = min(one.begin for one in held), max(one.end for one in held)
    if wanted.agent_id is not None:
        return _by_agent(client_id, wanted, begin, end, day_totals)
    days = _days_of(begin, end)
    number = sum(one.count for one in day_totals if one.day in days)
    too_many = number > MAX_CANDIDATES and (wanted.by_text or wanted.by_kind)
    if too_many and not wanted.by_kind:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, TOO_MANY)
    if not too_many:
        entries, looked_at = history.in_order(client_id, begin, end, wanted)
        if looked_at >= number if wanted.by_text else len(entries) >= sum(one.count for one in held):
            return entries
    return by_agent(client_id, wanted, begin, end)


def by_agent(client_id: int, wanted: HistoryFilter, begin: datetime, end: datetime) -> list[HistoryEntry]:
    """List the matching entries of all agents, agent by agent: version 1.0 may have written some of them."""
    months = _days_of(begin, end).months
    of_agents = [one for month in months for one in totals.of_month(client_id, month, None)]
    return _by_agent(client_id, wanted, begin, end, of_agents)


def _by_agent(
    client_id: int, wanted: HistoryFilter, begin: datetime, end: datetime, day_totals: Sequence[DayTotal]
) -> list[HistoryEntry]:
    """List the matching entries of the agents and months that have any."""
    days = _days_of(begin, end)
    inside = [one for one in day_totals if one.day in days]
    fitting = {one.counter.agent_id for one in inside if wanted.takes(one.counter)}
    looked_at = [one for one in inside if one.counter.agent_id in fitting]
    if (wanted.by_text or wanted.by_kind) and sum(one.count for one in looked_at) > MAX_CANDIDATES:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, TOO_MANY)
    sizes = Counter[str]()
    for one in day_totals:
        sizes[one.month] += one.count
    quiet = {month for month, size in sizes.items() if size <= QUIET_MONTH and wanted.agent_id is None}
    active = {(one.month, one.counter.agent_id) for one in looked_at}
    places = {history.MonthEntries(client_id, month, None if month in quiet else agent) for month, agent in active}
    return [entry for place in places for entry in history.between(place, begin, end, wanted)]


def _days_of(begin: datetime, end: datetime) -> Period:
    """Return the days of a stretch of time, its end not included."""
    return Period(begin.date(), (end - timedelta(microseconds=1)).date())
