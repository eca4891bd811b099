"""The cash that an agent took and gave back, by the day on which it was recorded. Pure functions.

`Cash` has numbers under names such as m2026-03-142ZAR: a letter (m: minor units taken less those given back, b: those
given back, k: the number of payments and reversals), the day, and the currency with its digits. No number is zero.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta

from chalicelib.domain.history_entry import GIVEN, MONEY
from chalicelib.domain.periods import Period

Cash = Mapping[str, int]
DAY = slice(1, 11)  # of a name
DAY_OF_MONTH, UNIT = 9, 11  # where the day of the month and the currency begin in a name
NEAR = timedelta(days=1)  # a request may be recorded on the day before or after, around midnight


def added(one: Cash, other: Cash, sign: int = 1) -> Cash:
    """Return the sum of two, or with the sign -1 the first without the second."""
    sums = Counter(one)
    for name, number in other.items():
        sums[name] += sign * number
    return {name: number for name, number in sums.items() if number}


def money_in(cash: Cash, unit: str) -> int:
    """Return the minor units of one currency: taken less given back."""
    return _sum_of(cash, MONEY, unit)


def given_back_in(cash: Cash, unit: str) -> int:
    """Return the minor units of one currency that were given back."""
    return _sum_of(cash, GIVEN, unit)


def units_in(cash: Cash) -> list[str]:
    """Return the currencies that moved."""
    return sorted({name[UNIT:] for name in cash})


def within(cash: Cash, period: Period) -> Cash:
    """Return the cash of a period."""
    return {name: number for name, number in cash.items() if date.fromisoformat(name[DAY]) in period}


def in_drawer(cash: Cash, opened_on: date, unit: str) -> Cash:
    """Return the cash that a drawer can hold which was opened on this day: of its currency, not of days long before."""
    first = f"{opened_on - NEAR}"
    return {name: number for name, number in cash.items() if name[DAY] >= first and name[UNIT:] == unit}


def months_near(first: date, last: date) -> list[str]:
    """Return the months (2026-03) with the cash of a drawer that was open from the first day to the last."""
    return Period(first - NEAR, last + NEAR).months


def of_month(cash: Cash, month: str) -> Cash:
    """Return the cash of a month (2026-03)."""
    return {name: number for name, number in cash.items() if name[DAY].startswith(month)}


def _sum_of(cash: Cash, letter: str, unit: str) -> int:
    return sum(number for name, number in cash.items() if name.startswith(letter) and name[UNIT:] == unit)


def months_of(cash: Cash) -> list[str]:
    """Return the months (2026-03) in which cash moved."""
    return sorted({name[DAY][:7] for name in cash})
