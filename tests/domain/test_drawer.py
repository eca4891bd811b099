"""Drawers: which one is open, and which cash it holds."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.domain import cash
from chalicelib.domain.drawer import CLOSE, OPEN, PAID_IN, Drawer, LatestDrawer, Movement, closed, require_open
from chalicelib.errors import ErrorCode, ServiceError
from tests.support.transactions import ZAR

NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)
OPENING = Movement(NOON, 17, OPEN, 100)
DRAWER = Drawer(7, "drawer#A", agent_id=17, currency=ZAR, opened_at=NOON, movements=(OPENING,))
LATEST = LatestDrawer(7, "agent#17", "A", "2ZAR", NOON, before={})
CLOSED = closed(DRAWER, Movement(NOON, 17, CLOSE, 0), {})


@pytest.mark.parametrize(
    ("drawer", "latest"),
    [
        (None, None),
        (DRAWER, None),
        (DRAWER, replace(LATEST, drawer_id="B")),
        (CLOSED, LATEST),  # it was closed after the latest one was read
        (CLOSED, replace(LATEST, before=None)),
    ],
)
def test_only_the_open_drawer_of_its_agent_takes_movements(drawer: Drawer | None, latest: LatestDrawer | None) -> None:
    with pytest.raises(ServiceError) as refused:
        require_open(drawer, latest)

    assert refused.value.error is ErrorCode.NO_OPEN_DRAWER
    assert require_open(DRAWER, LATEST) == (DRAWER, LATEST)


def test_a_drawer_holds_cash_of_its_currency_since_the_day_before_its_opening() -> None:
    latest = replace(LATEST, before={"m2026-03-312ZAR": 5, "m2026-04-012ZAR": 30, "k2026-04-012ZAR": 2})
    moved = {
        "m2026-03-302ZAR": 1000,  # a request that took two days is in no drawer
        "m2026-03-312ZAR": 6,
        "m2026-04-012ZAR": 10,
        "k2026-04-012ZAR": 3,
        "m2026-05-022ZAR": 400,
        "m2026-05-020JPY": 9,
    }

    held = latest.holds(moved, gmt=2)

    assert held == {"m2026-03-312ZAR": 1, "m2026-04-012ZAR": -20, "k2026-04-012ZAR": 1, "m2026-05-022ZAR": 400}
    assert cash.money_in(held, "2ZAR") == 381
    assert replace(latest, before=None).holds(moved, gmt=2) == {}
    assert cash.months_near((NOON - timedelta(days=1)).date(), NOON.date()) == ["2026-03", "2026-04"]


def test_sums_of_a_drawer_are_by_kind() -> None:
    drawer = replace(DRAWER, movements=(OPENING, *(Movement(NOON, 17, PAID_IN, minor) for minor in (2, 5))))

    assert [drawer.sum_of(kind) for kind in (OPEN, PAID_IN, CLOSE)] == [100, 7, 0]
