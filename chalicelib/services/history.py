"""Listing what was paid and given back: exact counts, and any page of them, at a cost that does not grow with them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain

from chalicelib.domain import permissions
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.history import (
    MAX_CANDIDATES,
    PAGE_SIZE,
    HistoryEntry,
    HistoryFilter,
    Page,
    Stretch,
    Tally,
    amount_of,
    days_of,
    entry_of,
    is_within,
    locate,
    page_of,
    quarters_of,
)
from chalicelib.domain.period import Period, business_day, days_up_to, period_of
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid
from chalicelib.schemas.history import OLDEST_FIRST, ListBasicModel, ListHistory
from chalicelib.services.admission import Admitted, admit
from chalicelib.store import agents, history, merchants, totals, transactions
from chalicelib.store.table import Key, read, read_all

BUSY = 2 * PAGE_SIZE  # transactions of a day that make it worth asking which quarters of an hour a page is in
TOO_MANY = f"More than {MAX_CANDIDATES} operations would have to be looked at: narrow the period."


@dataclass(frozen=True)
class Scope:
    """Whose transactions are listed: a merchant's, of one agent or (None) of all; and the merchant's zone."""

    client_id: int
    agent_id: int | None
    gmt: int


@dataclass(frozen=True)
class HistoryQuery:
    """A list with everything decided but the answer. `anytime`: what an ID leads to is shown whenever it was."""

    client_id: int
    wanted: HistoryFilter
    period: Period
    anytime: bool
    page: int
    newest_first: bool


def by_history(body: ListHistory, caller: Caller, now: datetime) -> Page:
    """Return a page of the period, in the requested order."""
    return _listed(body, caller, now)


def by_days(body: ListHistory, caller: Caller, now: datetime) -> Page:
    """Return a page of a day, filled up from the days before it; Sort orders the page, it does not choose it."""
    page = _listed(body, caller, now, back_from_day=True)
    if body.list_basic_model.sort == OLDEST_FIRST:
        return replace(page, transactions=page.transactions[::-1])
    return page


def _listed(body: ListHistory, caller: Caller, now: datetime, *, back_from_day: bool = False) -> Page:
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
    question = HistoryQuery(
        client_id=scope.client_id,
        wanted=body.to_domain(scope.agent_id),
        period=days(body.period.first, body.period.last, today),
        anytime=body.period.first is None and body.period.last is None,
        page=max(model.page, 1),
        newest_first=back_from_day or model.sort != OLDEST_FIRST,
    )

    if model.id is not None:
        return _looked_up(question, [found] if found and found.client_id == scope.client_id else [])
    if question.wanted.ext_id is not None:
        return _with_ext_id(question, question.wanted.ext_id)
    return _counted(question)


def _scope(admitted: Admitted, model: ListBasicModel, account: Agent | None, found: Transaction | None) -> Scope:
    """Return the transactions the caller may list; an account that does not exist is answered as a foreign one."""
    if model.account_id is not None and account is None:
        raise ServiceError(ErrorCode.AGENT_NOT_FOUND)
    if admitted.merchant is not None:
        return Scope(*permissions.history_scope(admitted.agent, account), admitted.merchant.gmt)
    if account is None and model.id is not None:  # a system user sees every transaction
        return Scope(found.client_id, None, found.gmt) if found else Scope(0, None, 0)
    if account is None:
        message = "A system user names the merchant through one of its accounts."
        raise invalid(Finding("account_id", Check.REQUIRED, message))
    client_id, agent_id = permissions.history_scope(admitted.agent, account)
    merchant = read(merchants.key(client_id))
    if merchant is None:
        raise ServiceError(ErrorCode.AGENT_NOT_FOUND)
    return Scope(client_id, agent_id, merchant.gmt)


def _looked_up(question: HistoryQuery, found: Sequence[Transaction]) -> Page:
    """Return the transaction of an ID, if it matches the other filters too."""
    ext_id = question.wanted.ext_id
    return _page(question, [entry_of(one) for one in found if ext_id in (None, one.particulars.ext_id)])


def _with_ext_id(question: HistoryQuery, ext_id: str) -> Page:
    """Return the transactions of an ExtID: as a rule one, but it need not be unique."""
    return _page(question, history.with_ext_id(question.client_id, ext_id, question.wanted.agent_id))


def _page(question: HistoryQuery, candidates: Sequence[HistoryEntry]) -> Page:
    """Return a page of candidates that were all read: each is compared with the filter."""
    if len(candidates) > MAX_CANDIDATES:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, TOO_MANY)
    period = None if question.anytime else question.period
    matching = [one for one in candidates if question.wanted.matches(one) and is_within(period, one)]
    shown = page_of(matching, question.page, newest_first=question.newest_first)
    return Page(_in_full(shown), len(matching), amount_of(matching))


def _counted(question: HistoryQuery) -> Page:
    """Return a page of a period: counted by its totals, which also locate it unless a text is searched."""
    wanted, period = question.wanted, question.period
    months = (totals.of_month(question.client_id, month, wanted.agent_id) for month in period.months)
    tallies = list(chain.from_iterable(months))
    matching = [tally for tally in tallies if tally.day in period and wanted.takes(tally.stream)]
    total = sum(tally.count for tally in matching)
    days = days_of(matching, newest_first=question.newest_first)

    if wanted.by_text:
        return _page(replace(question, anytime=True), _entries(question, tallies, days))
    held, skip = locate(days, (question.page - 1) * PAGE_SIZE, PAGE_SIZE)
    held, skip = locate(_finer(question, held), skip, PAGE_SIZE)
    entries = page_of(_entries(question, tallies, held), 1, newest_first=question.newest_first, skip=skip)
    return Page(_in_full(entries), total, amount_of(matching))


def _finer(question: HistoryQuery, days: Sequence[Stretch]) -> list[Stretch]:
    """Return the days, the first and the last in quarters of an hour if they are busy."""
    finer: list[Stretch] = []
    for number, day in enumerate(days):
        if day.count > BUSY and number in {0, len(days) - 1}:
            slots = totals.slots_of(question.client_id, day.begin.date(), question.wanted.agent_id)
            fitting = [numbers for stream, numbers in slots if question.wanted.takes(stream)]
            finer += quarters_of(day, fitting, newest_first=question.newest_first)
        else:
            finer.append(day)
    return finer


def _entries(question: HistoryQuery, tallies: Sequence[Tally], held: Sequence[Stretch]) -> list[HistoryEntry]:
    """Return the matching entries of these ranges, of the agents and months that have any."""
    if not held:
        return []
    begin, end = min(one.begin for one in held), max(one.end for one in held)
    inside = [tally for tally in tallies if begin.date() <= tally.day <= (end - timedelta(microseconds=1)).date()]
    fitting = {tally.stream.agent_id for tally in inside if question.wanted.takes(tally.stream)}
    looked_at = [tally for tally in inside if tally.stream.agent_id in fitting]
    wanted = question.wanted
    if (wanted.by_text or wanted.by_kind) and sum(tally.count for tally in looked_at) > MAX_CANDIDATES:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, TOO_MANY)
    places = _places(question, tallies, {(tally.month, tally.stream.agent_id) for tally in looked_at})
    return [entry for place in places for entry in history.between(place, begin, end, wanted)]


def _places(
    question: HistoryQuery, tallies: Sequence[Tally], active: set[tuple[str, int]]
) -> set[history.MonthEntries]:
    """Return the partitions to read: each active agent of a month, or a quiet month as a whole."""
    sizes = Counter[str]()
    for tally in tallies:
        sizes[tally.month] += tally.count
    whole = {month for month, size in sizes.items() if size <= BUSY and question.wanted.agent_id is None}
    return {
        history.MonthEntries(question.client_id, month, None if month in whole else agent) for month, agent in active
    }


def _in_full(entries: Sequence[HistoryEntry]) -> list[Transaction]:
    records: list[Transaction | None] = read_all([transactions.key(entry.id) for entry in entries])
    return [record for record in records if record is not None]
