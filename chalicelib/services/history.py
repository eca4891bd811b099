"""History: exact counts, and any page of payments and reversals, at a cost that does not grow with their number.

Totals of closed days come from stored monthly totals ("rolled up"), totals of open days from their slots. When the
stored totals are missing or stale, the request counts them from the agents' totals and stores them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial

from chalicelib.domain import permissions
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.business_days import (
    Period,
    business_day,
    days_of_month,
    days_up_to,
    last_closed_day,
    last_open_day,
    period_of,
)
from chalicelib.domain.history import (
    MAX_CANDIDATES,
    PAGE_SIZE,
    DayTotal,
    HistoryEntry,
    HistoryFilter,
    Page,
    TimeRange,
    amount_taken,
    days_of,
    entries_of_page,
    entry_of,
    is_within,
    quarters_of,
    ranges_of_page,
)
from chalicelib.domain.totals import DaySlots, RolledMonth, RolledSlots, of_all_agents, slots_of_all_agents
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid
from chalicelib.log import log
from chalicelib.record import Record
from chalicelib.schemas.history import OLDEST_FIRST, ListBasicModel, ListHistory
from chalicelib.services.admission import Admitted, admit
from chalicelib.store import agents, history, merchants, totals, transactions
from chalicelib.store import totals as totals_store
from chalicelib.store.history import Stretch
from chalicelib.store.table import Key, read, read_all
from chalicelib.store.totals import StoredMonth


class Counted(Record):
    """The totals of the days in a period, and a function that reads the slots of a day."""

    day_totals: Sequence[DayTotal]
    slots_of: Callable[[date], Sequence[DaySlots]]


class _Month(Record):
    """The totals of a month, its new rolled-up totals if any, and the slots of its open days if they were read."""

    day_totals: Sequence[DayTotal]
    made: RolledMonth | None = None
    slots: Sequence[DaySlots] = ()


def totals_of_agent(client_id: int, agent_id: int, period: Period) -> Counted:
    """Read the totals of one agent, with one query per month."""
    months = [totals.of_month(client_id, month, agent_id) for month in period.months]
    day_totals = [one for of_one in months for one in of_one]
    return Counted(day_totals, lambda day: totals.slots_of(client_id, day, agent_id))


def totals_of_merchant(client_id: int, period: Period, now: datetime) -> Counted:
    """Read the totals of all agents: a query per year, one for the open days, and more for stale months."""
    begun = Period(period.first, min(period.last, last_open_day(now)))
    names = begun.months if begun.first <= begun.last else []
    stored = totals.of_months(client_id, names)
    months = [_month(client_id, begun.within(name), stored[name], now) for name in names]
    if made := [month.made for month in months if month.made]:
        _store_if_possible(partial(totals.store_months, client_id, made))
    slots = [one for month in months for one in month.slots]
    day_totals = [one for month in months for one in month.day_totals]
    return Counted(day_totals, partial(_slots_of_day, client_id, slots, stored, now))


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
    """Return whether the rolled-up totals cover the days until this one and are not stale."""
    rolled = stored.rolled
    return rolled is not None and rolled.version == stored.version and rolled.through >= through


def _slots_of_day(
    client_id: int, read: Sequence[DaySlots], stored: Mapping[str, StoredMonth], now: datetime, day: date
) -> Sequence[DaySlots]:
    """Return the slots of a day: already read, rolled up, or counted from the agents' slots."""
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
    """Store rolled-up totals. A failure is only logged: the list is correct without them, and the next list retries."""
    try:
        store()
    except ServiceError as outage:
        log("rolled_totals_not_stored", error_code=outage.error.code)


TOO_MANY = f"More than {MAX_CANDIDATES} operations would have to be looked at: narrow the period."


