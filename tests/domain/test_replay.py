from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain.business_days import text_of
from chalicelib.domain.reversal import ReversalOrder, ReverseMode, content_identity
from tests.support.transactions import a_payment

ORIGINAL = a_payment(gmt=2)
instants = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  hypothesis adds the zone
zones = st.none() | st.integers(-12, 14)


def identity(time: str | None, gmt: int | None = None, **changes: Any) -> tuple[object, ...] | None:
    order = ReversalOrder(ORIGINAL.id, ReverseMode.RETURN, "{}", Decimal(5), client_date_time=time, gmt=gmt)
    return content_identity(replace(order, **changes), ORIGINAL, 17)


@given(at=instants, one=zones, other=zones)
def test_one_instant_is_one_identity_in_whatever_zone_it_is_written(
    at: datetime, one: int | None, other: int | None
) -> None:
    written = [(text_of(at, 2 if gmt is None else gmt), gmt) for gmt in (one, other)]
    later = text_of(at + timedelta(seconds=1), 2)

    assert identity(*written[0]) == identity(*written[1])
    assert identity(later) != identity(*written[0])


@pytest.mark.parametrize(
    ("time", "gmt"),
    [
        ("2026-03-14T10:00:00.000", None),
        (" 2026-03-14 10:00 ", None),
        ("2026-03-14T10:00:00", 2),
        ("2026-03-13T20:00:00", -12),
        ("2026-03-14T22:00:00", 14),
        ("2026-03-14T08:00:00Z", None),
        ("2026-03-14T08:00:00Z", -5),
        ("2026-03-14T09:00:00.0+01:00", 7),
    ],
)
def test_equal_times_are_one_identity(time: str, gmt: int | None) -> None:
    assert identity(time, gmt) == identity("2026-03-14T10:00:00")


def test_a_local_time_of_the_merchant_in_whole_seconds_is_its_own_identity() -> None:
    found = identity("2026-03-14T10:00:00")

    assert found is not None
    assert found[-1] == "2026-03-14T10:00:00"


@pytest.mark.parametrize(
    "time", ["half past ten", "14.03.2026 10:00", "1773482400", "9999-12-31T23:59:59-14:00", "\ud800"]
)
def test_a_text_that_is_no_time_is_an_identity_as_it_stands(time: str) -> None:
    found = identity(time)

    assert found is not None
    assert found[-1] == time
    assert found == identity(time, 5) != identity(f"{time}.")


@pytest.mark.parametrize("time", [None, "", "  ", "0001-01-01T00:00:00", "0001-01-01T00:00:00Z"])
def test_without_a_time_there_is_no_identity(time: str | None) -> None:
    assert identity(time) is None


@pytest.mark.parametrize("change", [{"amount": None}, {"amount": Decimal(6)}, {"mode": ReverseMode.CANCEL}])
def test_other_content_at_the_same_time_is_another_identity(change: dict[str, Any]) -> None:
    assert identity("2026-03-14T10:00:00", **change) != identity("2026-03-14T10:00:00")
