"""The cost of lists, takings and exports by the number of tills, and conflicts of tills that pay at once.

Part of `make bench ARGS=history`. `ARGS="history million"` adds a year of a million payments: that takes many minutes
and 6 GB of memory.
"""

import itertools
import json
import statistics
import sys
import threading
import time
import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from unittest import mock

from app import app
from chalicelib.aws.client import Limits
from chalicelib.domain.business_days import business_day
from chalicelib.domain.transaction import Purchase, Reversals, Transaction
from chalicelib.gateways import files
from chalicelib.schemas.history import ListHistory
from chalicelib.services import history_export
from chalicelib.store import aws_retries, outbox, transactions
from chalicelib.store.history import IN_ORDER
from chalicelib.store.table import Write, commit
from infra.bench.client import LambdaClient, measure_capacity, timed_ms
from infra.bench.shop import Shop, create_shop, write_in_bulk
from infra.bench.table import Table, show

SIZES = ((10_000, 0), (100_000, 20))  # rows; one payment of so many is partly reversed
EXPORTING_TILLS = 30
SLOW = Limits(connect_seconds=1, read_seconds=60, attempts=1)  # for an engine that shares the machine
MEGABYTE = 1024 * 1024


def export_table() -> Table:
    """Return the cost of exporting a month: from entries only, and with some transactions looked up."""
    with mock.patch.object(aws_retries, "PATIENT", SLOW):
        rows = [_measured(size, reversed_each) for size, reversed_each in SIZES]
    columns = ("store calls", "read units", "processor s", "memory MB", "file MB")
    return Table("export", ("rows of an export, of 30 tills", *columns), rows)


def _measured(size: int, reversed_each: int) -> tuple[str, ...]:
    shop = create_shop(EXPORTING_TILLS)
    payments = shop.payments(size)
    if reversed_each:
        payments = (one if number % reversed_each else _reversed_in_part(one) for number, one in enumerate(payments))
    write_in_bulk(payments, _is_read)
    _export(shop)  # makes the month sums
    with measure_capacity() as meter:
        seconds = timed_ms(partial(_export, shop)) / 1000
    length, most = _measured_memory(partial(_export, shop))
    name = f"{size:,}, {size // reversed_each:,} of them looked up" if reversed_each else f"{size:,}"
    figures = (f"{meter.calls:,}", f"{meter.read_units:,.0f}", f"{seconds:.1f}", f"{most:.0f}")
    return (name, *figures, f"{length / MEGABYTE:.1f}")


def _is_read(item: Mapping[str, Any]) -> bool:
    """Return whether the export reads an item. The others are not loaded."""
    return item["at"]["S"].startswith(IN_ORDER) if "at" in item else "reverse_invoice" in item


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
    for name, make in (("usual, 2 KB", lambda payment: payment), ("the largest legal ones", _largest)):
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


AT_ONCE, EACH = 64, 10  # tills, and payments of each
ALONE = 50  # payments on a quiet machine
LAST_WEEK = timedelta(days=7)


@dataclass(frozen=True)
class Sent:
    """A sent transaction: the items it writes, and the seconds at which it began and ended."""

    items: frozenset[str]
    began: float
    ended: float


