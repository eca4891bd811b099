"""What a page of history costs at a thousand, ten thousand and a hundred thousand transactions of one merchant.

`python -m infra.bench_history`, a part of `make bench`. The tables it prints are those of the README.
"""

import importlib
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

from chalicelib.domain.agent import Agent, BranchActions
from chalicelib.domain.merchant import Manager, Merchant, TerminalGroup
from chalicelib.domain.money import Currency
from chalicelib.domain.period import end_of_day
from chalicelib.domain.permissions import Right
from chalicelib.domain.transaction import AgentSnapshot, InputType, Particulars, Phase, Transaction
from infra import engines
from infra.bench import Till
from infra.capacity_meter import metered

SIZES = (1_000, 10_000, 100_000)
TILLS = 3
RUNS = 9
YEAR, MONTH = 365, 31  # days
HISTORY = "/api/v1/payment/listHistoryEx"
PHONE = "+27829876543"
_ids = itertools.count(900_000_001)


@dataclass(frozen=True)
class Shop:
    """A merchant, and its tills; the first may see what all of them did."""

    merchant: Merchant
    agents: list[Agent]
    now: datetime

    def payments(self, number: int, days: int) -> Iterator[Transaction]:
        """Payments of about 2 KB, evenly over so many days that end now."""
        apart = timedelta(days=days) / number
        for index in range(number):
            agent = self.agents[index % TILLS]
            at = self.now - apart * index
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


def history() -> None:
    """Pages of a year, and text searched in a month; on DynamoDB Local, which must be chosen already."""
    print(f"\nA page of a year's history, one merchant with {TILLS} tills:\n")
    print("| transactions | page | store calls | RCU | processor ms | ms |\n|---:|---:|---:|---:|---:|---:|")
    for size in SIZES:
        shop = _shop(size, YEAR)
        first = (shop.now - timedelta(days=YEAR)).date()
        pages = size // 100
        for page in (1, pages // 2, pages):
            print(f"| {size:,} | {page:,} | {_cost(shop, first, Page=page)}")

    size = 10_000
    shop = _shop(size, MONTH)
    first = (shop.now - timedelta(days=MONTH)).date()
    print(f"\nText searched in a month of {size:,}:\n")
    print("| Search | found | store calls | RCU | processor ms | ms |\n|---|---:|---:|---:|---:|---:|")
    for text in ("nothing of the kind", "table 77,", "newspaper"):
        found = _ask(shop, first, {"Search": text})["TransactionsCounters"]["ItemCountTtl"]
        print(f"| {text} | {found:,} | {_cost(shop, first, Search=text)}")


def _cost(shop: Shop, first: date, **model: Any) -> str:
    _ask(shop, first, model)
    with metered() as meter:
        _ask(shop, first, model)
    processor, clock = [], []
    for _ in range(RUNS):
        began, started = time.process_time(), time.perf_counter()
        _ask(shop, first, model)
        processor.append(time.process_time() - began)
        clock.append(time.perf_counter() - started)
    ours, whole = (statistics.median(times) * 1000 for times in (processor, clock))
    return f"{meter['calls']} | {meter['RCU']:.0f} | {ours:.0f} | {whole:.0f} |"


def _ask(shop: Shop, first: date, model: dict[str, Any]) -> Any:
    """The answer to a request, as Lambda gets it behind the authorizer."""
    agent = shop.agents[0]
    context = {"agent": str(agent.id), "client": str(agent.client_id), "version": "1", "terminal": ""}
    till = Till(importlib.import_module("app").app, context)
    answer = till.ask("POST", HISTORY, {"Period": {"From": str(first)}, "ListBasicModel": model})
    return json.loads(answer["body"])


def _shop(size: int, days: int) -> Shop:
    """A merchant with so many payments."""
    from chalicelib.store.table import commit, put_new  # noqa: PLC0415  its settings are there once the engine is
    from infra.bulk_load import write_in_bulk  # noqa: PLC0415

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
            name=f"Till {till}",
            email=f"till-{till}@bench.example",
            phone=PHONE,
            created_at=now,
            branches_actions=() if till else rights,
        )
        for till in range(TILLS)
    ]
    commit(put_new("merchants", merchant, "id"), *(put_new("agents", agent, "id") for agent in agents))
    shop = Shop(merchant, agents, now)
    write_in_bulk(shop.payments(size, days))
    return shop


def main() -> None:
    """The tables, on an engine of their own."""
    with engines.moto_engine(), engines.dynamodb_local() as url:
        engines.select(url)
        history()


if __name__ == "__main__":
    main()
