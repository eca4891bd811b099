"""Takings: rows added up from moved money, and the limits of an answer."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest

from chalicelib.domain import takings
from chalicelib.domain.history_entry import CounterKey
from chalicelib.domain.takings import Moved, check_size, takings_of
from chalicelib.domain.taxes import TaxAmount
from chalicelib.errors import ErrorCode, ServiceError

DAY = date(2026, 3, 14)
CASH = CounterKey(17, 10, 0, 2, "ZAR", "CASH")
PAID = Moved(CASH, DAY, None, 2, 2460)
GIVEN_BACK = Moved(replace(CASH, reverse_mode=2), DAY, None, 1, 1000)


def test_payments_and_reversals_of_a_kind_are_one_row() -> None:
    [row] = takings_of([PAID, GIVEN_BACK, replace(PAID, number=1, amount_minor=40)]).rows

    assert (row.payments, row.amount, row.reversals, row.amount_reversed) == (3, Decimal("25.00"), 1, Decimal("10.00"))
    assert row.net == Decimal("15.00")
    assert (row.day, row.hour, row.agent_id, row.input_type, row.acquirer, row.currency) == (
        DAY,
        None,
        17,
        10,
        "CASH",
        "ZAR",
    )


def test_a_day_of_reversals_alone_is_below_zero() -> None:
    [row] = takings_of([GIVEN_BACK, replace(GIVEN_BACK, counter=replace(CASH, reverse_mode=1))]).rows

    assert (row.payments, row.reversals, row.net) == (0, 2, Decimal("-20.00"))


@pytest.mark.parametrize(
    "other",
    [
        replace(PAID, day=date(2026, 3, 15)),
        replace(PAID, counter=replace(CASH, agent_id=18)),
        replace(PAID, counter=replace(CASH, input_type=7)),
        replace(PAID, counter=replace(CASH, acquirer="OTHER")),
        replace(PAID, counter=replace(CASH, currency="JPY", digits=0)),
    ],
)
def test_what_differs_has_a_row_of_its_own(other: Moved) -> None:
    assert len(takings_of([PAID, other]).rows) == 2


def test_hours_have_rows_in_their_order() -> None:
    rows = takings_of(replace(PAID, hour=hour) for hour in (23, 0, 7, 0)).rows

    assert [(row.hour, row.payments) for row in rows] == [(0, 4), (7, 2), (23, 2)]


def test_what_moved_nothing_has_no_row() -> None:
    assert takings_of([replace(PAID, number=0, amount_minor=0)]).rows == []


def test_more_rows_than_an_answer_holds_are_refused() -> None:
    days = takings.MOST_ROWS // 24
    rows = [
        replace(PAID, day=date(1990, 1, 1) + timedelta(day), hour=hour) for day in range(days) for hour in range(24)
    ]

    assert len(takings_of(rows).rows) == takings.MOST_ROWS
    taxed = replace(rows[0], taxes=(TaxAmount("VAT", "VAT", Decimal(15), 2460, 321),))
    for more in ([*rows, replace(PAID, day=date(2026, 3, 15))], [*rows[1:], taxed]):
        with pytest.raises(ServiceError) as refused:
            takings_of(more)
        assert refused.value.error is ErrorCode.PERIOD_TOO_LONG
    assert len(takings_of([*rows[2:], taxed]).rows) == takings.MOST_ROWS - 1


def test_longer_names_than_an_answer_holds_are_refused() -> None:
    check_size(["Till 1"] * takings.MOST_ROWS)
    check_size([None] * takings.MOST_ROWS)

    for long in ("日", '"', "\\", "\n", "x"):
        with pytest.raises(ServiceError):
            check_size([long * 256] * takings.MOST_ROWS)
