"""The entries of a stretch of time that match a list: of all agents in one order, or of the agents that have any."""

from collections.abc import Sequence
from datetime import timedelta

from chalicelib.domain.history import MAX_CANDIDATES, DayTotal, HistoryEntry, TimeRange
from chalicelib.domain.history_filter import HistoryFilter
from chalicelib.domain.period import Period
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import history, totals
from chalicelib.store.history import Stretch

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
    days = Period(begin.date(), (end - timedelta(microseconds=1)).date())
    number = sum(one.count for one in day_totals if one.day in days)
    too_many = number > MAX_CANDIDATES and (wanted.by_text or wanted.by_kind)
    agent_ids = _agents_of_kind(client_id, wanted, days) if too_many else [wanted.agent_id]
    stretches = [Stretch(client_id, agent_id, begin, end) for agent_id in agent_ids]
    return [entry for stretch in stretches for entry in history.between(stretch, wanted)]


def _agents_of_kind(client_id: int, wanted: HistoryFilter, days: Period) -> Sequence[int | None]:
    """List the agents that have transactions of the kind, if what all of them did is not too much to look at."""
    if wanted.agent_id is not None or not wanted.by_kind:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, TOO_MANY)
    of_months = [one for month in days.months for one in totals.of_month(client_id, month, None)]
    inside = [one for one in of_months if one.day in days]
    agent_ids = {one.counter.agent_id for one in inside if wanted.takes(one.counter)}
    if sum(one.count for one in inside if one.counter.agent_id in agent_ids) > MAX_CANDIDATES:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, TOO_MANY)
    return list(agent_ids)
