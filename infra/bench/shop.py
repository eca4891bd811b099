"""A shop to measure with: a merchant with any number of tills, and past payments that are loaded in bulk.

The load writes the same items as the service, but adds up the counters first. Nothing else may write to the same days
meanwhile.
"""

import itertools
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from chalicelib.domain.agent import Agent, BranchActions, Caller
from chalicelib.domain.business_days import end_of_day
from chalicelib.domain.history_entry import entry_of
from chalicelib.domain.kinds import InputType
from chalicelib.domain.merchant import Manager, Merchant, TerminalGroup
from chalicelib.domain.money import Currency
from chalicelib.domain.permissions import Right
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import AgentSnapshot, Particulars, Result, Transaction, receipt_number, snapshot_of
from chalicelib.store import history, history_lists, receipt_numbers, transactions
from chalicelib.store.receipt_numbers import MonthNumbers
from chalicelib.store.table import BATCH, NEW, VERSION, client, commit, encode, put_new, read, table_name, value_of
from infra.operator import items

PHONE = "+27 82 987 6543"
_ids = itertools.count(900_000_001)


@dataclass(frozen=True)
class Shop:
    """A merchant and its agents; the first may view the payments of all of them."""

    merchant: Merchant
    agents: list[Agent]
    now: datetime
    days: int

    @property
    def owner(self) -> Caller:
        """Return the caller that the first agent is."""
        return Caller(self.agents[0].id, self.merchant.id, self.agents[0].credential_version)

    @property
    def first_day(self) -> date:
        """Return the first day of the payments."""
        return (self.now - timedelta(days=self.days)).date()

    def payments(self, number: int) -> Iterator[Transaction]:
        """Yield payments of about 1 KB, spread evenly over the days until now."""
        interval = timedelta(days=self.days) / number
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
                input_type=InputType.CASH if index % 4 else InputType.OUTER_CARD,
                acquirer="CASH" if index % 4 else "OUTERCARD",
                currency=Currency("ZAR", "710", 2),
                amount_minor=1230,
                created_at=at,
                deadline=end_of_day(at, self.merchant.gmt),
                gmt=self.merchant.gmt,
                fingerprint="0" * 32,
                invoice="",
                merchant=snapshot_of(self.merchant, None),
                particulars=Particulars(description=f"Table {index % 500}, two coffees and a newspaper"),
                result=Result(code=0, message="Approved"),
            )


def create_shop(tills: int, days: int = 31) -> Shop:
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
    return Shop(merchant, agents, now, days)


MAX_BATCH_WRITE = 25  # items in one BatchWriteItem

Item = dict[str, Any]
ItemKey = tuple[str, str]  # month and sort key of a counter


def write_in_bulk(many: Iterable[Transaction], keep: Callable[[Item], bool] = bool) -> None:
    """Store new transactions with their entries in the history. Only the items for which `keep` is true are stored.

    A transaction without a receipt number gets the next one of its agent.
    """
    added: dict[ItemKey, Counter[str]] = defaultdict(Counter)
    taxes: dict[ItemKey, Item] = defaultdict(dict)
    numbers: dict[str, MonthNumbers] = {}
    write_items(one for one in _items((_numbered(one, numbers) for one in many), added, taxes) if keep(one[1]))
    write_items((table_name(history.TABLE), item) for item in _counter_items(added, taxes))
    write_items((table_name(receipt_numbers.TABLE), {**encode(month), VERSION: NEW}) for month in numbers.values())


def _numbered(transaction: Transaction, numbers: dict[str, MonthNumbers]) -> Transaction:
    """Return the transaction with a receipt number; count it and its cash in `numbers`, by their place."""
    key = receipt_numbers.key_of(transaction)
    place = str(key.key)
    stored = numbers.get(place) or read(key) or MonthNumbers(**key.key)
    numbers[place] = receipt_numbers.with_cash_of(transaction, stored)
    if transaction.invoice:
        return transaction
    day = transaction.recorded_on
    number = stored.last.get(f"{day:%d}", 0) + 1
    numbers[place] = replace(numbers[place], last={**stored.last, f"{day:%d}": number})
    return replace(transaction, invoice=receipt_number(day, transaction.agent.id, number))


def _items(
    many: Iterable[Transaction], added: Mapping[ItemKey, Counter[str]], taxes: Mapping[ItemKey, Item]
) -> Iterator[tuple[str, Item]]:
    """Yield the table and item of each record. Put the numbers and taxes of each counter into `added` and `taxes`."""
    for transaction in many:
        for item in transactions.items_of(transaction):
            yield table_name(transactions.TABLE), item
        for write in history.writes_for_new(transaction):
            if write.kind == "Put":
                yield write.parameters["TableName"], write.parameters["Item"]
        for one in history.additions(transaction.client_id, entry_of(transaction)):
            key = one.key.key["month"], one.key.key["at"]
            added[key].update(one.numbers)
            taxes[key].update({name: value_of(tax) for name, tax in one.taxes.items()})


def _counter_items(added: Mapping[ItemKey, Counter[str]], taxes: Mapping[ItemKey, Item]) -> Iterator[Item]:
    """Yield the counter items: the stored items with the added numbers and the taxes."""
    remaining = iter(added.items())
    while group := dict(itertools.islice(remaining, BATCH)):
        keys = {key: {"month": {"S": key[0]}, "at": {"S": key[1]}} for key in group}
        stored = items.items_at(history.TABLE, list(keys.values()))
        for key, numbers in group.items():
            item = stored.get(" ".join(key), keys[key])
            total = Counter(history_lists.numbers_in(item)) + numbers
            yield {**item, **taxes[key], **{name: value_of(number) for name, number in total.items()}}


def write_items(many: Iterator[tuple[str, Item]]) -> None:
    """Write items, each with the name of its table, many in a call."""
    while batch := list(itertools.islice(many, MAX_BATCH_WRITE)):
        requests: dict[str, list[Item]] = {table: [] for table, _ in batch}
        for table, item in batch:
            requests[table].append({"PutRequest": {"Item": item}})
        while requests:
            requests = client().call("BatchWriteItem", RequestItems=requests).get("UnprocessedItems") or {}
