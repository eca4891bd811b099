"""The cost of lists and exports by the number of tills. Part of `make bench ARGS=history`."""

import json
import statistics
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any
from unittest import mock

from app import app
from chalicelib.domain.transaction import Purchase, Reversals, Transaction
from chalicelib.gateways import files
from chalicelib.schemas.history import ListHistory
from chalicelib.services import history_export
from chalicelib.store import aws_client, transactions
from chalicelib.store.aws_client import Limits
from chalicelib.store.history import IN_ORDER
from infra.bench.client import LambdaClient, measure_capacity, timed_ms
from infra.bench.shop import Shop, create_shop, write_in_bulk
from infra.bench.table import Table, show

SIZES = ((10_000, 0), (100_000, 20))  # rows; one payment of so many is partly reversed
EXPORTING_TILLS = 20
SLOW = Limits(connect_seconds=1, read_seconds=60, attempts=1)  # for an engine that shares the machine
MEGABYTE = 1024 * 1024


def export_table() -> Table:
    """Return the cost of exporting a month: from entries only, and with some transactions looked up."""
    with mock.patch.object(aws_client, "PATIENT", SLOW):
        rows = [_measured(size, reversed_each) for size, reversed_each in SIZES]
    columns = ("store calls", "read units", "processor s", "memory MB", "file MB")
    return Table("export", (f"rows of an export, of {EXPORTING_TILLS} tills", *columns), rows)


def _measured(size: int, reversed_each: int) -> tuple[str, ...]:
    shop = create_shop(EXPORTING_TILLS)
    payments = shop.payments(size)
    if reversed_each:
        payments = (one if number % reversed_each else _reversed_in_part(one) for number, one in enumerate(payments))
    write_in_bulk(payments, _is_read)
    with measure_capacity() as meter:
        seconds = timed_ms(partial(_export, shop)) / 1000
    length, most = _measured_memory(partial(_export, shop))
    name = f"{size:,}, {size // reversed_each:,} of them looked up" if reversed_each else f"{size:,}"
    figures = (f"{meter.calls:,}", f"{meter.read_units:,.0f}", f"{seconds:.1f}", f"{most:.0f}")
    return (name, *figures, f"{length / MEGABYTE:.1f}")


def _is_read(item: Mapping[str, Any]) -> bool:
    """Return whether the export reads an item. The others are not loaded."""
    return item["at"]["S"].startswith(IN_ORDER) if "at" in item else "reversals_latest_id" in item


def _reversed_in_part(payment: Transaction) -> Transaction:
    return replace(payment, reversals=Reversals(100, count=1, latest_id=payment.id, latest_invoice="1"))


def _export(shop: Shop) -> int:
    """Export the history of the shop, and return the size of the file in bytes."""
    body = ListHistory.model_validate({"Period": {"From": str(shop.first_day)}})
    lengths: list[int] = []
    with mock.patch.object(files, "put_export", lambda _, content, __: lengths.append(content.seek(0, 2))):
        history_export.export(body, shop.owner, shop.now)
    return lengths[0]


MANY = 600  # payments of one shop, each reversed in part


def records_table() -> Table:
    """Return the cost of usual and of the largest legal records: a payment, a page and an export."""
    rows = []
    for name, make in (("usual, 1 KB", lambda payment: payment), ("the largest legal ones", _largest)):
        shop = create_shop(tills=1)
        with measure_capacity() as stored:
            transactions.record(make(next(shop.payments(1))))
        write_in_bulk(_reversed_in_part(make(one)) for one in shop.payments(MANY))
        page, milliseconds = _repeated_cost(partial(_list, shop))
        size = len(_list(shop).encode()) / 1024
        _, most = _measured_memory(partial(_export, shop))
        figures = (f"{milliseconds:.0f}", f"{size:,.0f}", f"{timed_ms(partial(_export, shop)):,.0f}", f"{most:.0f}")
        rows.append((name, f"{stored.write_units:.0f}", page, *figures))
    columns = ("write units", "page: calls, read units", "ms", "KB", f"export of {MANY}: ms", "MB")
    return Table("records", ("records", *columns), rows)


def _largest(payment: Transaction) -> Transaction:
    lines = tuple(Purchase("x" * 380, Decimal(1), Decimal(1), tuple(["c" * 30] * 8)) for _ in range(100))
    texts = replace(
        payment.particulars, description="日" * 1024, ext_tran_data=json.dumps({"a": "b" * 8_000}), ext_id="x" * 128
    )
    return replace(payment, particulars=texts, receipt=replace(payment.receipt, purchases=lines))


def _measured_memory(operation: Callable[[], int]) -> tuple[int, float]:
    """Return the result of an operation, and the most memory that it took, in megabytes."""
    tracemalloc.start()
    result = operation()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return result, most / MEGABYTE


TILLS = (1, 3, 20)
SIZE = 10_000
RUNS = 9
YEAR_DAYS = 365
LIST_HISTORY = "/api/v1/payment/listHistoryEx"


def history_tables() -> list[Table]:
    """Print each table as soon as it is measured, on the selected DynamoDB Local, and return all."""
    tables = (pages_table, export_table, records_table)
    return [show(make()) for make in tables]


def pages_table() -> Table:
    """Return the cost of pages of a list of a year, by the number of tills."""
    middle, last = SIZE // 200, SIZE // 100
    rows = []
    for tills in TILLS:
        shop = create_shop(tills, YEAR_DAYS)
        write_in_bulk(shop.payments(SIZE))
        requests = ({"Page": 1}, {"Page": middle}, {"Page": last}, {"AccountID": shop.agents[-1].id})
        pages = [_repeated_cost(partial(_list, shop, **model)) for model in requests]
        rows.append((str(tills), *(cost for cost, _ in pages), f"{pages[0][1]:.0f}"))
    columns = ("page 1", f"page {middle:,}", f"page {last:,}", "page 1 of one agent", "processor ms")
    return Table("history", (f"tills, of {SIZE:,} payments: calls, read units", *columns), rows)


def _repeated_cost(request: Callable[[], object]) -> tuple[str, float]:
    """Send a request several times; return the cost of the second time, and the median processor time."""
    request()
    with measure_capacity() as meter:
        request()
    cost = f"{meter.calls}, {meter.read_units:.0f}"
    return cost, statistics.median(timed_ms(request) for _ in range(RUNS))


def _list(shop: Shop, **model: Any) -> Any:
    """Return the answer of listHistoryEx to the first agent, which sees every payment."""
    body = {"Period": {"From": str(shop.first_day)}, "ListBasicModel": model}
    return LambdaClient(app, shop.owner).call("POST", LIST_HISTORY, body)
