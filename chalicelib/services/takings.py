"""Takings: the money taken and returned in a period, by day or by hour."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Generic, TypeVar

from chalicelib.domain.agent import Caller
from chalicelib.domain.business_days import business_day
from chalicelib.domain.periods import LONGEST, period_of
from chalicelib.domain.takings import LONGEST_BY_HOUR, Takings, check_size, late_of, takings_of, too_much
from chalicelib.schemas.takings import BY_HOUR, ReportTakings
from chalicelib.services.caller_check import admit
from chalicelib.services.history import scope_of
from chalicelib.store import agents, history_lists, receipt_numbers, takings
from chalicelib.store.history_lists import WITHOUT_TEXTS
from chalicelib.store.table import BATCH, read_all

MOST_PAGES = 17  # of counters
MOST_READS = 18  # of the store, besides the reads of the caller and of a system user's merchant
NOTHING = Takings((), ())
T = TypeVar("T")


class CountedPages(Generic[T]):
    """Parts of a report in pages, which are counted while they are read. More than `most` raise PERIOD_TOO_LONG."""

    def __init__(self, pages: Iterable[Sequence[T]], most: int) -> None:
        """Wrap `pages`; none is read yet."""
        self._pages, self._most = pages, most
        self.number = 0

    def __iter__(self) -> Iterator[T]:
        """Read the pages, and yield their items."""
        for page in self._pages:
            self.number += 1
            if self.number > self._most:
                raise too_much()
            yield from page


@dataclass(frozen=True)
class Report:
    """The takings of a period, the names of their agents, and of a single day the agents' last receipt numbers."""

    takings: Takings
    names: Mapping[int, str]  # by agent
    day: date | None = None
    last_numbers: Mapping[int, int] = field(default_factory=dict)  # by agent


def report(
    body: ReportTakings, caller: Caller, now: datetime, most_pages: int = MOST_PAGES, most_reads: int = MOST_READS
) -> Report:
    """Return the takings of a period."""
    account_key = [agents.key(body.account_id)] if body.account_id is not None else []
    admitted = admit(caller, *account_key, current_account_id=body.current_account_id)
    scope = scope_of(admitted, body.account_id)
    is_by_hour = body.by == BY_HOUR
    longest = LONGEST_BY_HOUR if is_by_hour else LONGEST
    period = period_of(body.period.first, body.period.last, business_day(now, scope.gmt), longest)

    read = takings.by_hour if is_by_hour else takings.by_day
    pages = CountedPages(read(scope.client_id, period, scope.agent_id), most_pages)

    late_pages = history_lists.late_pages(scope.client_id, period, WITHOUT_TEXTS)

    day = period.first if period.first == period.last and not is_by_hour else None
    moved = list(pages) if day else pages
    found = takings_of(moved)
    late = CountedPages(late_pages, max(most_pages - pages.number, 1))
    found = replace(found, late=late_of(one for one in late if scope.agent_id in (None, one.counter.agent_id)))
    # A day's declined payments move no money, but have receipt numbers.
    agent_ids = {one.counter.agent_id for one in moved} if day else {row.agent_id for row in found.rows}
    agent_ids |= {row.agent_id for row in found.late}
    agents_of = _read_agents(scope.client_id, sorted(agent_ids), day, most_reads - pages.number - late.number)
    check_size((*(agents_of.names.get(row.agent_id) for row in found.rows), *(tax.name for tax in found.taxes)))
    return replace(agents_of, takings=found)


def _read_agents(client_id: int, agent_ids: Sequence[int], day: date | None, most_reads: int) -> Report:
    """Read the names of agents, and their last receipt numbers of a day.

    Raise PERIOD_TOO_LONG for more agents than `most_reads` reads hold.
    """
    keys = [agents.key(one) for one in agent_ids]
    number_keys = [receipt_numbers.key(client_id, one, day) for one in agent_ids] if day else []
    if len(keys) + len(number_keys) > most_reads * BATCH:
        raise too_much()
    found = read_all([*keys, *number_keys], for_list=True)
    names = {agent.id: agent.name for agent in found[: len(keys)] if agent is not None}
    if day is None:
        return Report(NOTHING, names)
    months = zip(agent_ids, found[len(keys) :], strict=True)
    last = {agent_id: month.last.get(f"{day:%d}", 0) for agent_id, month in months if month is not None}
    return Report(NOTHING, names, day, {agent_id: number for agent_id, number in last.items() if number})
