"""History: exact counts, and any page of payments and reversals, at a cost that does not grow with their number."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import chain, islice

from chalicelib.domain import paging, permissions
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.business_days import business_day
from chalicelib.domain.history_entry import HistoryEntry, entry_of
from chalicelib.domain.history_filter import HistoryFilter
from chalicelib.domain.history_page import (
    MAX_CANDIDATES,
    MAX_OF_ALL_KINDS,
    DayCount,
    TimeRange,
    amount_taken,
    days_of,
    entries_of_page,
    place_in_days,
    place_in_hours,
)
from chalicelib.domain.paging import Page
from chalicelib.domain.periods import Period, days_up_to, period_of
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid
from chalicelib.schemas.history import OLDEST_FIRST, ListBasicModel, ListHistory
from chalicelib.services.caller_check import Admitted, admit
from chalicelib.store import agents, history_lists, merchants, transactions
from chalicelib.store.history_lists import Stretch
from chalicelib.store.table import Key, read


@dataclass(frozen=True)
class Scope:
    """The transactions a caller may list: those of a merchant or of one agent (`agent_id`), in the merchant's zone."""

    client_id: int
    agent_id: int | None
    gmt: int
    currency: str | None  # the merchant's


def scope_of(admitted: Admitted, account_id: int | None) -> Scope:
    """Return the transactions that the caller may list, for the account that it names (None: no account).

    Raise AGENT_NOT_FOUND for a missing account, as for another merchant's. A system user must name one.
    """
    account = None if account_id is None else admitted.read(agents.key(account_id))
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


@dataclass(frozen=True)
class HistoryQuery:
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
    found = admitted.read(found_key[0]) if found_key else None

    if admitted.merchant is None and model.account_id is None:
        body.check_readable()  # a system user may name the transaction instead of an account
    scope = _scope(admitted, model, found)
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


def found_by_key(query: HistoryQuery) -> list[HistoryEntry] | None:
    """Return the matching entries of an ID or an ExtID, or the late sales; None when the query has none of these."""
    wanted = query.wanted
    if wanted.id is not None:
        found = [query.found] if query.found else []
        entries = [entry_of(one) for one in found if wanted.ext_id in (None, one.particulars.ext_id)]
    elif wanted.ext_id is not None:
        entries = history_lists.with_ext_id(query.client_id, wanted.ext_id, wanted.agent_id)
    elif wanted.late:
        pages = history_lists.late_pages(query.client_id, query.period)
        return matching(query, list(islice(chain.from_iterable(pages), MAX_CANDIDATES + 1)))
    else:
        return None
    if wanted.late:
        entries = [one.as_received for one in entries if one.is_late]
    return matching(query, entries)


