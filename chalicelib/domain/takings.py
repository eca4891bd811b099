"""Takings: the money taken and given back, added up from counters. Pure functions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from chalicelib.domain.answer_size import bytes_in_answer
from chalicelib.domain.history_entry import CounterKey, HistoryEntry
from chalicelib.domain.taxes import TaxAmount
from chalicelib.errors import ErrorCode, ServiceError

LONGEST_BY_HOUR = 31  # days
MOST_ROWS = 15_000
ROW_BYTES, MOST_BYTES = 372, 5_800_000  # a row without its name; all rows: Lambda's limit is 6 MB


@dataclass(frozen=True)
class Moved:
    """A counter's transactions that moved money in a day or an hour of it, and the money in minor units."""

    counter: CounterKey
    day: date
    hour: int | None
    number: int
    amount_minor: int
    taxes: tuple[TaxAmount, ...] = ()
    taxed_again_minor: int = 0  # counted in the gross amounts of several taxes
    discounts_minor: int = 0
    left_minor: int = 0


@dataclass(frozen=True)
class Taking:
    """The money that an agent took and gave back in a day or hour, by one kind of payment at one acquirer."""

    day: date
    hour: int | None
    agent_id: int
    input_type: int
    acquirer: str
    currency: str
    payments: int  # those that took money
    amount: Decimal
    discounts: Decimal  # off the lines of the payments
    left_to_pay: Decimal  # of the price of their lines
    reversals: int  # those that gave money back
    amount_reversed: Decimal

    @property
    def net(self) -> Decimal:
        """Return the amount taken minus the amount given back."""
        return self.amount - self.amount_reversed


@dataclass(frozen=True)
class TaxTaking:
    """A tax in the money of a day or hour, without the returned part: the gross amount contains the tax.

    One without code, name and rate is the money that carries no tax.
    """

    day: date
    hour: int | None
    currency: str
    code: str | None
    name: str | None
    rate: Decimal | None
    gross: Decimal
    tax: Decimal


@dataclass(frozen=True)
class LateTaking:
    """The late sales of an agent in a currency: their number and their money."""

    agent_id: int
    currency: str
    payments: int
    amount: Decimal


@dataclass(frozen=True)
class Takings:
    """The takings of a period, the taxes in them, and the late sales that were recorded in it."""

    rows: Sequence[Taking]
    taxes: Sequence[TaxTaking]
    late: Sequence[LateTaking] = ()


def late_of(entries: Iterable[HistoryEntry]) -> list[LateTaking]:
    """Return one row for each agent and currency that has late sales."""
    counts, money = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    digits: dict[str, int] = {}
    for one in entries:
        row = one.counter.agent_id, one.counter.currency
        counts[row] += 1
        money[row] += one.taken_minor
        digits[one.counter.currency] = one.counter.digits
    return [LateTaking(*row, counts[row], Decimal(money[row]).scaleb(-digits[row[1]])) for row in sorted(counts)]


Row = tuple[date, int, int, int, str, str, int]  # the row's key, in the order of rows, and its decimals
# The same of a tax, in the order of its fields. Money without a tax comes last.
TaxRow = tuple[date, int, str, bool, str, str, Decimal, int]


def takings_of(moved: Iterable[Moved]) -> Takings:
    """Return one row for each combination with transactions, by day, hour, agent and kind, and one for each tax.

    Raise PERIOD_TOO_LONG for more than `MOST_ROWS`.
    """
    counts, money = Counter[tuple[Row, bool]](), Counter[tuple[Row, bool]]()
    discounts, left = Counter[Row](), Counter[Row]()
    gross, tax, untaxed = Counter[TaxRow](), Counter[TaxRow](), Counter[TaxRow]()
    rows: dict[Row, Moved] = {}
    for one in moved:
        if one.number == 0 and one.amount_minor == 0:
            continue
        row, is_reversal = _row_of(one), one.counter.reverse_mode != 0
        rows.setdefault(row, one)
        counts[row, is_reversal] += one.number
        money[row, is_reversal] += one.amount_minor
        discounts[row] += one.discounts_minor
        left[row] += one.left_minor
        sign = -1 if is_reversal else 1
        place, untaxed_minor = (*row[:2], one.counter.currency), one.amount_minor + one.taxed_again_minor
        for amount in one.taxes:
            tax_row = (*place, False, amount.code, amount.name, amount.rate, one.counter.digits)
            gross[tax_row] += sign * amount.gross_minor
            tax[tax_row] += sign * amount.tax_minor
            untaxed_minor -= amount.gross_minor
        untaxed[*place, True, "", "", Decimal(), one.counter.digits] += sign * untaxed_minor
        if len(rows) + len(gross) > MOST_ROWS:
            raise too_much()
    gross.update(untaxed)
    taxes = [_tax_taking(row, gross[row], tax[row]) for row in sorted(gross) if gross[row] or tax[row]]
    off = {row: (discounts[row], left[row]) for row in rows}
    return Takings([_taking(rows[row], row, counts, money, off[row]) for row in sorted(rows)], taxes)


def _tax_taking(row: TaxRow, gross_minor: int, tax_minor: int) -> TaxTaking:
    day, hour, currency, is_untaxed, code, name, rate, digits = row
    gross, tax = (Decimal(minor).scaleb(-digits) for minor in (gross_minor, tax_minor))
    found = TaxTaking(day, None if hour < 0 else hour, currency, code, name, rate, gross, tax)
    return replace(found, code=None, name=None, rate=None) if is_untaxed else found


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


def _taking(
    one: Moved, row: Row, counts: Counter[tuple[Row, bool]], money: Counter[tuple[Row, bool]], off: tuple[int, int]
) -> Taking:
    digits = one.counter.digits
    discounts, left_to_pay = (Decimal(minor).scaleb(-digits) for minor in off)
    return Taking(
        day=one.day,
        hour=one.hour,
        agent_id=one.counter.agent_id,
        input_type=one.counter.input_type,
        acquirer=one.counter.acquirer,
        currency=one.counter.currency,
        payments=counts[row, False],
        amount=Decimal(money[row, False]).scaleb(-digits),
        discounts=discounts,
        left_to_pay=left_to_pay,
        reversals=counts[row, True],
        amount_reversed=Decimal(money[row, True]).scaleb(-digits),
    )
