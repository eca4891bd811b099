"""History: exact counts and any page of payments and reversals, at a cost that does not grow with their number."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from chalicelib.domain.agent import Caller
from chalicelib.domain.history import (
    HistoryEntry,
    Page,
    TimeRange,
    amount_taken,
    days_of,
    page_of,
    quarters_of,
    ranges_of_page,
)
from chalicelib.domain.paging import PAGE_SIZE
from chalicelib.domain.period import days_up_to
from chalicelib.domain.transaction import Transaction
from chalicelib.schemas.history import OLDEST_FIRST, ListHistory
from chalicelib.services import history_entries, history_query
from chalicelib.services.history_query import HistoryQuery
from chalicelib.services.rolled_totals import Counted
from chalicelib.store import transactions
from chalicelib.store.table import read_all

BUSY_DAY = 2 * PAGE_SIZE  # transactions, from which it pays to read which quarters of an hour a page is in


def by_history(body: ListHistory, caller: Caller, now: datetime) -> Page:
    """Return a page of the period, in the requested order."""
    return _list(history_query.decide(body, caller, now), now)


def by_days(body: ListHistory, caller: Caller, now: datetime) -> Page:
    """Return a page of a day, filled up from the days before it; Sort orders the page, it does not choose it."""
    query = history_query.decide(body, caller, now, days_up_to)
    page = _list(replace(query, newest_first=True), now)
    if body.list_basic_model.sort == OLDEST_FIRST:
        return replace(page, transactions=page.transactions[::-1])
    return page


def _list(query: HistoryQuery, now: datetime) -> Page:
    found = history_query.found_by_key(query)
    return _page_of_period(query, now) if found is None else _page(query, found)


def _page(query: HistoryQuery, matching: Sequence[HistoryEntry]) -> Page:
    """Return a page of all that matches."""
    shown = page_of(matching, query.page, newest_first=query.newest_first)
    return Page(_read_records(shown), len(matching), amount_taken(matching, query.currency))


def _page_of_period(query: HistoryQuery, now: datetime) -> Page:
    """Return a page of a period: counted by its totals, which also locate it unless a text is searched."""
    wanted, period, client_id = query.wanted, query.period, query.client_id
    counted = history_query.counted(query, now)
    fitting = [one for one in counted.day_totals if one.day in period and wanted.takes(one.counter)]
    total = sum(one.count for one in fitting)
    held, skip = days_of(fitting, newest_first=query.newest_first), 0

    if not wanted.by_text:
        held, skip = ranges_of_page(held, (query.page - 1) * PAGE_SIZE, PAGE_SIZE)
        held, skip = ranges_of_page(_in_quarters(query, counted, held), skip, PAGE_SIZE)
    entries = history_entries.of_ranges(client_id, wanted, held, counted.day_totals)
    if wanted.by_text:
        return _page(query, history_query.matching(query, entries))
    shown = page_of(entries, 1, newest_first=query.newest_first, skip=skip)
    return Page(_read_records(shown), total, amount_taken(fitting, query.currency))


def _in_quarters(query: HistoryQuery, counted: Counted, days: Sequence[TimeRange]) -> list[TimeRange]:
    """Return the days, the first and the last in quarters of an hour if they are busy."""
    finer: list[TimeRange] = []
    for number, day in enumerate(days):
        if day.count > BUSY_DAY and number in {0, len(days) - 1}:
            slots = counted.slots_of(day.begin.date())
            fitting = [one.quarters for one in slots if query.wanted.takes(one.counter)]
            finer += quarters_of(day, fitting, newest_first=query.newest_first)
        else:
            finer.append(day)
    return finer


def _read_records(entries: Sequence[HistoryEntry]) -> list[Transaction]:
    records: list[Transaction | None] = read_all([transactions.key(entry.id) for entry in entries])
    return [record for record in records if record is not None]
