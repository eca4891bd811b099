"""The cost of a page of history at a thousand, ten thousand and a hundred thousand transactions of one merchant.

`python -m infra.bench_history`, and a part of `make bench ARGS=history`. It prints the tables of the README.
"""

import itertools
import json
import statistics
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from app import app
from chalicelib.domain.agent import Agent, BranchActions, Caller
from chalicelib.domain.merchant import Manager, Merchant, TerminalGroup
from chalicelib.domain.money import Currency
from chalicelib.domain.period import end_of_day
from chalicelib.domain.permissions import Right
from chalicelib.domain.transaction import AgentSnapshot, InputType, Particulars, Phase, Transaction
from chalicelib.store.table import commit, put_new
from infra import engines
from infra.bulk_load import write_in_bulk
from infra.capacity_meter import measure_capacity
from infra.lambda_client import LambdaClient

SIZES = (1_000, 10_000, 100_000)
AGENTS = 3
RUNS = 9
YEAR_DAYS, MONTH_DAYS = 365, 31
LIST_HISTORY = "/api/v1/payment/listHistoryEx"
PHONE = "+27829876543"
_ids = itertools.count(900_000_001)


@dataclass(frozen=True)
class Shop:
    """A merchant and its agents; the first may view the payments of all of them."""

    merchant: Merchant
    agents: list[Agent]
    now: datetime

    def payments(self, number: int, days: int) -> Iterator[Transaction]:
        """Yield payments of about 2 KB, spread evenly over so many days until now."""
        interval = timedelta(days=days) / number
        for index in range(number):
            agent = self.agents[index % AGENTS]
            at = self.now - interval * index
            yield Transaction(
                id=str(uuid.uuid4()).upper(),
                client_id=self.merchant.id,
                agent=AgentSnapshot(agent.id, agent.email, agent.name, agent.phone),
                terminal_id=1,
                terminal_name="BENCH001",
                phase=Phase.APPROVED,
                input_type=InputType.CASH if index % 4 else InputType.EXTERNAL_TERMINAL,
                acquirer="CASH" if index % 4 else "OUTERCARD",
                currency=Currency("ZAR", "710", 2),
                amount_minor=1230,
                created_at=at,
                deadline=end_of_day(at, self.merchant.gmt),
                gmt=self.merchant.gmt,
                fingerprint="0" * 32,
                invoice=f"{index:012d}",
                raw_request="d" * 1200,
                particulars=Particulars(description=f"Table {index % 500}, two coffees and a newspaper"),
                result_code=0,
                result_message="Approved",
            )


def print_history() -> None:
    """Print the cost of pages of a year and of searches in a month, on the DynamoDB Local that was selected before."""
    print(f"\nA page of a year's history, one merchant with {AGENTS} agents:\n")
    print("| transactions | page | store calls | RCU | processor ms | ms |\n|---:|---:|---:|---:|---:|---:|")
    for size in SIZES:
        shop = _create_shop(size, YEAR_DAYS)
        first = (shop.now - timedelta(days=YEAR_DAYS)).date()
        pages = size // 100
        for page in (1, pages // 2, pages):
            print(f"| {size:,} | {page:,} | {_measure(shop, first, Page=page)}")

    size = 10_000
    shop = _create_shop(size, MONTH_DAYS)
    first = (shop.now - timedelta(days=MONTH_DAYS)).date()
    print(f"\nText searched in a month of {size:,}:\n")
    print("| Search | found | store calls | RCU | processor ms | ms |\n|---|---:|---:|---:|---:|---:|")
    for text in ("nothing of the kind", "table 77,", "newspaper"):
        found = _list(shop, first, {"Search": text})["TransactionsCounters"]["ItemCountTtl"]
        print(f"| {text} | {found:,} | {_measure(shop, first, Search=text)}")


def _measure(shop: Shop, first: date, **model: Any) -> str:
    """Return the cells of a row: store calls, RCU, processor time and wall time of one list."""
    _list(shop, first, model)
    with measure_capacity() as meter:
        _list(shop, first, model)
    processor_times, wall_times = [], []
    for _ in range(RUNS):
        processor_start, wall_start = time.process_time(), time.perf_counter()
        _list(shop, first, model)
        processor_times.append(time.process_time() - processor_start)
        wall_times.append(time.perf_counter() - wall_start)
    processor_ms, wall_ms = (statistics.median(times) * 1000 for times in (processor_times, wall_times))
    return f"{meter['calls']} | {meter['RCU']:.0f} | {processor_ms:.0f} | {wall_ms:.0f} |"


def _list(shop: Shop, first: date, model: dict[str, Any]) -> Any:
    """Return the answer of listHistoryEx to the first agent."""
    agent = shop.agents[0]
    client = LambdaClient(app, Caller(agent.id, agent.client_id, agent.credential_version))
    return json.loads(client.call("POST", LIST_HISTORY, {"Period": {"From": str(first)}, "ListBasicModel": model}))


def _create_shop(size: int, days: int) -> Shop:
    """Store a merchant with so many payments."""
    now = datetime.now(UTC)
    number = next(_ids)
    merchant = Merchant(
        id=number,
        name="Bench",
        phone=PHONE,
        financial_institution_id=1,
        address_de_facto="1 Long Street",
        manager=Manager("Bench", "bench@bench.example", PHONE),
        latitude=Decimal(-33),
        longitude=Decimal(18),
        country="South Africa",
        country_code="ZA",
        gmt=2,
        language="en",
        groups=(TerminalGroup(1, "DEFAULT"),),
        created_at=now,
    )
    rights = (BranchActions(number, (Right.ADMINISTRATOR,)),)
    agents = [
        Agent(
            id=next(_ids),
            client_id=number,
            name=f"Agent {index}",
            email=f"agent-{index}@bench.example",
            phone=PHONE,
            created_at=now,
            branches_actions=() if index else rights,
        )
        for index in range(AGENTS)
    ]
    commit(put_new("merchants", merchant, "id"), *(put_new("agents", agent, "id") for agent in agents))
    shop = Shop(merchant, agents, now)
    write_in_bulk(shop.payments(size, days))
    return shop


def main() -> None:
    """Print the tables, measured on a DynamoDB Local of their own."""
    with engines.moto_engine(), engines.dynamodb_local() as url:
        engines.select(url)
        print_history()


if __name__ == "__main__":
    main()
