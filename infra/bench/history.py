"""The cost of lists at 1, 3, 30 and 300 tills of a merchant, of exports, and what tills that pay at once share.

`python -m infra.bench.history`, and a part of `make bench ARGS=history`; with `million` beside it a year of a million
payments too, which takes many minutes and 6 GB of memory.
"""

import json
import statistics
import sys
import time
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from app import app
from chalicelib.domain.agent import Caller
from chalicelib.domain.business_days import business_day
from infra.bench.capacity_meter import measure_capacity
from infra.bench.export import export_table
from infra.bench.lambda_client import LambdaClient
from infra.bench.shop import Shop, create_shop, write_in_bulk
from infra.bench.table import Table, show
from infra.bench.tills import tills_table
from infra.local import engines

TILLS, SEARCHING_TILLS = (1, 3, 30, 300), (3, 90, 300)
SIZE, MILLION = 10_000, 1_000_000
RUNS = 9
YEAR_DAYS, MONTH_DAYS = 365, 31
LIST_HISTORY = "/api/v1/payment/listHistoryEx"
TAKINGS = "/api/v1/report/takings"


@dataclass(frozen=True)
class Measured:
    """The cost of a list."""

    calls: int
    read_units: float
    processor_ms: float

    def __str__(self) -> str:
        return f"{self.calls}, {self.read_units:.0f}"


def history_tables() -> list[Table]:
    """Print the tables as they are measured, on the DynamoDB Local that was selected before; and return them."""
    tables = [show(pages_table("history", SIZE))]
    if "million" in sys.argv[1:]:
        tables.append(show(pages_table("history-million", MILLION)))
    return [*tables, show(searches_table(SIZE)), show(export_table()), show(takings_table(SIZE)), show(tills_table())]


def pages_table(name: str, size: int) -> Table:
    """Return what pages of a list of a year of so many payments cost, by the number of tills."""
    middle, last = size // 200, size // 100
    rows = []
    for tills in TILLS:
        shop, first = _filled_shop(tills, size, YEAR_DAYS)
        first_list = _measure_once(shop, first)
        pages = [_measure(shop, first, Page=page) for page in (1, middle, last)]
        of_agent = _measure(shop, first, AccountID=shop.agents[-1].id)
        times = f"{pages[0].processor_ms:.0f}"
        rows.append((str(tills), *(str(one) for one in (first_list, *pages, of_agent)), times))
    columns = ("the first list", "page 1", f"page {middle:,}", f"page {last:,}", "page 1 of one agent", "processor ms")
    return Table(name, (f"tills, of {size:,} payments: calls, read units", *columns), rows)


def searches_table(size: int) -> Table:
    """Return what a text searched in a month of so many payments costs."""
    texts = ("nothing of the kind", "table 77,", "newspaper")
    rows = []
    for tills in SEARCHING_TILLS:
        shop, first = _filled_shop(tills, size, MONTH_DAYS)
        found = [_list(shop, first, {"Search": text})["TransactionsCounters"]["ItemCountTtl"] for text in texts]
        rows.append((str(tills), *(str(_measure(shop, first, Search=text)) for text in texts)))
    columns = (f"{number:,} found" for number in found)
    return Table("search", (f"tills, text searched in a month of {size:,}: calls, read units", *columns), rows)


def takings_table(size: int) -> Table:
    """Return what takings of a year of so many payments cost, by the number of tills."""
    rows = []
    for tills in TILLS:
        shop, first = _filled_shop(tills, size, YEAR_DAYS)
        month = (shop.now - timedelta(days=MONTH_DAYS - 2)).date()
        today = business_day(shop.now, shop.merchant.gmt)
        asked = ({"From": first}, {"From": month}, {"From": month, "By": "hour"}, {"From": today, "By": "hour"})
        rows.append((str(tills), *(str(_measure_takings(shop, **one)) for one in asked)))
    columns = ("a year by day", "a month by day", "a month by hour", "today by hour")
    return Table("takings", (f"tills, of {size:,} payments: calls, read units, processor ms, KB", *columns), rows)


def _measure_takings(shop: Shop, **asked: Any) -> str:
    """Return what the takings from a day on cost, the time as the median of several."""
    client = _client_of_all(shop)
    body = {"Period": {"From": str(asked.pop("From"))}, **asked}
    answer = client.call("POST", TAKINGS, body)
    with measure_capacity() as meter:
        client.call("POST", TAKINGS, body)
    times = []
    for _ in range(RUNS):
        started = time.process_time()
        client.call("POST", TAKINGS, body)
        times.append((time.process_time() - started) * 1000)
    return f"{meter['calls']}, {meter['RCU']:.0f}, {statistics.median(times):.0f}, {len(answer) / 1024:.0f}"


def _filled_shop(tills: int, size: int, days: int) -> tuple[Shop, date]:
    """Store a merchant with so many tills and payments; return it and the first day of its lists."""
    shop = create_shop(tills)
    write_in_bulk(shop.payments(size, days))
    return shop, (shop.now - timedelta(days=days)).date()


def _measure_once(shop: Shop, first: date, **model: Any) -> Measured:
    """Return what one list costs."""
    started = time.process_time()
    with measure_capacity() as meter:
        _list(shop, first, model)
    return Measured(meter["calls"], meter["RCU"], (time.process_time() - started) * 1000)


def _measure(shop: Shop, first: date, **model: Any) -> Measured:
    """Return what a list costs when it is asked for again, the time as the median of several."""
    _list(shop, first, model)
    measured = _measure_once(shop, first, **model)
    times = []
    for _ in range(RUNS):
        started = time.process_time()
        _list(shop, first, model)
        times.append((time.process_time() - started) * 1000)
    return replace(measured, processor_ms=statistics.median(times))


def _list(shop: Shop, first: date, model: dict[str, Any]) -> Any:
    """Return the answer of listHistoryEx to the first agent."""
    body = {"Period": {"From": str(first)}, "ListBasicModel": model}
    return json.loads(_client_of_all(shop).call("POST", LIST_HISTORY, body))


def _client_of_all(shop: Shop) -> LambdaClient:
    """Return a client of the first agent, who may see everything."""
    agent = shop.agents[0]
    return LambdaClient(app, Caller(agent.id, agent.client_id, agent.credential_version))


def main() -> None:
    """Print the tables, measured on a DynamoDB Local of their own."""
    with engines.moto_engine(), engines.dynamodb_local() as url:
        engines.select(url)
        history_tables()


if __name__ == "__main__":
    main()
