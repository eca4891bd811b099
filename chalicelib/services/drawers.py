"""Drawers: open, count and read one, pay cash in and out, and list those of a period.

Cash is counted in the write of a sale, and what opens or closes a drawer requires the cash that was read. So each sale
is in one drawer, or in none.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial, reduce
from typing import Any, TypeVar

from chalicelib.domain import cash, permissions
from chalicelib.domain.agent import NO_CLIENT, Agent, Caller
from chalicelib.domain.business_days import business_day, start_of
from chalicelib.domain.cash import Cash
from chalicelib.domain.drawer import (
    CLOSE,
    NOTE,
    OPEN,
    Drawer,
    LatestDrawer,
    Shown,
    closed,
    fitted,
    number_of_day,
    outside_of_drawers,
    require_open,
    shown,
    with_movement,
)
from chalicelib.domain.money import Currency
from chalicelib.domain.periods import Period, period_of
from chalicelib.domain.takings import too_much
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid, invalid_references, missing
from chalicelib.gateways.ids import derived_guid, new_guid_of
from chalicelib.gateways.secrets import pseudonym
from chalicelib.schemas.drawer import ListDrawers, ReportDrawer
from chalicelib.services.account_configuration import currency_taken
from chalicelib.services.caller_check import Admitted, admit
from chalicelib.services.history import Scope, scope_of
from chalicelib.services.takings import MOST_PAGES, MOST_READS
from chalicelib.store import agents, drawers, receipt_numbers, terminals
from chalicelib.store.audit import Act
from chalicelib.store.drawers import DrawerRequest
from chalicelib.store.receipt_numbers import MonthNumbers
from chalicelib.store.retries import ChangedMeanwhileError, retry_on_change, retry_with
from chalicelib.store.table import BATCH, AlreadyExistsError, Key, Write, read, read_all

R = TypeVar("R")


@dataclass(frozen=True)
class Reported:
    """Drawers as they are answered, and the zone of their merchant in hours.

    `earlier` were opened before the period of a list. `replayed`: an earlier request with the same key was carried out.
    """

    rows: Sequence[Shown]
    gmt: int
    replayed: bool = False
    earlier: Sequence[Shown] = ()


@dataclass(frozen=True)
class Named:
    """The merchant and the agent of a request, the drawer that it names, if any, and whether its caller is blind."""

    scope: Scope
    agent: Agent
    drawer: Drawer | None
    is_blind: bool = False


@dataclass(frozen=True)
class Found:
    """An agent's latest drawer, the agent's cash by month, and the drawer of the request."""

    latest: LatestDrawer | None
    months: drawers.Months
    drawer: Drawer | None

    @property
    def cash(self) -> Cash:
        """Return the cash of all months."""
        return _sum_of(self.months.values())


def report(body: ReportDrawer, caller: Caller, now: datetime, *, key: str | None = None) -> Reported:
    """Return a drawer, after the action of the request if it has one. `key` is the Idempotency-Key header.

    Raise DRAWER_OPEN or NO_OPEN_DRAWER when the action needs another state, and ID_REUSED when the key was used with
    other content.
    """
    own = drawers.request_key(derived_guid("drawer", caller.agent_id, key)) if key else None
    admitted = admit(caller, *_keys(body, caller), *([own] if own else []), current_account_id=body.current_account_id)
    named = _named(body, admitted)
    body.check_readable()
    digest = pseudonym("drawer", _content(body, named)) if own else ""
    if own and (first := admitted.read(own)):
        return _replay(first, digest, named, now)

    found = _found(named, now, admitted.read(drawers.latest_key(named.scope.client_id, named.agent.id)))
    if body.action is None:
        return _reported(named, found)
    act = _act if body.action != OPEN else partial(_open, currency=_currency(admitted, named))

    def attempt(found: Found) -> Found:
        def also(drawer: Drawer) -> list[Write]:
            once = [drawers.put_request(own, digest, drawer, now)] if own else []
            kept = Act(str(body.action), caller.agent_id, now)
            return [*once, drawers.audited(drawer, kept, body.to_domain().entered)]

        return act(body, named, found, Acting(caller.agent_id, now, also))

    try:
        return _reported(named, retry_with(found, attempt, lambda: _read_again(named, now)))
    except (AlreadyExistsError, ServiceError):
        first = read(own) if own else None  # an equal request may have been stored a moment before
        if first is None:
            raise
        return _replay(first, digest, named, now)


# What a request names


def _keys(body: ReportDrawer, caller: Caller) -> list[Key[Any]]:
    """Return the keys of the records that a request is about, as far as they follow from it and from its caller."""
    ids = [one for one in (body.agent_id, body.account_id) if one is not None]
    keys: list[Key[Any]] = [agents.key(one) for one in ids]
    if caller.terminal_id is not None and body.readable("action") == OPEN:
        keys.append(terminals.key(caller.terminal_id))
    if caller.client_id != NO_CLIENT:
        keys.append(drawers.latest_key(caller.client_id, (*ids, caller.agent_id)[0]))
        if body.drawer_id is not None:
            keys.append(drawers.key(caller.client_id, body.drawer_id.upper()))
    return keys


def _named(body: ReportDrawer, admitted: Admitted) -> Named:
    """Return what a request names: the agent is AgentID's, else AccountID's, else DrawerID's, else the caller.

    Raise AGENT_NOT_FOUND for those of another merchant, also when AgentID and AccountID are of two merchants, and
    ROLE_MAY_NOT for those of a colleague.
    """
    accounts = [(name, one) for name in ("agent_id", "account_id") if (one := getattr(body, name)) is not None]
    if not accounts and body.drawer_id is None:
        body.check_readable()
    scope, agent = _account(admitted, *accounts[0]) if accounts else (scope_of(admitted, None), admitted.agent)
    if accounts and _account(admitted, *accounts[-1])[0].client_id != scope.client_id:
        raise invalid_references(missing("agent_id", ErrorCode.AGENT_NOT_FOUND))
    permissions.check_is_own(admitted.agent, scope.client_id, agent.id)

    merchant = admitted.merchant
    is_blind = bool(merchant and merchant.drawer_blind and not permissions.is_administrator(admitted.agent))
    named = Named(scope, agent, None, is_blind)
    return named if body.drawer_id is None else _with_drawer(named, body.drawer_id.upper(), body, admitted)


def _with_drawer(named: Named, drawer_id: str, body: ReportDrawer, admitted: Admitted) -> Named:
    """Return what a request names that has a DrawerID. Without AgentID it may be any drawer that the caller may use."""
    drawer = admitted.read(drawers.key(named.scope.client_id, drawer_id))
    if drawer is None:
        raise invalid_references(missing("drawer_id", ErrorCode.AGENT_NOT_FOUND))
    if drawer.agent_id == named.agent.id:
        return replace(named, drawer=drawer)
    permissions.check_is_own(admitted.agent, drawer.client_id, drawer.agent_id)
    if body.agent_id is not None:
        raise invalid(Finding("drawer_id", Check.CONTRADICTION, "It is not a drawer of this AgentID."))
    agent = admitted.read(agents.key(drawer.agent_id))
    if agent is None:  # never: no agent's record is deleted
        raise invalid_references(missing("drawer_id", ErrorCode.AGENT_NOT_FOUND))
    return replace(named, agent=agent, drawer=drawer)


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


def _currency(admitted: Admitted, named: Named) -> Currency:
    """Return the currency of a new drawer: that of the agent's terminal. Raise NO_USABLE_TERMINAL without one."""
    agent, scope = named.agent, named.scope
    terminal = None if agent.terminal_id is None else admitted.read(terminals.key(agent.terminal_id))
    taken = currency_taken(agent, terminal, scope.currency)
    if taken is None:
        raise ServiceError(ErrorCode.NO_USABLE_TERMINAL)
    return taken


