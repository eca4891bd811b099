"""Drawers: the currency of a day's cash, and the next count."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.domain.drawer import Cash, Count, Drawer, Entry, currency_code, next_count
from tests.support.transactions import NOW, ZAR

BEFORE, LATER = NOW - timedelta(hours=9), NOW + timedelta(hours=1)
COUNT = Count(7, "", 4, 17, ZAR, BEFORE, 5, 900, 50_000, 50_900, BEFORE, 5, "From the safe")
DRAWER = Drawer(7, date(2026, 3, 14), 17, "Door", ZAR, Cash({("ZAR", 2): 1230, ("JPY", 0): 9}), COUNT)


@pytest.mark.parametrize(
    ("entered", "changes"),
    [
        ({}, {}),
        ({"note": "Again"}, {"note": "Again"}),
        ({"float_amount": Decimal(3)}, {"float_minor": 300}),
        ({"float_amount": Decimal(0)}, {"float_minor": 0}),
        ({"counted": Decimal(4)}, {"counted_minor": 400, "counted_at": LATER, "counted_by": 6}),
        ({"counted": Decimal(0)}, {"counted_minor": 0, "counted_at": LATER, "counted_by": 6}),
    ],
)
def test_a_count_has_the_cash_of_its_time_and_keeps_the_rest_of_the_count_before(
    entered: dict[str, Any], changes: dict[str, Any]
) -> None:
    made: dict[str, Any] = {"number": 5, "stored_at": LATER, "stored_by": 6, "cash_minor": 1230, "note": None}

    assert next_count(DRAWER, ZAR, Entry(**entered), 6, LATER) == replace(COUNT, **(made | changes))


@pytest.mark.parametrize(
    ("held", "taken", "code"),
    [
        ((), None, None),
        ((), "ZAR", "ZAR"),
        (("ZAR",), "ZAR", "ZAR"),
        (("JPY",), "ZAR", "JPY"),
        (("JPY", "ZAR"), "ZAR", "ZAR"),
        (("USD", "JPY"), "ZAR", "JPY"),
        (("JPY",), None, "JPY"),
    ],
)
def test_a_drawer_has_the_currency_that_is_taken_unless_all_its_cash_is_in_others(
    held: tuple[str, ...], taken: str | None, code: str | None
) -> None:
    assert currency_code(taken, Cash({(one, 2): 100 for one in held})) == code
