"""The drawer: a session of an agent's cash, from a float to a count. Pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial

from chalicelib.domain.answer_size import bytes_in_answer
from chalicelib.domain.business_days import business_day
from chalicelib.domain.cash import Cash, added, given_back_in, in_drawer, money_in, units_in
from chalicelib.domain.money import Currency
from chalicelib.domain.payment import minor
from chalicelib.domain.takings import too_much
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, invalid

OPEN, PAID_IN, PAID_OUT, CLOSE, NOTE = "open", "in", "out", "close", "note"  # the actions, and the kinds of movements
AMOUNTS: Mapping[str, str] = {OPEN: "float", PAID_IN: "amount", PAID_OUT: "amount", CLOSE: "counted"}  # their fields
MOST_MOVEMENTS = 100  # besides the close and the remarks: both are always possible
MOST_REMARKS = 50
MOST_NOTE_BYTES = 8_000  # of these movements together, and of the remarks: a drawer has at most 40 KB
MOST_A_DAY = 50  # drawers that an agent opens, so that each day can be listed
DRAWER_BYTES, MOVEMENT_BYTES = 800, 250  # in an answer of Lambda, without names and notes
MOST_BYTES = 4_900_000  # of all drawers in an answer


@dataclass(frozen=True)
class Movement:
    """An act on a drawer. Its amount is the float of `open`, the count of `close`, and None for a note."""

    at: datetime
    by: int  # an agent's ID
    kind: str
    amount_minor: int | None = None
    note: str | None = None


@dataclass(frozen=True)
class Drawer:
    """A drawer with its movements, the opening first. Once closed, it only gets notes.

    `cash` is what its agent took and gave back meanwhile, in the drawer's currency; None while it is open.
    `last_counted_minor` is the count of its agent's drawer before it, None for the first one in this currency.
    """

    client_id: int
    place: str
    agent_id: int
    currency: Currency
    opened_at: datetime
    movements: tuple[Movement, ...]
    closed_at: datetime | None = None
    cash: Cash | None = None
    last_counted_minor: int | None = None
    version: int = 1

    @property
    def id(self) -> str:
        """Return its ID, a GUID."""
        return self.place.rpartition("#")[-1]

    @property
    def close(self) -> Movement | None:
        """Return the count that closed it, None while it is open."""
        return next((one for one in self.movements if one.kind == CLOSE), None)

    @property
    def unit(self) -> str:
        """Return its currency as the names of cash have it."""
        return self.currency.unit

    def sum_of(self, kind: str) -> int:
        """Return the minor units of its movements of one kind."""
        return sum(one.amount_minor or 0 for one in self.movements if one.kind == kind)


@dataclass(frozen=True)
class LatestDrawer:
    """The latest drawer of an agent, the `number` of drawers that it opened until then on that day, and the last count.

    While it is open, `before` is the agent's cash that is not in it: what was recorded before the opening, of the days
    whose cash the drawer may hold.
    """

    client_id: int
    place: str
    drawer_id: str
    unit: str  # its currency, as the names of cash have it
    opened_at: datetime
    before: Cash | None = None
    number: int = 1
    counted_minor: int | None = None
    version: int = 1

    @property
    def agent_id(self) -> int:
        """Return the agent."""
        return int(self.place.rpartition("#")[-1])

    @property
    def is_open(self) -> bool:
        """Return whether the drawer is open."""
        return self.before is not None

    def holds(self, moved: Cash, gmt: int) -> Cash:
        """Return the part of an agent's cash that the drawer holds while it is open. `gmt` is the merchant's zone."""
        if self.before is None:
            return {}
        near = in_drawer(moved, business_day(self.opened_at, gmt), self.unit)
        return added(near, self.before, -1)


@dataclass(frozen=True)
class Entry:
    """What somebody enters for an action: the amount that it needs, if it needs one, and a note."""

    action: str
    amount: Decimal | None = None
    note: str | None = None

    @property
    def name(self) -> str | None:
        """Return the field of the amount, None for a note."""
        return AMOUNTS.get(self.action)

    @property
    def entered(self) -> Mapping[str, str]:
        """Return what is stored, as text, by the names that the audit has."""
        amount = None if self.amount is None else f"{self.amount.normalize():f}"
        values = {self.name or "": amount, NOTE: self.note}
        return {name: value for name, value in values.items() if value is not None}

    def movement(self, currency: Currency, by: int, now: datetime) -> Movement:
        """Return the movement of an action. Raise VALIDATION_FAILED for too many decimals."""
        amount_minor: int | None = None
        if self.name and self.amount is not None:
            amount_minor, findings = minor(self.name, self.amount, currency) if self.amount else (0, ())
            if findings:
                raise invalid(*findings)
        return Movement(now, by, self.action, amount_minor, self.note)


@dataclass(frozen=True)
class Shown:
    """A drawer as it is answered; its `cash_minor` is that of now. Without a drawer: cash that was in none.

    While it `is_blind`, the caller does not see what is expected.
    """

    client_id: int
    agent_id: int
    agent_name: str | None
    currency: str
    digits: int
    cash_minor: int  # taken less given back
    given_back_minor: int
    drawer: Drawer | None = None
    is_blind: bool = False
    has_movements: bool = True  # else they are left out of a list

    @property
    def expected_minor(self) -> int | None:
        """Return the cash that the drawer should hold; None without a drawer."""
        if self.drawer is None:
            return None
        moved = self.drawer.sum_of(PAID_IN) - self.drawer.sum_of(PAID_OUT)
        return self.drawer.sum_of(OPEN) + self.cash_minor + moved

    @property
    def difference_minor(self) -> int | None:
        """Return the counted cash less the expected; None before the count."""
        if self.drawer is None or self.drawer.close is None or self.expected_minor is None:
            return None
        return self.drawer.sum_of(CLOSE) - self.expected_minor

    def decimal(self, amount_minor: int | None) -> Decimal | None:
        """Return an amount with the currency's digits."""
        return None if amount_minor is None else Decimal(amount_minor).scaleb(-self.digits)