# One drawer


def _read_again(named: Named, now: datetime) -> Found:
    return _found(named, now, read(drawers.latest_key(named.scope.client_id, named.agent.id)))


def _found(named: Named, now: datetime, latest: LatestDrawer | None) -> Found:
    """Return the drawer of the request (else the open one, else the latest) and the cash that it may hold.

    The drawer is read last: if it was closed meanwhile, its own cash counts.
    """
    client_id, agent_id, gmt = named.scope.client_id, named.agent.id, named.scope.gmt
    today = business_day(now, gmt)
    opened_on = business_day(latest.opened_at, gmt) if latest and latest.is_open else today
    months = cash.months_near(min(opened_on, today), today)
    numbers = read_all([receipt_numbers.key_in(client_id, agent_id, month) for month in months])
    drawer_id = named.drawer.id if named.drawer else latest and latest.drawer_id
    drawer = read(drawers.key(client_id, drawer_id)) if drawer_id else None
    return Found(latest, dict(zip(months, numbers, strict=True)), drawer)


def _reported(named: Named, found: Found, *, replayed: bool = False) -> Reported:
    drawer, latest = found.drawer, found.latest
    if drawer is None:
        return Reported([], named.scope.gmt, replayed)
    held = latest.holds(found.cash, named.scope.gmt) if latest and latest.drawer_id == drawer.id else {}
    row = shown(drawer, named.agent.name, held, is_blind=named.is_blind)
    return Reported([row], named.scope.gmt, replayed)


