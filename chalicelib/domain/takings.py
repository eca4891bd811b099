"""Takings: the money taken and given back, added up from counters. Pure functions."""

from collections import Counter
from collections.abc import Iterable
from datetime import date
from decimal import Decimal

from chalicelib.domain.answer_size import bytes_in_answer
from chalicelib.domain.counters import CounterKey
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.record import Record

LONGEST_BY_HOUR = 31  # days
MOST_ROWS = 15_000
ROW_BYTES, MOST_BYTES = 320, 5_500_000  # a row without its name; all rows: Lambda's limit is 6 MB


class Moved(Record):
    """A counter's transactions that moved money in a day or an hour of it, and the money in minor units."""

    counter: CounterKey
    day: date
    hour: int | None
    number: int
    amount_minor: int


class Taking(Record):
    """The money that an agent took and gave back in a day or hour, by one kind of payment at one acquirer."""

    day: date
    hour: int | None
    agent_id: int
    input_type: int
    acquirer: str
    currency: str
    payments: int  # those that took money
    amount: Decimal
    reversals: int  # those that gave money back
    amount_reversed: Decimal

    @property
    def net(self) -> Decimal:
        """Return the amount taken minus the amount given back."""
        return self.amount - self.amount_reversed


Row = tuple[date, int, int, int, str, str, int]  # the row's key, in the order of rows, and its decimals


def takings_of(moved: Iterable[Moved]) -> list[Taking]:
    """Return one row for each combination with transactions, by day, hour, agent and kind.

    Raise PERIOD_TOO_LONG for more than `MOST_ROWS`.
    """
    counts, money = Counter[tuple[Row, bool]](), Counter[tuple[Row, bool]]()
    rows: dict[Row, Moved] = {}
    for one in moved:
        if one.number == 0 and one.amount_minor == 0:
            continue
        row, is_reversal = _row_of(one), one.counter.reverse_mode != 0
        rows.setdefault(row, one)
        counts[row, is_reversal] += one.number
        money[row, is_reversal] += one.amount_minor
        if len(rows) > MOST_ROWS:
            raise too_much()
    return [_taking(rows[row], row, counts, money) for row in sorted(rows)]


def check_size(names: Iterable[str | None]) -> None:
    """Raise PERIOD_TOO_LONG for more rows than fit into an answer, each with the name of its agent."""
    if sum(ROW_BYTES + bytes_in_answer(name or "") for name in names) > MOST_BYTES:
        raise too_much()


def too_much() -> ServiceError:
    """Return the refusal of a report that is too large for one answer, or for a few store calls."""
    return ServiceError(ErrorCode.PERIOD_TOO_LONG, "That is more than one answer holds: name fewer days, or one agent.")


def _row_of(moved: Moved) -> Row:
    counter = moved.counter
    hour = -1 if moved.hour is None else moved.hour
    kind = counter.input_type, counter.acquirer, counter.currency, counter.digits
    return moved.day, hour, counter.agent_id, *kind


def _taking(one: Moved, row: Row, counts: Counter[tuple[Row, bool]], money: Counter[tuple[Row, bool]]) -> Taking:
    digits = one.counter.digits
    return Taking(
        day=one.day,
        hour=one.hour,
        agent_id=one.counter.agent_id,
        input_type=one.counter.input_type,
        acquirer=one.counter.acquirer,
        currency=one.counter.currency,
        payments=counts[row, False],
        amount=Decimal(money[row, False]).scaleb(-digits),
        reversals=counts[row, True],
        amount_reversed=Decimal(money[row, True]).scaleb(-digits),
    )