def shown(drawer: Drawer, agent_name: str | None, held: Cash, *, is_blind: bool) -> Shown:
    """Return a drawer as it is answered. `held` is the cash of an open one; a closed one has its own."""
    moved = held if drawer.cash is None else drawer.cash
    return Shown(
        client_id=drawer.client_id,
        agent_id=drawer.agent_id,
        agent_name=agent_name,
        currency=drawer.currency.code,
        digits=drawer.currency.digits,
        cash_minor=money_in(moved, drawer.unit),
        given_back_minor=given_back_in(moved, drawer.unit),
        drawer=drawer,
        is_blind=is_blind and drawer.closed_at is None,
    )


def outside_of_drawers(client_id: int, agent_id: int, agent_name: str | None, cash: Cash) -> list[Shown]:
    """Return a row for each currency of the cash that an agent moved while it was in no drawer."""
    row = partial(Shown, client_id, agent_id, agent_name)
    return [row(unit[1:], int(unit[0]), money_in(cash, unit), given_back_in(cash, unit)) for unit in units_in(cash)]


def with_movement(drawer: Drawer, new: Movement) -> Drawer:
    """Return a drawer with one more movement. Raise VALIDATION_FAILED when it has as many, or as long notes, as it may.

    A remark, which is a note of somebody else than its agent, has limits of its own, and a close has none.
    """
    if new.kind != CLOSE:
        is_remark = _is_remark(drawer, new)
        alike = [one for one in drawer.movements if one.kind != CLOSE and _is_remark(drawer, one) == is_remark]
        most = MOST_REMARKS if is_remark else MOST_MOVEMENTS
        left = MOST_NOTE_BYTES - sum(_note_bytes(one) for one in alike)
        if len(alike) >= most:
            advice = "" if drawer.closed_at else ": close it, and open another one"
            message = f"A drawer has at most {most} {'notes of others' if is_remark else 'movements'}{advice}."
            raise invalid(Finding("action", Check.OUT_OF_RANGE, message))
        if _note_bytes(new) > left:
            message = f"The notes of a drawer have at most {MOST_NOTE_BYTES} bytes together, {left} are left."
            raise invalid(Finding("note", Check.TOO_LONG, message))
    return replace(drawer, movements=(*drawer.movements, new))


def _is_remark(drawer: Drawer, one: Movement) -> bool:
    return one.kind == NOTE and one.by != drawer.agent_id


def _note_bytes(one: Movement) -> int:
    return len((one.note or "").encode())


def closed(drawer: Drawer, count: Movement, cash: Cash) -> Drawer:
    """Return a drawer after its count, with the cash that was taken and given back while it was open."""
    return replace(with_movement(drawer, count), closed_at=count.at, cash=cash)


def require_open(drawer: Drawer | None, latest: LatestDrawer | None) -> tuple[Drawer, LatestDrawer]:
    """Return a drawer, which must be its agent's open one: otherwise raise NO_OPEN_DRAWER.

    It may have been closed after `latest` was read.
    """
    if drawer is None or latest is None or drawer.closed_at is not None or latest.drawer_id != drawer.id:
        raise ServiceError(ErrorCode.NO_OPEN_DRAWER)
    return drawer, latest


def number_of_day(before: LatestDrawer | None, now: datetime, gmt: int) -> int:
    """Return the number of a new drawer among its agent's of the day. Raise VALIDATION_FAILED above `MOST_A_DAY`."""
    is_first = before is None or business_day(before.opened_at, gmt) != business_day(now, gmt)
    number = 1 if before is None or is_first else before.number + 1
    if number > MOST_A_DAY:
        raise invalid(Finding("action", Check.OUT_OF_RANGE, f"An agent opens at most {MOST_A_DAY} drawers a day."))
    return number


def fitted(rows: Sequence[Shown]) -> list[Shown]:
    """Return rows that fit into an answer: those whose movements do not fit are without them.

    Raise PERIOD_TOO_LONG for more rows than fit.
    """
    left = MOST_BYTES - sum(DRAWER_BYTES + bytes_in_answer(row.agent_name or "") for row in rows)
    if left < 0:
        raise too_much()
    found = list[Shown]()
    for row in rows:
        size = sum(
            MOVEMENT_BYTES + bytes_in_answer(one.note or "") for one in (row.drawer.movements if row.drawer else ())
        )
        found.append(replace(row, has_movements=size <= left))
        left -= size if size <= left else 0
    return found
