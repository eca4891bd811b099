"""Counters: the number of an agent's transactions of a kind, on a day or in a quarter of an hour. Records only."""

from collections.abc import Mapping, Sequence
from datetime import date

from chalicelib.record import Record


class CounterKey(Record):
    """The key of a counter: the transactions of one agent, one kind and one currency."""

    agent_id: int
    input_type: int
    reverse_mode: int  # 0: a payment
    digits: int  # after the decimal point of its amounts
    currency: str
    acquirer: str


class DayTotal(Record):
    """A counter's transactions on a day, and the money that its payments took, in minor units."""

    counter: CounterKey
    day: date
    count: int
    taken_minor: int


class QuarterCounts(Record):
    """A counter's transactions on a day: their numbers by quarter of an hour, 00 to 95."""

    counter: CounterKey
    counts: Mapping[str, int]


class MonthSum(Record):
    """The totals of a closed month (2026-03), of all agents, by kind and day; None until a list has added them up.

    The version is the month's number of late writes, read before the totals: a later one makes the sum stale.
    """

    month: str
    version: int
    day_totals: Sequence[DayTotal] | None = None
