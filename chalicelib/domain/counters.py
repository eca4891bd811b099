"""Counters that each transaction adds to, by agent and kind: the days of a month, the quarters of an hour of a day."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from string import ascii_letters

from chalicelib.domain.price_list import Tax
from chalicelib.domain.taxes import TaxAmount
from chalicelib.record import Record

COUNT, MONEY, GIVEN_BACK, MOVED = "n", "m", "g", "k"  # before a day or hour, in the name of a number
LETTERS = [letter for letter in ascii_letters if letter not in {COUNT, MONEY, GIVEN_BACK, MOVED}]
GROSS_AND_TAX = list(zip(LETTERS[::2], LETTERS[1::2], strict=True))  # the same for each tax of a counter, in its order

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


def total_counters(at: datetime, moved_minor: int, taxes: Sequence[TaxAmount]) -> Counters:
    """Return the numbers that a transaction adds to the total of its month: one more on its day, and its money."""
    return {f"{COUNT}{at:%d}": 1, **moved_counters(f"{at:%d}", moved_minor, taxes)}


def slot_counters(at: datetime, moved_minor: int, taxes: Sequence[TaxAmount]) -> Counters:
    """Return the numbers that a transaction adds to the slots of its day: one more in its quarter, and its money."""
    quarter = at.hour * 4 + at.minute // 15
    return {f"{quarter:02d}": 1, **moved_counters(f"{at:%H}", moved_minor, taxes)}


def moved_counters(when: str, moved_minor: int, taxes: Sequence[TaxAmount]) -> Counters:
    """Return the money and taxes that a transaction adds to a day or hour, and one more transaction with moved money.

    Money that was given back is below zero; its taxes are not.
    """
    if not moved_minor:
        return {}
    numbers = {f"{MONEY if moved_minor > 0 else GIVEN_BACK}{when}": abs(moved_minor), f"{MOVED}{when}": 1}
    for (gross, tax), amount in zip(GROSS_AND_TAX, taxes, strict=False):
        named = {f"{gross}{when}": amount.gross_minor, f"{tax}{when}": amount.tax_minor}
        numbers |= {name: minor for name, minor in named.items() if minor}
    return numbers


def counted_taxes(numbers: Counters, when: str, taxes: Sequence[Tax]) -> Iterator[TaxAmount]:
    """Yield the taxes of a day or hour from the numbers of a counter, which has these taxes."""
    for (gross, tax), one in zip(GROSS_AND_TAX, taxes, strict=False):
        amounts = numbers.get(f"{gross}{when}", 0), numbers.get(f"{tax}{when}", 0)
        if any(amounts):
            yield TaxAmount(one.code, one.name, one.rate, *amounts)
