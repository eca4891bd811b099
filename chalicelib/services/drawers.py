"""Drawers: the cash that an agent's drawer should hold on a day, and the counts of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from chalicelib import iso_codes
from chalicelib.domain import permissions
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.business_days import business_day
from chalicelib.domain.drawer import Cash, Count, Drawer, cash_by_agent, currency_code, day_of, next_count
from chalicelib.domain.periods import Period
from chalicelib.domain.takings import check_size, too_much
from chalicelib.domain.terminal import Terminal
from chalicelib.errors import ErrorCode, ServiceError, invalid_references, missing
from chalicelib.schemas.drawer import ListDrawers, ReportDrawer
from chalicelib.services.account_configuration import currency_taken
from chalicelib.services.caller_check import Admitted, admit
from chalicelib.services.history import Scope, scope_of
from chalicelib.services.takings import MOST_PAGES, MOST_READS, CountedPages
from chalicelib.store import agents, drawers, takings, terminals
from chalicelib.store.retries import retry_with
from chalicelib.store.table import BATCH, read, read_all


@dataclass(frozen=True)
class Reported:
    """Drawers of a day, and the zone of their merchant in hours."""

    drawers: Sequence[Drawer]
    gmt: int


def report(body: ReportDrawer, caller: Caller, now: datetime) -> Reported:
    """Return a drawer. With a float or a count, store it first.

    The latest count supplies an absent float or count, and must still be the latest when the next one is stored. So of
    two requests at once, the second decides again.
    """
    named = [agents.key(one) for one in (body.agent_id, body.account_id) if one is not None]
    admitted = admit(caller, *named, current_account_id=body.current_account_id)
    scope, agent = _named(body, admitted)
    permissions.check_can_use_drawer(admitted.agent, scope.client_id, agent.id)
    day = day_of(body.day, business_day(now, scope.gmt))

    key = drawers.key(scope.client_id, day, agent.id)
    terminal_key = [] if agent.terminal_id is None else [terminals.key(agent.terminal_id)]
    latest, *found = read_all([key, *terminal_key])
    cash = _cash_of(scope.client_id, day).get(agent.id)

    def attempt(latest: Count | None) -> Drawer:
        drawer = _drawer(scope, day, (agent, found[0] if found else None), cash, latest)
        if body.is_reading:
            return drawer
        if drawer.currency is None:
            raise ServiceError(ErrorCode.NO_USABLE_TERMINAL)
        new = next_count(drawer, drawer.currency, body.to_domain(), caller.agent_id, now)
        drawers.put(new, day, body.entered)
        return replace(drawer, latest=new)

    return Reported([retry_with(latest, attempt, lambda: read(key))], scope.gmt)


def list_of_day(body: ListDrawers, caller: Caller, now: datetime) -> Reported:
    """Return the drawers of the agents that took or gave back cash on a day, and of those with a count.

    Raise PERIOD_TOO_LONG for more drawers than one answer holds.
    """
    account_key = [agents.key(body.account_id)] if body.account_id is not None else []
    admitted = admit(caller, *account_key, current_account_id=body.current_account_id)
    scope = scope_of(admitted, body.account_id)
    permissions.check_can_manage(admitted.agent, scope.client_id)
    day = day_of(body.day, business_day(now, scope.gmt))

    cash = _cash_of(scope.client_id, day)
    latest = {one.agent_id: one for one in drawers.latest_of_day(scope.client_id, day)}
    ids = sorted(latest.keys() | {agent_id for agent_id, one in cash.items() if one.own})
    listed = [_drawer(scope, day, one, cash.get(one[0].id), latest.get(one[0].id)) for one in _read_agents(ids)]
    check_size(text for one in listed for text in (one.agent_name, one.latest.note if one.latest else None))
    return Reported(listed, scope.gmt)


def _named(body: ReportDrawer, admitted: Admitted) -> tuple[Scope, Agent]:
    """Return the merchant and the agent of a drawer: AgentID's, else AccountID's, else the caller's.

    Raise AGENT_NOT_FOUND when AgentID and AccountID are of two merchants.
    """
    named = [(name, one) for name in ("agent_id", "account_id") if (one := getattr(body, name)) is not None]
    if not named:
        body.check_readable()
        return scope_of(admitted, None), admitted.agent
    (scope, agent), (other, _) = (_account(admitted, *one) for one in (named[0], named[-1]))
    if scope.client_id != other.client_id:
        raise invalid_references(missing("agent_id", ErrorCode.AGENT_NOT_FOUND))
    return scope, agent


def _account(admitted: Admitted, field: str, agent_id: int) -> tuple[Scope, Agent]:
    """Return the agent that a field of the request names, and its scope."""
    agent = admitted.read(agents.key(agent_id))
    try:
        scope = scope_of(admitted, agent_id)
    except ServiceError as refusal:
        if refusal.error is not ErrorCode.AGENT_NOT_FOUND:
            raise
        agent = None
    if agent is None:
        raise invalid_references(missing(field, ErrorCode.AGENT_NOT_FOUND))
    return scope, agent


def _cash_of(client_id: int, day: date) -> Mapping[int, Cash]:
    """Return the cash of a day by agent. Raise PERIOD_TOO_LONG for more counters than a few store calls read."""
    return cash_by_agent(CountedPages(takings.by_hour(client_id, Period(day, day), None), MOST_PAGES))


def _read_agents(ids: Sequence[int]) -> list[tuple[Agent, Terminal | None]]:
    """Return agents with their terminals. Raise PERIOD_TOO_LONG for more than a few store calls read."""
    if 2 * len(ids) > MOST_READS * BATCH:
        raise too_much()
    found = [one for one in read_all([agents.key(one) for one in ids], for_list=True) if one is not None]
    used = sorted({one.terminal_id for one in found if one.terminal_id is not None})
    terminal_of = dict(zip(used, read_all([terminals.key(one) for one in used], for_list=True), strict=True))
    return [(one, terminal_of.get(one.terminal_id)) for one in found]


def _drawer(
    scope: Scope, day: date, agent_at: tuple[Agent, Terminal | None], cash: Cash | None, latest: Count | None
) -> Drawer:
    agent, terminal = agent_at
    taken, cash = currency_taken(agent, terminal, scope.currency), cash or Cash()
    code = currency_code(taken.code if taken else None, cash)
    return Drawer(
        client_id=scope.client_id,
        day=day,
        agent_id=agent.id,
        agent_name=agent.name,
        currency=latest.currency if latest else iso_codes.currency(code or ""),
        cash=cash,
        latest=latest,
    )
