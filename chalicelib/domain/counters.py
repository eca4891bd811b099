"""Counters that each transaction adds to, by agent and kind: the days of a month, the quarters of an hour of a day."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime

from chalicelib.record import Record

COUNT, MONEY, GIVEN_BACK, MOVED = "n", "m", "g", "k"  # before a day or hour, in the name of a number

Counters = Mapping[str, int]


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


def total_counters(at: datetime, moved_minor: int) -> Counters:
    """Return the numbers that a transaction adds to the total of its month: one more on its day, and its money."""
    return {f"{COUNT}{at:%d}": 1, **moved_counters(f"{at:%d}", moved_minor)}


def slot_counters(at: datetime, moved_minor: int) -> Counters:
    """Return the numbers that a transaction adds to the slots of its day: one more in its quarter, and its money."""
    quarter = at.hour * 4 + at.minute // 15
    return {f"{quarter:02d}": 1, **moved_counters(f"{at:%H}", moved_minor)}


def moved_counters(when: str, moved_minor: int) -> Counters:
    """Return the money that a transaction adds to a day or hour, and one more transaction with moved money.

    Money that was given back is below zero.
    """
    if not moved_minor:
        return {}
    return {f"{MONEY if moved_minor > 0 else GIVEN_BACK}{when}": abs(moved_minor), f"{MOVED}{when}": 1}
