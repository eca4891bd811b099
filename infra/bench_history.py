"""The cost of lists at 1, 3, 30 and 300 tills of one merchant, and what tills that pay at once have in common.

`python -m infra.bench_history`, and a part of `make bench ARGS=history`; with `million` beside it a year of a million
payments too, which takes many minutes and 6 GB of memory.
"""

import json
import statistics
import sys
import time
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from app import app
from chalicelib.domain.agent import Caller
from infra import engines
from infra.bench_shop import Shop, create_shop
from infra.bench_tills import print_tills
from infra.bulk_load import write_in_bulk
from infra.capacity_meter import measure_capacity
from infra.lambda_client import LambdaClient

TILLS, SEARCHING_TILLS = (1, 3, 30, 300), (3, 90, 300)
SIZE, MILLION = 10_000, 1_000_000
RUNS = 9
YEAR_DAYS, MONTH_DAYS = 365, 31
LIST_HISTORY = "/api/v1/payment/listHistoryEx"
COLUMNS = "store calls | RCU | processor ms | ms |"


def print_history() -> None:
    """Print the tables, on the DynamoDB Local that was selected before."""
    for size in (SIZE, MILLION) if "million" in sys.argv[1:] else (SIZE,):
        print_pages(size)
    print_searches(SIZE)
    print_tills()


def print_pages(size: int) -> None:
    """Print what pages of a year of so many payments cost, by the number of tills."""
    print(f"\nA page of a list of a year, {size:,} payments of one merchant:\n")
    print(f"| tills | page | {COLUMNS}\n|---:|---|---:|---:|---:|---:|")
    for tills in TILLS:
        shop, first = _filled_shop(tills, size, YEAR_DAYS)
        print(f"| {tills} | 1, the first list ever | {_measure_once(shop, first)}")
        for page in (1, size // 200, size // 100):
            print(f"| {tills} | {page:,} | {_measure(shop, first, Page=page)}")
        print(f"| {tills} | 1, of one agent | {_measure(shop, first, AccountID=shop.agents[-1].id)}", flush=True)


def print_searches(size: int) -> None:
    """Print what a text searched in a month of so many payments costs."""
    print(f"\nText searched in a month of {size:,}:\n")
    print(f"| tills | Search | found | {COLUMNS}\n|---:|---|---:|---:|---:|---:|---:|")
    for tills in SEARCHING_TILLS:
        shop, first = _filled_shop(tills, size, MONTH_DAYS)
        for text in ("nothing of the kind", "table 77,", "newspaper"):
            found = _list(shop, first, {"Search": text})["TransactionsCounters"]["ItemCountTtl"]
            print(f"| {tills} | {text} | {found:,} | {_measure(shop, first, Search=text)}", flush=True)


def _filled_shop(tills: int, size: int, days: int) -> tuple[Shop, date]:
    """Store a merchant with so many tills and payments; return it and the first day of its lists."""
    shop = create_shop(tills)
    write_in_bulk(shop.payments(size, days))
    return shop, (shop.now - timedelta(days=days)).date()


def _measure_once(shop: Shop, first: date, **model: Any) -> str:
    """Return the cells of a row: store calls, RCU, processor time and wall time of one list."""
    processor_start, wall_start = time.process_time(), time.perf_counter()
    with measure_capacity() as meter:
        _list(shop, first, model)
    return _cells(meter, time.process_time() - processor_start, time.perf_counter() - wall_start)


def _measure(shop: Shop, first: date, **model: Any) -> str:
    """Return the cells of a row, the times as the median of several lists."""
    _list(shop, first, model)
    with measure_capacity() as meter:
        _list(shop, first, model)
    processor_times, wall_times = [], []
    for _ in range(RUNS):
        processor_start, wall_start = time.process_time(), time.perf_counter()
        _list(shop, first, model)
        processor_times.append(time.process_time() - processor_start)
        wall_times.append(time.perf_counter() - wall_start)
    return _cells(meter, statistics.median(processor_times), statistics.median(wall_times))


def _cells(meter: Mapping[str, float], processor_seconds: float, wall_seconds: float) -> str:
    return f"{meter['calls']} | {meter['RCU']:.0f} | {processor_seconds * 1000:.0f} | {wall_seconds * 1000:.0f} |"


def _list(shop: Shop, first: date, model: dict[str, Any]) -> Any:
    """Return the answer of listHistoryEx to the first agent."""
    agent = shop.agents[0]
    client = LambdaClient(app, Caller(agent.id, agent.client_id, agent.credential_version))
    return json.loads(client.call("POST", LIST_HISTORY, {"Period": {"From": str(first)}, "ListBasicModel": model}))


def main() -> None:
    """Print the tables, measured on a DynamoDB Local of their own."""
    with engines.moto_engine(), engines.dynamodb_local() as url:
        engines.select(url)
        print_history()


if __name__ == "__main__":
    main()
