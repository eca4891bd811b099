"""History: exact counts and any page of payments and reversals, at a cost that does not grow with their number."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.history import (
    MAX_CANDIDATES,
    HistoryEntry,
    Page,
    TimeRange,
    amount_taken,
    days_of,
    entry_of,
    is_within,
    page_of,
    quarters_of,
    ranges_of_page,
)
from chalicelib.domain.history_filter import HistoryFilter
from chalicelib.domain.paging import PAGE_SIZE
from chalicelib.domain.period import Period, business_day, days_up_to, period_of
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.record import Record
from chalicelib.schemas.history import OLDEST_FIRST, ListBasicModel, ListHistory
from chalicelib.services import history_entries, rolled_totals
from chalicelib.services.admission import Admitted, admit
from chalicelib.services.history_entries import TOO_MANY
from chalicelib.services.history_scope import Scope, scope_of
from chalicelib.services.rolled_totals import Counted
from chalicelib.store import agents, history, merchants, transactions
from chalicelib.store.table import Key, read, read_all

BUSY_DAY = 2 * PAGE_SIZE  # transactions, from which it pays to read which quarters of an hour a page is in


class HistoryQuery(Record):
    """A list that is decided and not yet read. `anytime`: a transaction found by ID is shown whatever its day."""

    client_id: int
    currency: str | None
    wanted: HistoryFilter
    period: Period
    anytime: bool
    page: int
    newest_first: bool


def by_history(body: ListHistory, caller: Caller, now: datetime) -> Page:
    """Return a page of the period, in the requested order."""
    return _list(body, caller, now)


def by_days(body: ListHistory, caller: Caller, now: datetime) -> Page:
    """Return a page of a day, filled up from the days before it; Sort orders the page, it does not choose it."""
    page = _list(body, caller, now, back_from_day=True)
    if body.list_basic_model.sort == OLDEST_FIRST:
        return replace(page, transactions=page.transactions[::-1])
    return page


def _list(body: ListHistory, caller: Caller, now: datetime, *, back_from_day: bool = False) -> Page:
    model = body.list_basic_model
    account_key = [agents.key(model.account_id)] if model.account_id is not None else []
    found_key = [transactions.key(model.id.upper())] if model.id is not None else []
    keys: list[Key[Agent] | Key[Transaction]] = [*account_key, *found_key]
    admitted = admit(caller, *keys, current_account_id=body.current_account_id)
    account = admitted.others[0] if account_key else None
    found = admitted.others[-1] if found_key else None

    scope = _scope(admitted, model, account, found)
    today = business_day(now, scope.gmt)
    days = days_up_to if back_from_day else period_of
    query = HistoryQuery(
        client_id=scope.client_id,
        currency=scope.currency,
        wanted=body.to_domain(scope.agent_id),
        period=days(body.period.first, body.period.last, today),
        anytime=body.period.first is None and body.period.last is None,
        page=max(model.page, 1),
        newest_first=back_from_day or model.sort != OLDEST_FIRST,
    )

    if model.id is not None:
        return _page_of_id(query, [found] if found and found.client_id == scope.client_id else [])
    if query.wanted.ext_id is not None:
        return _page_of_ext_id(query, query.wanted.ext_id)
    return _page_of_period(query, now)


def _scope(admitted: Admitted, model: ListBasicModel, account: Agent | None, found: Transaction | None) -> Scope:
    """Return the transactions the caller may list; a system user finds every transaction by its ID."""
    if admitted.merchant is None and model.account_id is None and model.id is not None:
        return _scope_of(found) if found else Scope(0, None, 0, None)
    return scope_of(admitted, model.account_id, account)


def _scope_of(transaction: Transaction) -> Scope:
    merchant = read(merchants.key(transaction.client_id))
    return Scope(transaction.client_id, None, transaction.gmt, merchant.currency_id if merchant else None)


def _page_of_id(query: HistoryQuery, found: Sequence[Transaction]) -> Page:
    """Return the transaction of an ID, if it matches the other filters too."""
    ext_id = query.wanted.ext_id
    return _page(query, [entry_of(one) for one in found if ext_id in (None, one.particulars.ext_id)])


def _page_of_ext_id(query: HistoryQuery, ext_id: str) -> Page:
    """Return the transactions of an ExtID: as a rule one, but it need not be unique."""
    return _page(query, history.with_ext_id(query.client_id, ext_id, query.wanted.agent_id))


def _page(query: HistoryQuery, candidates: Sequence[HistoryEntry]) -> Page:
    """Return a page of candidates that were all read: each is compared with the filter."""
    if len(candidates) > MAX_CANDIDATES:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, TOO_MANY)
    period = None if query.anytime else query.period
    matching = [one for one in candidates if query.wanted.matches(one) and is_within(period, one)]
    shown = page_of(matching, query.page, newest_first=query.newest_first)
    return Page(_read_records(shown), len(matching), amount_taken(matching, query.currency))


def _page_of_period(query: HistoryQuery, now: datetime) -> Page:
    """Return a page of a period: counted by its totals, which also locate it unless a text is searched."""
    wanted, period, client_id = query.wanted, query.period, query.client_id
    if wanted.agent_id is None:
        counted = rolled_totals.of_merchant(client_id, period, now)
    else:
        counted = rolled_totals.of_agent(client_id, wanted.agent_id, period)
    matching = [one for one in counted.day_totals if one.day in period and wanted.takes(one.counter)]
    total = sum(one.count for one in matching)
    held, skip = days_of(matching, newest_first=query.newest_first), 0

    if not wanted.by_text:
        held, skip = ranges_of_page(held, (query.page - 1) * PAGE_SIZE, PAGE_SIZE)
        held, skip = ranges_of_page(_in_quarters(query, counted, held), skip, PAGE_SIZE)
    entries = history_entries.of_ranges(client_id, wanted, held, counted.day_totals)
    if wanted.by_text:
        return _page(replace(query, anytime=True), entries)
    shown = page_of(entries, 1, newest_first=query.newest_first, skip=skip)
    return Page(_read_records(shown), total, amount_taken(matching, query.currency))


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