def matching(query: HistoryQuery, candidates: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """Return the matching entries of `candidates`; raise PERIOD_TOO_LONG for more candidates than a list may read."""
    if len(candidates) > MAX_CANDIDATES:
        raise _too_many(MAX_CANDIDATES)
    in_period = (one for one in candidates if query.anytime or one.at.date() in query.period)
    return [one for one in in_period if query.wanted.matches(one)]


def _scope(admitted: Admitted, model: ListBasicModel, found: Transaction | None) -> Scope:
    """Return the transactions the caller may list. A system user finds every transaction by its ID."""
    if admitted.merchant is None and model.account_id is None and model.id is not None:
        return _scope_of(found) if found else Scope(0, None, 0, None)
    return scope_of(admitted, model.account_id)


def _scope_of(transaction: Transaction) -> Scope:
    merchant = read(merchants.key(transaction.client_id))
    return Scope(transaction.client_id, None, transaction.gmt, merchant.currency_id if merchant else None)


def counts_of(query: HistoryQuery) -> list[DayCount]:
    """Read the counts of the days in the query's period, of its agent or of all agents, with a query per month."""
    months = query.period.months
    found = (history_lists.day_counts(query.client_id, month, query.wanted.agent_id) for month in months)
    return [one for counts in found for one in counts if one.day in query.period]


def by_history(body: ListHistory, caller: Caller, now: datetime) -> Page:
    """Return a page of the period, in the requested order."""
    return _list(decide(body, caller, now))


def by_days(body: ListHistory, caller: Caller, now: datetime) -> Page:
    """Return a page of a day and the days before it. Sort only orders the page; the newest are always on page 1."""
    query = decide(body, caller, now, days_up_to)
    page = _list(replace(query, newest_first=True))
    if body.list_basic_model.sort == OLDEST_FIRST:
        return replace(page, transactions=page.transactions[::-1])
    return page


def _list(query: HistoryQuery) -> Page:
    found = found_by_key(query)
    return _page_of_period(query) if found is None else _page(query, found)


def _page(query: HistoryQuery, matching: Sequence[HistoryEntry]) -> Page:
    """Return a page of the matching entries."""
    shown = entries_of_page(matching, query.page, newest_first=query.newest_first)
    return Page(_read_records(shown), len(matching), amount_taken(matching, query.currency))


def _page_of_period(query: HistoryQuery) -> Page:
    """Return a page of a period. Its counters give the count, and the page's place unless the query searches a text."""
    wanted, newest_first = query.wanted, query.newest_first
    counts = counts_of(query)
    fitting = [one for one in counts if wanted.takes(one.counter)]
    days = days_of(fitting, newest_first=newest_first)
    if wanted.by_text:
        return _page(query, matching(query, _entries_in(query, days, counts)))

    place = place_in_days(days, query.page)
    hours = {day: _hours_of(query, day) for day in place.busy_days}
    place = place_in_hours(place, hours, newest_first=newest_first)
    entries = _entries_in(query, place.ranges, counts, place.skip + paging.PAGE_SIZE)
    shown = entries_of_page(entries, 1, newest_first=newest_first, skip=place.skip)
    return Page(_read_records(shown), sum(one.count for one in fitting), amount_taken(fitting, query.currency))


def _hours_of(query: HistoryQuery, day: date) -> Mapping[int, int]:
    """Read the numbers of the query's transactions in the hours of a day."""
    added = Counter[int]()
    for counter, counts in history_lists.hour_counts(query.client_id, day, query.wanted.agent_id):
        if query.wanted.takes(counter):
            added.update(counts)
    return added


def _read_records(entries: Sequence[HistoryEntry]) -> list[Transaction]:
    records = transactions.list_by_ids(entry.id for entry in entries)
    return [record for record in records if record is not None]


def _entries_in(
    query: HistoryQuery, held: Sequence[TimeRange], counts: Sequence[DayCount], first: int | None = None
) -> list[HistoryEntry]:
    """List the matching entries between the first and the last of these time ranges; with `first`, so many at least.

    `counts` hold the days of all kinds. Raise PERIOD_TOO_LONG when a filter must read too many entries.
    """
    if not held:
        return []
    wanted = query.wanted
    begin, end = min(one.begin for one in held), max(one.end for one in held)
    days = Period(begin.date(), (end - timedelta(microseconds=1)).date())
    inside = [one for one in counts if one.day in days]
    most = MAX_CANDIDATES if wanted.by_text else MAX_OF_ALL_KINDS
    too_many = sum(one.count for one in inside) > most and (wanted.by_text or wanted.by_kind)
    agent_ids = _agents_of_kind(wanted, inside, most) if too_many else [wanted.agent_id]
    stretches = [Stretch(query.client_id, agent_id, begin, end) for agent_id in agent_ids]
    read = (history_lists.between(one, wanted, newest_first=query.newest_first) for one in stretches)
    return [entry for entries in read for entry in islice(entries, first)]


def _agents_of_kind(wanted: HistoryFilter, inside: Sequence[DayCount], most: int) -> Sequence[int]:
    """List the agents with transactions of the kind; raise PERIOD_TOO_LONG when those agents have too many."""
    agent_ids = {one.counter.agent_id for one in inside if wanted.takes(one.counter)}
    if sum(one.count for one in inside if one.counter.agent_id in agent_ids) > most:
        raise _too_many(most)
    return list(agent_ids)


def _too_many(most: int) -> ServiceError:
    message = f"More than {most:,} operations would have to be looked at: narrow the period."
    return ServiceError(ErrorCode.PERIOD_TOO_LONG, message)