def of_ranges(
    client_id: int, wanted: HistoryFilter, held: Sequence[TimeRange], day_totals: Sequence[DayTotal]
) -> list[HistoryEntry]:
    """List the matching entries between the first and the last of these time ranges.

    `day_totals` hold the totals of all kinds. Raise PERIOD_TOO_LONG when a filter must read too many entries.
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
    """List the agents with transactions of the kind; raise PERIOD_TOO_LONG when those agents have too many."""
    if wanted.agent_id is not None or not wanted.by_kind:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, TOO_MANY)
    of_months = [one for month in days.months for one in totals_store.of_month(client_id, month, None)]
    inside = [one for one in of_months if one.day in days]
    agent_ids = {one.counter.agent_id for one in inside if wanted.takes(one.counter)}
    if sum(one.count for one in inside if one.counter.agent_id in agent_ids) > MAX_CANDIDATES:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, TOO_MANY)
    return list(agent_ids)


class Scope(Record):
    """The transactions a caller may list: those of a merchant or of one agent (`agent_id`), in the merchant's zone."""

    client_id: int
    agent_id: int | None
    gmt: int
    currency: str | None  # the merchant's


def scope_of(admitted: Admitted, account_id: int | None, account: Agent | None) -> Scope:
    """Return the transactions that the caller may list, for the account that it names (None: no account).

    Raise AGENT_NOT_FOUND for a missing account (None with an ID), as for another merchant's. A system user must name
    one.
    """
    if account_id is not None and account is None:
        raise ServiceError(ErrorCode.AGENT_NOT_FOUND)
    if admitted.merchant is not None:
        own = admitted.merchant
        return Scope(*permissions.history_scope(admitted.agent, account), own.gmt, own.currency_id)
    if account is None:
        message = "A system user names the merchant through one of its accounts."
        raise invalid(Finding("account_id", Check.REQUIRED, message))
    client_id, agent_id = permissions.history_scope(admitted.agent, account)
    merchant = read(merchants.key(client_id))
    if merchant is None:
        raise ServiceError(ErrorCode.AGENT_NOT_FOUND)
    return Scope(client_id, agent_id, merchant.gmt, merchant.currency_id)


ChoosePeriod = Callable[[date | None, date | None, date], Period]


class HistoryQuery(Record):
    """A checked request for a list, not yet read. `anytime`: show a transaction found by ID, on any day."""

    client_id: int
    currency: str | None
    wanted: HistoryFilter
    period: Period
    anytime: bool
    page: int
    newest_first: bool
    gmt: int  # the merchant's zone
    found: Transaction | None = None  # the transaction with the wanted ID


def decide(body: ListHistory, caller: Caller, now: datetime, days: ChoosePeriod = period_of) -> HistoryQuery:
    """Check the request and return its query. `days` makes the period from the two days of the request."""
    model = body.list_basic_model
    account_key = [agents.key(model.account_id)] if model.account_id is not None else []
    found_key = [transactions.key(model.id.upper())] if model.id is not None else []
    keys: list[Key[Agent] | Key[Transaction]] = [*account_key, *found_key]
    admitted = admit(caller, *keys, current_account_id=body.current_account_id)
    account = admitted.others[0] if account_key else None
    found = admitted.others[-1] if found_key else None

    scope = _scope(admitted, model, account, found)
    return HistoryQuery(
        client_id=scope.client_id,
        currency=scope.currency,
        wanted=body.to_domain(scope.agent_id),
        period=days(body.period.first, body.period.last, business_day(now, scope.gmt)),
        anytime=body.period.first is None and body.period.last is None,
        page=max(model.page, 1),
        newest_first=model.sort != OLDEST_FIRST,
        gmt=scope.gmt,
        found=found if found and found.client_id == scope.client_id else None,
    )


def counted_by_totals(query: HistoryQuery, now: datetime) -> Counted:
    """Read the totals of the query's period, for its agent or for all agents."""
    if query.wanted.agent_id is None:
        return totals_of_merchant(query.client_id, query.period, now)
    return totals_of_agent(query.client_id, query.wanted.agent_id, query.period)


