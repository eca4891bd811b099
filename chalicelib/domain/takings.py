"""Takings: what payments took and reversals gave back, added up from counters. Pure functions."""

from collections import Counter
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from json import dumps

from chalicelib.domain.history import CounterKey
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.record import Record

LONGEST_BY_HOUR = 31  # days
MOST_ROWS = 15_000
ROW_BYTES, MOST_BYTES = 320, 5_500_000  # of a row without its name; of all rows: an answer of Lambda has at most 6 MB


class Moved(Record):
    """The transactions of a counter that moved money in a day, or in one hour of it, and the money in minor units."""

    counter: CounterKey
    day: date
    hour: int | None
    number: int
    amount_minor: int


class Taking(Record):
    """The money that an agent took and gave back in a day, or an hour of it, by one kind of payment at one acquirer."""

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
        """Return what remains."""
        return self.amount - self.amount_reversed


Row = tuple[date, int, int, int, str, str, int]  # what a row is about, as rows are ordered; and its decimals


def takings_of(moved: Iterable[Moved]) -> list[Taking]:
    """Return one row for each combination that has any, by day, hour, agent and kind.

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
    """Refuse with PERIOD_TOO_LONG more rows, each with the name of its agent, than fit into an answer."""
    if sum(ROW_BYTES + _bytes_of(name or "") for name in names) > MOST_BYTES:
        raise too_much()


def _bytes_of(name: str) -> int:
    """Return the bytes of a name in an answer of Lambda: a JSON text in a JSON text, the outer one in ASCII."""
    return len(dumps(dumps(name, ensure_ascii=False)))


def too_much() -> ServiceError:
    """Return the refusal of more than one answer may hold, or a few store calls can read."""
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