def _replay(first: DrawerRequest, digest: str, named: Named, now: datetime) -> Reported:
    """Return the drawer of the first request with a key, as it is now. Raise ID_REUSED for other content."""
    if first.digest != digest:
        raise ServiceError(ErrorCode.ID_REUSED)
    drawer = read(drawers.key(named.scope.client_id, first.drawer_id))
    return _reported(named, _read_again(replace(named, drawer=drawer), now), replayed=True)


def _content(body: ReportDrawer, named: Named) -> str:
    """Return a text that is equal for equal requests."""
    drawer_id = named.drawer.id if named.drawer else ""
    entered = (f"{name}={value}" for name, value in body.to_domain().entered.items())
    return "\x1f".join((str(named.agent.id), str(body.action), drawer_id, *entered))


def _sum_of(months: Iterable[MonthNumbers | None]) -> Cash:
    return reduce(cash.added, (drawers.cash_of(one) for one in months if one), {})


# The actions


@dataclass(frozen=True)
class Acting:
    """Who acts, when, and the writes of the action besides those of its records."""

    by: int  # an agent's ID
    now: datetime
    also: Callable[[Drawer], list[Write]]


def _open(body: ReportDrawer, named: Named, found: Found, acting: Acting, *, currency: Currency) -> Found:
    """Open a drawer. Cash that was recorded before is not in it."""
    scope, agent, now = named.scope, named.agent, acting.now
    if found.latest and found.latest.is_open:
        raise ServiceError(ErrorCode.DRAWER_OPEN)
    opening = body.to_domain().movement(currency, acting.by, now)
    own, last = drawers.key(scope.client_id, new_guid_of(now)), found.latest
    drawer = Drawer(
        **own.key,
        agent_id=agent.id,
        currency=currency,
        opened_at=now,
        movements=(opening,),
        last_counted_minor=last.counted_minor if last and last.unit == currency.unit else None,
    )
    latest = LatestDrawer(
        **drawers.latest_key(scope.client_id, agent.id).key,
        drawer_id=drawer.id,
        unit=drawer.unit,
        opened_at=now,
        before=cash.in_drawer(found.cash, business_day(now, scope.gmt), drawer.unit),
        number=number_of_day(last, now, scope.gmt),
    )
    drawers.open_new(drawer, latest, last, found.months, *acting.also(drawer))
    return replace(found, latest=latest, drawer=drawer)


def _act(body: ReportDrawer, named: Named, found: Found, acting: Acting) -> Found:
    """Add a movement to a drawer, which must be open unless it is a note. A count closes it."""
    if body.action == NOTE and found.drawer:
        after = with_movement(found.drawer, body.to_domain().movement(found.drawer.currency, acting.by, acting.now))
        drawers.change(after, *acting.also(after))
        return replace(found, drawer=after)
    drawer, latest = require_open(found.drawer, found.latest)
    movement = body.to_domain().movement(drawer.currency, acting.by, acting.now)
    if body.action == CLOSE:
        after = closed(drawer, movement, latest.holds(found.cash, named.scope.gmt))
        days = {business_day(at, named.scope.gmt) for at in (drawer.opened_at, acting.now)}
        late = [drawers.late_close(after, acting.now)] if len(days) > 1 else []
        drawers.close(after, latest, found.months, *late, *acting.also(after))
    else:
        after = with_movement(drawer, movement)
        drawers.change(after, *acting.also(after))
    return replace(found, drawer=after)


# A period


EARLIEST, LATEST = date(1970, 1, 3), date(9999, 12, 28)  # IDs and months have no earlier and no later days


def list_opened(body: ListDrawers, caller: Caller, now: datetime) -> Reported:
    """Return the drawers that were opened in a period, the newest first, and then the cash that was in none, by agent.

    Raise PERIOD_TOO_LONG for more than one answer holds.
    """
    account_key = [agents.key(body.account_id)] if body.account_id is not None else []
    admitted = admit(caller, *account_key, current_account_id=body.current_account_id)
    scope = scope_of(admitted, body.account_id)
    permissions.check_can_manage(admitted.agent, scope.client_id)
    asked = period_of(body.period.first, body.period.last, business_day(now, scope.gmt))
    period = Period(max(asked.first, EARLIEST), min(asked.last, LATEST))
    if period.first > period.last:
        return Reported([], scope.gmt)
    return retry_on_change(lambda: _listed(scope, period, business_day(now, scope.gmt)))


