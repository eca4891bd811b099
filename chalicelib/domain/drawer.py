"""The drawer: the cash that an agent should have on a day, and the cash that was counted. Pure functions."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal

from chalicelib.domain.kinds import InputType
from chalicelib.domain.money import Currency, from_minor
from chalicelib.domain.payment import minor
from chalicelib.domain.takings import Moved
from chalicelib.errors import Check, Finding, invalid

Sums = Mapping[tuple[str, int], int]  # minor units by currency and its decimals


@dataclass(frozen=True)
class Count:
    """A float or a count of a drawer on a day, stored and never changed; `number` counts those of the day from 1.

    The latest has a second copy, which the next count replaces.
    """

    client_id: int
    place: str
    number: int
    agent_id: int
    currency: Currency
    stored_at: datetime
    stored_by: int  # an agent's ID
    cash_minor: int  # the agent's cash when this was stored; later sales of the day may change it
    float_minor: int | None = None
    counted_minor: int | None = None
    counted_at: datetime | None = None
    counted_by: int | None = None
    note: str | None = None
    version: int = 1


@dataclass(frozen=True)
class Entry:
    """The float and the counted cash that somebody enters, None for an absent one, and a note about them."""

    float_amount: Decimal | None = None
    counted: Decimal | None = None
    note: str | None = None

    def in_minor(self, currency: Currency) -> tuple[int | None, int | None]:
        """Return both amounts in minor units. Raise VALIDATION_FAILED with all findings about them."""
        (float_minor, wrong), (counted_minor, also_wrong) = (
            (None if amount is None else 0, ()) if not amount else minor(name, amount, currency)
            for name, amount in (("float", self.float_amount), ("counted", self.counted))
        )
        if findings := (*wrong, *also_wrong):
            raise invalid(*findings)
        return float_minor, counted_minor


@dataclass(frozen=True)
class Cash:
    """The cash of an agent on a day: taken less given back, and given back by others for its payments."""

    own: Sums = field(default_factory=dict)
    by_others: Sums = field(default_factory=dict)


@dataclass(frozen=True)
class Drawer:
    """An agent's drawer on a day. Without a currency it has neither cash nor a count."""

    client_id: int
    day: date
    agent_id: int
    agent_name: str
    currency: Currency | None
    cash: Cash
    latest: Count | None

    @property
    def cash_minor(self) -> int:
        """Return the cash taken less the cash given back, in the drawer's currency only."""
        return self._in_currency(self.cash.own)

    @property
    def by_others_minor(self) -> int:
        """Return the cash that others gave back for the agent's payments. It did not leave this drawer."""
        return self._in_currency(self.cash.by_others)

    @property
    def expected_minor(self) -> int:
        """Return the cash that the drawer should hold."""
        in_float = self.latest.float_minor if self.latest else None
        return (in_float or 0) + self.cash_minor

    @property
    def difference_minor(self) -> int | None:
        """Return the counted cash less the expected; None before a count."""
        counted_minor = self.latest.counted_minor if self.latest else None
        return None if counted_minor is None else counted_minor - self.expected_minor

    def decimal(self, amount_minor: int) -> Decimal:
        """Return an amount of the drawer with the currency's digits."""
        return from_minor(amount_minor, self.currency) if self.currency else Decimal(amount_minor)

    def _in_currency(self, sums: Sums) -> int:
        return sums.get((self.currency.code, self.currency.digits), 0) if self.currency else 0


def cash_by_agent(moved: Iterable[Moved]) -> Mapping[int, Cash]:
    """Return the cash of each agent that took cash or gave it back, or for which others gave it back."""
    own, by_others = (defaultdict[int, Counter[tuple[str, int]]](Counter) for _ in range(2))
    for one in moved:
        counter = one.counter
        if counter.input_type != InputType.CASH or not (one.number or one.amount_minor):
            continue
        currency = counter.currency, counter.digits
        own[counter.agent_id][currency] += -one.amount_minor if counter.reverse_mode else one.amount_minor
        if one.original_agent is not None:
            by_others[one.original_agent][currency] += one.amount_minor
    return {agent_id: Cash(own[agent_id], by_others[agent_id]) for agent_id in own.keys() | by_others.keys()}


def currency_code(taken: str | None, cash: Cash) -> str | None:
    """Return the code of a drawer's currency before a count: `taken`, which the agent takes now.

    Cash of the day in other currencies only comes from an earlier terminal: then it is one of those.
    """
    held = sorted(code for code, _ in cash.own)
    return held[0] if held and taken not in held else taken


def day_of(requested: date | None, today: date) -> date:
    """Return the day of a drawer: the requested one, or today. Raise VALIDATION_FAILED for a day to come."""
    if requested and requested > today:
        raise invalid(Finding("day", Check.OUT_OF_RANGE, f"Today or an earlier day is expected: today is {today}."))
    return requested or today


def next_count(drawer: Drawer, currency: Currency, entry: Entry, by: int, now: datetime) -> Count:
    """Return the next count of a drawer. An absent float stays; so does an absent count, with its time and author."""
    float_minor, counted_minor = entry.in_minor(currency)
    before = drawer.latest or Count(drawer.client_id, "", 0, drawer.agent_id, currency, now, by, 0)
    after = replace(
        before,
        number=before.number + 1,
        stored_at=now,
        stored_by=by,
        cash_minor=drawer.cash_minor,
        note=entry.note,
    )
    if float_minor is not None:
        after = replace(after, float_minor=float_minor)
    if counted_minor is not None:
        after = replace(after, counted_minor=counted_minor, counted_at=now, counted_by=by)
    return after
