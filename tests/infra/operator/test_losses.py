"""Transactions that only a receipt or an event still has, and items that are missing by right."""

from datetime import timedelta

import pytest

from chalicelib.store import outbox, transactions
from chalicelib.store.table import write_one
from infra.operator import restore
from infra.operator.losses import lost_without_entry
from infra.operator.restore import Source
from tests.support.accounts import a_stored_merchant
from tests.support.events import a_stored_event
from tests.support.receipts import an_entry
from tests.support.transactions import NOW, a_guid, a_payment

CHOSEN = [transactions.TABLE]


@pytest.fixture
def merchant(engine: str) -> int:
    del engine
    return a_stored_merchant().id


def lost(merchant: int, table: str) -> str:
    """Return the ID of a lost transaction that this table still has."""
    if table == "events":
        return a_stored_event(merchant).transaction_id or ""
    name = a_guid()
    write_one(outbox.put(an_entry(id=f"{name}.email", transaction_id=name, client_id=merchant)))
    return name


@pytest.mark.parametrize("table", ["outbox", "events"])
def test_a_lost_transaction_is_named_by_what_outlived_it(merchant: int, table: str) -> None:
    name = lost(merchant, table)
    line = f"lost transaction: {name}, which is still in the table {table}"

    assert lost_without_entry(CHOSEN, merchant, []) == [line]
    assert line in lost_without_entry(CHOSEN, None, [])
    assert lost_without_entry(CHOSEN, merchant + 1, []) == []
    assert lost_without_entry(CHOSEN, merchant, [f"lost payment: {name}"]) == []
    assert lost_without_entry(["events"], merchant, []) == []


@pytest.mark.parametrize("table", ["outbox", "events"])
def test_a_stored_transaction_is_not_lost(merchant: int, table: str) -> None:
    transactions.record(a_payment(id=lost(merchant, table), client_id=merchant))

    assert lost_without_entry(CHOSEN, merchant, []) == []


@pytest.mark.parametrize(("hours", "is_wanted"), [(-30, False), (-1, False), (0, False), (1, True)])
def test_an_item_that_has_expired_by_now_is_not_missing(*, hours: int, is_wanted: bool) -> None:
    source = Source("copy-", NOW - timedelta(days=1), NOW, None)
    expires_at = int((NOW + timedelta(hours=hours)).timestamp())

    assert restore._is_wanted("events", {"expires_at": {"N": str(expires_at)}}, source) is is_wanted  # noqa: SLF001