@dataclass(frozen=True)
class Read:
    """What was read for a list: the cash of each agent by month, its latest drawer, and the drawers.

    These were opened in the period, or `earlier`: closed in it, or still open.
    """

    cash: Mapping[int, Cash]
    latest: Mapping[int, LatestDrawer]
    drawers: Sequence[Drawer]
    earlier: Sequence[Drawer]


def _listed(scope: Scope, period: Period, today: date) -> Reported:
    found = _read_period(scope, period, today)
    both = [*reversed(found.drawers), *reversed(found.earlier)]
    names = _names({one.agent_id for one in both} | found.cash.keys())
    rows = [shown(one, names.get(one.agent_id), _held(found, one, scope.gmt), is_blind=False) for one in both]
    outside, number = list[Shown](), len(found.drawers)
    for agent_id in sorted(found.cash):
        moved, latest = found.cash[agent_id], found.latest.get(agent_id)
        left = cash.added(moved, latest.holds(moved, scope.gmt), -1) if latest else moved
        outside += outside_of_drawers(scope.client_id, agent_id, names.get(agent_id), cash.within(left, period))
    rows = fitted([*rows[:number], *outside, *rows[number:]])
    number += len(outside)
    return Reported(rows[:number], scope.gmt, earlier=rows[number:])


def _held(found: Read, drawer: Drawer, gmt: int) -> Cash:
    """Return the cash of an open drawer. Raise ChangedMeanwhileError when it was opened while the list was read."""
    if drawer.closed_at is not None:
        return {}
    latest = found.latest.get(drawer.agent_id)
    if latest is None or latest.drawer_id != drawer.id:
        raise ChangedMeanwhileError
    return latest.holds(found.cash.get(drawer.agent_id, {}), gmt)


def _read_period(scope: Scope, period: Period, today: date) -> Read:
    """Read the cash of a period, and its drawers.

    The drawers are read last: if one was closed meanwhile, its own cash counts.
    """
    client_id, pages = scope.client_id, 0

    def is_wanted(agent_id: int) -> bool:
        return scope.agent_id in (None, agent_id)

    def counted(found: Iterable[list[R]]) -> Iterator[R]:
        nonlocal pages
        for page in found:
            pages += 1
            if pages > MOST_PAGES:
                raise too_much()
            yield from page

    latest = {one.agent_id: one for one in drawers.of_agents(client_id) if is_wanted(one.agent_id)}
    near = Period(period.first - cash.NEAR, period.last + cash.NEAR)
    numbers = [one for one in counted(drawers.months(client_id, near)) if is_wanted(drawers.agent_of(one))]
    begin, end = start_of(period.first, scope.gmt), start_of(period.last + timedelta(days=1), scope.gmt)
    opened = [one for one in counted(drawers.opened(client_id, begin, end)) if is_wanted(one.agent_id)]
    ids = {one.drawer_id for one in latest.values() if one.is_open and one.opened_at < begin}
    ids |= {one.drawer_id for one in counted(drawers.closed_late(client_id, begin, end))}
    keys = [drawers.key(client_id, one) for one in sorted(ids - {one.id for one in opened})]
    earlier = [one for one in _read_some(keys) if is_wanted(one.agent_id) and one.opened_at < begin]
    still_open = [one for one in (*opened, *earlier) if one.closed_at is None]
    numbers += _other_months(scope, still_open, near, today)
    moved: dict[int, Cash] = defaultdict(dict)
    for one in numbers:
        agent_id = drawers.agent_of(one)
        moved[agent_id] = cash.added(moved[agent_id], drawers.cash_of(one))
    return Read(moved, latest, opened, earlier)


def _other_months(scope: Scope, still_open: Sequence[Drawer], near: Period, today: date) -> list[MonthNumbers]:
    """Read the cash of drawers that are still open in the months besides those that were read."""
    keys = [
        receipt_numbers.key_in(scope.client_id, one.agent_id, month)
        for one in still_open
        for month in cash.months_near(business_day(one.opened_at, scope.gmt), today)
        if month not in near.months
    ]
    return _read_some(keys)


def _read_some(keys: Sequence[Key[R]]) -> list[R]:
    """Read records, as far as they exist. Raise PERIOD_TOO_LONG for more than a few store calls read."""
    if len(keys) > MOST_READS * BATCH:
        raise too_much()
    return [one for one in read_all(keys, for_list=True) if one is not None]


def _names(ids: Iterable[int]) -> Mapping[int, str]:
    """Return the names of agents."""
    return {one.id: one.name for one in _read_some([agents.key(one) for one in sorted(ids)])}
