"""A shop to measure with: a merchant with as many tills as are needed, and payments of the past."""

import itertools
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from chalicelib.domain.agent import Agent, BranchActions
from chalicelib.domain.business_days import end_of_day
from chalicelib.domain.merchant import Manager, Merchant, TerminalGroup, snapshot_of
from chalicelib.domain.money import Currency
from chalicelib.domain.permissions import Right
from chalicelib.domain.transaction import AgentSnapshot, InputType, Particulars, Phase, Result, Transaction
from chalicelib.store.table import BATCH, commit, put_new

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
            agent = self.agents[index % len(self.agents)]
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
                merchant=snapshot_of(self.merchant, None),
                raw_request="d" * 1200,
                particulars=Particulars(description=f"Table {index % 500}, two coffees and a newspaper"),
                result=Result(code=0, message="Approved"),
            )


def create_shop(tills: int) -> Shop:
    """Store a merchant with so many agents, the first of which may view everything."""
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
        for index in range(tills)
    ]
    commit(put_new("merchants", merchant, "id"))
    for start in range(0, tills, BATCH):
        commit(*(put_new("agents", agent, "id") for agent in agents[start : start + BATCH]))
    return Shop(merchant, agents, now)
