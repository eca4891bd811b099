"""The subject of a list of payments and reversals: whose they are, which of them, in which period and order."""

from collections.abc import Callable, Sequence
from datetime import date, datetime

from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.history import MAX_CANDIDATES, HistoryEntry, entry_of, is_within
from chalicelib.domain.history_filter import HistoryFilter
from chalicelib.domain.period import Period, business_day, period_of
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.record import Record
from chalicelib.schemas.history import OLDEST_FIRST, ListBasicModel, ListHistory
from chalicelib.services import rolled_totals
from chalicelib.services.admission import Admitted, admit
from chalicelib.services.history_entries import TOO_MANY
from chalicelib.services.history_scope import Scope, scope_of
from chalicelib.services.rolled_totals import Counted
from chalicelib.store import agents, history, merchants, transactions
from chalicelib.store.table import Key, read

ChoosePeriod = Callable[[date | None, date | None, date], Period]


class HistoryQuery(Record):
    """A list that is decided and not yet read. `anytime`: a transaction found by ID is shown whatever its day."""

    client_id: int
    currency: str | None
    wanted: HistoryFilter
    period: Period
    anytime: bool
    page: int
    newest_first: bool
    found: Transaction | None = None  # by ID


def decide(body: ListHistory, caller: Caller, now: datetime, days: ChoosePeriod = period_of) -> HistoryQuery:
    """Return what a request lists, if the caller may; `days` is the period that its two days stand for."""
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
        found=found if found and found.client_id == scope.client_id else None,
    )


def counted(query: HistoryQuery, now: datetime) -> Counted:
    """Read the totals of its period: of its agent, or of all."""
    if query.wanted.agent_id is None:
        return rolled_totals.of_merchant(query.client_id, query.period, now)
    return rolled_totals.of_agent(query.client_id, query.wanted.agent_id, query.period)


def found_by_key(query: HistoryQuery) -> list[HistoryEntry] | None:
    """Return what matches among the entries of an ID or an ExtID; None when neither is asked for."""
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
    """Return what matches among candidates that were all read; raise PERIOD_TOO_LONG for more than a list looks at."""
    if len(candidates) > MAX_CANDIDATES:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, TOO_MANY)
    period = None if query.anytime else query.period
    return [one for one in candidates if query.wanted.matches(one) and is_within(period, one)]


def _scope(admitted: Admitted, model: ListBasicModel, account: Agent | None, found: Transaction | None) -> Scope:
    """Return the transactions the caller may list; a system user finds every transaction by its ID."""
    if admitted.merchant is None and model.account_id is None and model.id is not None:
        return _scope_of(found) if found else Scope(0, None, 0, None)
    return scope_of(admitted, model.account_id, account)


def _scope_of(transaction: Transaction) -> Scope:
    merchant = read(merchants.key(transaction.client_id))
    return Scope(transaction.client_id, None, transaction.gmt, merchant.currency_id if merchant else None)
