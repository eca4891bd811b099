"""The cost of an export: store calls, read units, processor time, memory and bytes, by the number of its rows.

`python -m infra.bench.export`, and a part of `make bench ARGS=history`.
"""

import time
import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock

from chalicelib.aws.client import Limits
from chalicelib.domain.agent import Caller
from chalicelib.domain.transaction import Reversals, Transaction
from chalicelib.gateways import files
from chalicelib.schemas.history import ListHistory
from chalicelib.services import reports
from chalicelib.store import retries
from chalicelib.store.history import IN_ORDER
from infra.bench.capacity_meter import measure_capacity
from infra.bench.shop import Shop, create_shop, write_in_bulk
from infra.bench.table import Table, show
from infra.local import engines

SIZES = ((10_000, 0), (100_000, 20))  # rows, and of how many payments one is reversed in part
TILLS, DAYS = 30, 31
SLOW = Limits(connect_seconds=1, read_seconds=60, attempts=1)  # of an engine that shares the machine with others
MEGABYTE = 1024 * 1024


def export_table() -> Table:
    """Return what an export of a month costs: with entries alone, and with some transactions looked up."""
    with mock.patch.object(retries, "PATIENT", SLOW):
        rows = [_measured(size, reversed_each) for size, reversed_each in SIZES]
    columns = ("store calls", "read units", "processor s", "memory MB", "file MB")
    return Table("export", ("rows of an export, of 30 tills", *columns), rows)


def _measured(size: int, reversed_each: int) -> tuple[str, ...]:
    shop = create_shop(TILLS)
    payments = shop.payments(size, DAYS)
    if reversed_each:
        payments = (one if number % reversed_each else _reversed_in_part(one) for number, one in enumerate(payments))
    write_in_bulk(payments, _is_read)
    _export(shop)  # rolls the totals up
    with measure_capacity() as meter:
        started = time.process_time()
        length = _export(shop)
        seconds = time.process_time() - started
    tracemalloc.start()
    _export(shop)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    name = f"{size:,}, {size // reversed_each:,} of them looked up" if reversed_each else f"{size:,}"
    figures = (f"{meter['calls']:,}", f"{meter['RCU']:,.0f}", f"{seconds:.1f}", f"{most / MEGABYTE:.0f}")
    return (name, *figures, f"{length / MEGABYTE:.1f}")


def _is_read(item: Mapping[str, Any]) -> bool:
    """Return whether the export reads an item: the others need not be loaded."""
    return item["at"]["S"].startswith(IN_ORDER) if "at" in item else "reverse_invoice" in item


def _reversed_in_part(payment: Transaction) -> Transaction:
    return replace(payment, reversals=Reversals(100, count=1, latest_id=payment.id, latest_invoice="1"))


def _export(shop: Shop) -> int:
    """Export the history of the shop, and return how many bytes would have been sent to the bucket."""
    agent = shop.agents[0]
    caller = Caller(agent.id, agent.client_id, agent.credential_version)
    body = ListHistory.model_validate({"Period": {"From": str((shop.now - timedelta(days=DAYS)).date())}})
    lengths: list[int] = []
    with mock.patch.object(files, "put_export", lambda _, content, __: lengths.append(content.seek(0, 2))):
        reports.export(body, caller, shop.now)
    return lengths[0]


def main() -> None:
    """Print the table, measured on a DynamoDB Local of its own."""
    with engines.moto_engine(), engines.dynamodb_local() as url:
        engines.select(url)
        show(export_table())


if __name__ == "__main__":
    main()