def tills_table() -> Table:
    """Return how many transactions of parallel tills overlap in an item.

    DynamoDB Local never answers TransactionConflict: it carries out transactions one after the other. So a model counts
    the conflicts: a transaction lasts as long as it does on a quiet machine, until its answer. Two conflict if they
    overlap and write the same item. DynamoDB would cancel one of them, and the service would repeat it with jitter.
    """
    shop = create_shop(AT_ONCE, days=1)
    seconds = statistics.median(one.ended - one.began for one in _pay_at_once(shop, {}, tills=1, each=ALONE))
    one_agent = replace(shop, agents=shop.agents[:1] * AT_ONCE)
    of_last_week = {"date": shop.now - LAST_WEEK}
    rows = []
    for name, shop_of_tills, changes in (
        ("cash", shop, {}),
        ("cash, taken offline last week", shop, of_last_week),
        ("cash, all signed in as one agent", one_agent, {}),
    ):
        sent = _pay_at_once(shop_of_tills, changes)
        met = _met([replace(one, began=one.ended - seconds) for one in sent])
        where = ", ".join(f"{item} {number}" for item, number in met.most_common()) or "-"
        times = sorted((one.ended - one.began) * 1000 for one in sent)
        p50, p95 = statistics.median(times), times[len(times) * 95 // 100]
        rows.append((name, str(len(sent)), str(met.total()), where, f"{p50:.0f}", f"{p95:.0f}"))
    columns = ("payments", f"pairs that meet, of {seconds * 1000:.0f} ms each", "in which item", "p50 ms", "p95 ms")
    return Table("tills", (f"{AT_ONCE} tills at once", *columns), rows)


def _pay_at_once(shop: Shop, changes: Mapping[str, Any], tills: int = AT_ONCE, each: int = EACH) -> list[Sent]:
    """Record payments from one thread for each till. All threads start together."""
    sent: list[Sent] = []
    start = threading.Barrier(tills)

    def timed(*writes: Write) -> None:
        began = time.perf_counter()
        commit(*writes)
        sent.append(Sent(frozenset(map(_item_of, writes)), began, time.perf_counter()))

    def pay(number: int) -> None:
        of_till = replace(shop, agents=[shop.agents[number]], now=datetime.now(UTC))
        payments = list(of_till.payments(each))
        start.wait()
        for payment in payments:
            transactions.record(replace(payment, created_at=datetime.now(UTC), **changes))

    with mock.patch.object(outbox, "commit", timed), ThreadPoolExecutor(tills) as pool:
        for till in [pool.submit(partial(pay, number)) for number in range(tills)]:
            till.result()
    return sent


def _item_of(write: Write) -> str:
    key = write.parameters.get("Key") or write.parameters["Item"]
    return " ".join(str(key[name]) for name in ("month", "at", "id") if name in key)


def _met(sent: Iterable[Sent]) -> Counter[str]:
    """Count the pairs of transactions that overlapped in an item, by the kind of the item."""
    writers: defaultdict[str, list[Sent]] = defaultdict(list)
    for one in sent:
        for item in one.items:
            writers[item].append(one)
    met = Counter[str]()
    for item, of_item in writers.items():
        pairs = itertools.combinations(of_item, 2)
        kind = next((kind for kind in ("late#", "total#", "slots#") if kind in item), "another")
        met[kind.rstrip("#")] += sum(a.began < b.ended and b.began < a.ended for a, b in pairs)
    return +met


TILLS, SEARCHING_TILLS = (1, 3, 30, 300), (3, 90, 300)
SIZE, MILLION = 10_000, 1_000_000
RUNS = 9
YEAR_DAYS, MONTH_DAYS = 365, 31
LIST_HISTORY = "/api/v1/payment/listHistoryEx"
TAKINGS = "/api/v1/report/takings"


def history_tables() -> list[Table]:
    """Print each table as soon as it is measured, on the selected DynamoDB Local, and return all."""
    tables = [show(pages_table("history", SIZE))]
    if "million" in sys.argv[1:]:
        tables.append(show(pages_table("history-million", MILLION)))
    tables += [show(searches_table(SIZE)), show(export_table()), show(records_table())]
    return [*tables, show(takings_table(SIZE)), show(tills_table())]


def pages_table(name: str, size: int) -> Table:
    """Return the cost of pages of a list of a year of so many payments, by the number of tills."""
    middle, last = size // 200, size // 100
    rows = []
    for tills in TILLS:
        shop = _filled_shop(tills, size, YEAR_DAYS)
        first = _cost(partial(_list, shop))
        requests = ({"Page": 1}, {"Page": middle}, {"Page": last}, {"AccountID": shop.agents[-1].id})
        pages = [_repeated_cost(partial(_list, shop, **model)) for model in requests]
        rows.append((str(tills), first, *(cost for cost, _ in pages), f"{pages[0][1]:.0f}"))
    columns = ("the first list", "page 1", f"page {middle:,}", f"page {last:,}", "page 1 of one agent", "processor ms")
    return Table(name, (f"tills, of {size:,} payments: calls, read units", *columns), rows)


def searches_table(size: int) -> Table:
    """Return the cost of a text search in a month of so many payments."""
    texts = ("nothing of the kind", "table 77,", "newspaper")
    rows = []
    for tills in SEARCHING_TILLS:
        shop = _filled_shop(tills, size, MONTH_DAYS)
        found = [json.loads(_list(shop, Search=text))["TransactionsCounters"]["ItemCountTtl"] for text in texts]
        rows.append((str(tills), *(_repeated_cost(partial(_list, shop, Search=text))[0] for text in texts)))
    columns = (f"{number:,} found" for number in found)
    return Table("search", (f"tills, text searched in a month of {size:,}: calls, read units", *columns), rows)


def takings_table(size: int) -> Table:
    """Return the cost of the takings of a year of so many payments, by the number of tills."""
    rows = []
    for tills in TILLS:
        shop = _filled_shop(tills, size, YEAR_DAYS)
        month = (shop.now - timedelta(days=MONTH_DAYS - 2)).date()
        today = business_day(shop.now, shop.merchant.gmt)
        row = [str(tills)]
        for first, detail in ((shop.first_day, {}), (month, {}), (month, {"By": "hour"}), (today, {"By": "hour"})):
            body = {"Period": {"From": str(first)}, **detail}
            request = partial(LambdaClient(app, shop.owner).call, "POST", TAKINGS, body)
            cost, milliseconds = _repeated_cost(request)
            row.append(f"{cost}, {milliseconds:.0f}, {len(request()) / 1024:.0f}")
        rows.append(tuple(row))
    columns = ("a year by day", "a month by day", "a month by hour", "today by hour")
    return Table("takings", (f"tills, of {size:,} payments: calls, read units, processor ms, KB", *columns), rows)


def _filled_shop(tills: int, size: int, days: int) -> Shop:
    """Store a merchant with so many tills and payments, and return it."""
    shop = create_shop(tills, days)
    write_in_bulk(shop.payments(size))
    return shop


def _cost(request: Callable[[], object]) -> str:
    """Send a request; return the calls and the read units that it took."""
    with measure_capacity() as meter:
        request()
    return f"{meter.calls}, {meter.read_units:.0f}"


def _repeated_cost(request: Callable[[], object]) -> tuple[str, float]:
    """Send a request several times; return the cost of the second time, and the median processor time."""
    request()
    return _cost(request), statistics.median(timed_ms(request) for _ in range(RUNS))


def _list(shop: Shop, **model: Any) -> Any:
    """Return the answer of listHistoryEx to the first agent, which sees every payment."""
    body = {"Period": {"From": str(shop.first_day)}, "ListBasicModel": model}
    return LambdaClient(app, shop.owner).call("POST", LIST_HISTORY, body)