def found_by_key(query: HistoryQuery) -> list[HistoryEntry] | None:
    """Return the matching entries of an ID or an ExtID; None when the query has neither."""
    wanted = query.wanted
    if wanted.id is not None:
        found = [query.found] if query.found else []
        entries = [entry_of(one) for one in found if wanted.ext_id in (None, one.particulars.ext_id)]
    elif wanted.ext_id is not None:
        entries = history.with_ext_id(query.client_id, wanted.ext_id, wanted.agent_id)
    else:
        return None
    return matching(query, entries)


def matching(query: HistoryQuery, candidates: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """Return the matching entries of `candidates`; raise PERIOD_TOO_LONG for more candidates than a list may read."""
    if len(candidates) > MAX_CANDIDATES:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, TOO_MANY)
    period = None if query.anytime else query.period
    return [one for one in candidates if query.wanted.matches(one) and is_within(period, one)]


def _scope(admitted: Admitted, model: ListBasicModel, account: Agent | None, found: Transaction | None) -> Scope:
    """Return the transactions the caller may list. A system user finds every transaction by its ID."""
    if admitted.merchant is None and model.account_id is None and model.id is not None:
        return _scope_of(found) if found else Scope(0, None, 0, None)
    return scope_of(admitted, model.account_id, account)


def _scope_of(transaction: Transaction) -> Scope:
    merchant = read(merchants.key(transaction.client_id))
    return Scope(transaction.client_id, None, transaction.gmt, merchant.currency_id if merchant else None)


BUSY_DAY = 2 * PAGE_SIZE  # transactions: a busier day is read by quarters of an hour


def by_history(body: ListHistory, caller: Caller, now: datetime) -> Page:
    """Return a page of the period, in the requested order."""
    return _list(decide(body, caller, now), now)


def by_days(body: ListHistory, caller: Caller, now: datetime) -> Page:
    """Return a page of a day and the days before it. Sort only orders the page; the newest are always on page 1."""
    query = decide(body, caller, now, days_up_to)
    page = _list(replace(query, newest_first=True), now)
    if body.list_basic_model.sort == OLDEST_FIRST:
        return replace(page, transactions=page.transactions[::-1])
    return page


def _list(query: HistoryQuery, now: datetime) -> Page:
    found = found_by_key(query)
    return _page_of_period(query, now) if found is None else _page(query, found)


def _page(query: HistoryQuery, matching: Sequence[HistoryEntry]) -> Page:
    """Return a page of the matching entries."""
    shown = entries_of_page(matching, query.page, newest_first=query.newest_first)
    return Page(_read_records(shown), len(matching), amount_taken(matching, query.currency))


def _page_of_period(query: HistoryQuery, now: datetime) -> Page:
    """Return a page of a period. Its totals give the count, and the page's place unless the query searches a text."""
    wanted, period, client_id = query.wanted, query.period, query.client_id
    counted = counted_by_totals(query, now)
    fitting = [one for one in counted.day_totals if one.day in period and wanted.takes(one.counter)]
    total = sum(one.count for one in fitting)
    held, skip = days_of(fitting, newest_first=query.newest_first), 0

    if not wanted.by_text:
        held, skip = ranges_of_page(held, (query.page - 1) * PAGE_SIZE, PAGE_SIZE)
        held, skip = ranges_of_page(_in_quarters(query, counted, held), skip, PAGE_SIZE)
    entries = of_ranges(client_id, wanted, held, counted.day_totals)
    if wanted.by_text:
        return _page(query, matching(query, entries))
    shown = entries_of_page(entries, 1, newest_first=query.newest_first, skip=skip)
    return Page(_read_records(shown), total, amount_taken(fitting, query.currency))


def _in_quarters(query: HistoryQuery, counted: Counted, days: Sequence[TimeRange]) -> list[TimeRange]:
    """Return the days; a busy first or last day is split into quarters of an hour."""
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
