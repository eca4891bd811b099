"""Takings: the money taken and returned in a period, by day or by hour."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from chalicelib.domain.agent import Caller
from chalicelib.domain.business_days import LONGEST, business_day, period_of
from chalicelib.domain.totals import LONGEST_BY_HOUR, Taking, check_size, takings_of, too_much
from chalicelib.schemas.history import BY_HOUR, ReportTakings
from chalicelib.services.admission import admit
from chalicelib.services.history import scope_of
from chalicelib.store import agents, totals
from chalicelib.store.table import BATCH, read_all

MOST_READS = 18  # of the store, besides the reads of the caller and of a system user's merchant


def report(body: ReportTakings, caller: Caller, now: datetime) -> tuple[Sequence[Taking], Mapping[int, str]]:
    """Return the takings of a period, and the names of their agents by ID."""
    is_by_hour = body.by == BY_HOUR
    account_key = [agents.key(body.account_id)] if body.account_id is not None else []
    admitted = admit(caller, *account_key, current_account_id=body.current_account_id)
    scope = scope_of(admitted, body.account_id, next(iter(admitted.others), None))
    longest = LONGEST_BY_HOUR if is_by_hour else LONGEST
    period = period_of(body.period.first, body.period.last, business_day(now, scope.gmt), longest)

    pages: list[int] = []
    read = totals.by_hour if is_by_hour else totals.by_day
    rows = takings_of(read(scope.client_id, period, scope.agent_id, pages))

    names = _names_of({row.agent_id for row in rows}, MOST_READS - len(pages))
    check_size(names.get(row.agent_id) for row in rows)
    return rows, names


def _names_of(agent_ids: set[int], most_reads: int) -> dict[int, str]:
    """Read the names of agents; raise PERIOD_TOO_LONG for more agents than `most_reads` reads hold."""
    if len(agent_ids) > most_reads * BATCH:
        raise too_much()
    found = read_all([agents.key(agent_id) for agent_id in sorted(agent_ids)])
    return {agent.id: agent.name for agent in found if agent is not None}
