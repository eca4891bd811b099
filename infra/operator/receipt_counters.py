"""The counters of receipt numbers: none is written back behind the payments, which go on meanwhile."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress

from chalicelib.domain.agent import NO_CLIENT
from chalicelib.record import Record
from chalicelib.store import agents, history, transactions
from chalicelib.store.receipt_numbers import TABLE
from chalicelib.store.table import VERSION, AlreadyExistsError, Item, table_name, write_one
from infra.operator import items
from infra.operator.records import UNREADABLE, is_readable, version_of

COUNTERS = "receipts#"
GIVEN = re.compile(r"([0-9]{2})([0-9]{2})([0-9]{2})\.([0-9]+)\.([0-9]{1,9})")  # a longer number is forged
ATTEMPTS = 5

Days = Mapping[str, int]  # the last number of each day of a month: {"14": 42}


class Given(Record):
    """The last numbers of each counter: as it was stored, and then as transactions and history have them."""

    stored: Mapping[str, Days]
    of_payments: Mapping[str, Days]

    def written_back(self, copied: Item, present: Item | None) -> Item:
        """Return the copy of a counter with the highest number of each day.

        Numbers given since the payments were read are those that the present counter did not have before.
        """
        if not copied["name"]["S"].startswith(COUNTERS):
            return copied
        name = copied["name"]["S"]
        before, now = self.stored.get(name, {}), _days(present)
        since = {day: number for day, number in now.items() if before.get(day) != number}
        return _raised(copied, _highest(_days(copied), self.of_payments.get(name, {}), since), version_of(copied))


def given_numbers() -> Given:
    """Read the counters, and then the numbers of transactions and history. One write stores a payment in all three."""
    stored = {item["name"]["S"]: _days(item) for page in items.pages(table_name(TABLE)) for item in page}
    last: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for client_id, taker, invoice in _invoices():
        if (found := GIVEN.fullmatch(invoice)) and found[4] == (taker or found[4]):
            year, month, day, agent_id, number = found.groups()
            numbers = last[f"{COUNTERS}{client_id}#{agent_id}#20{year}-{month}"]
            numbers[day] = max(numbers[day], int(number))
    return Given(stored, last)


def _invoices() -> Iterator[tuple[str, str, str]]:
    """Yield merchant, agent and receipt number of each transaction that the table or the history has.

    A number of another agent was altered. An agent that is unreadable is empty.
    """
    for page in items.pages(table_name(transactions.TABLE)):
        for item in page:
            taker = item.get("taker", {}).get("M", {}).get("id", {}).get("N", "")
            yield item.get("client_id", {}).get("N", ""), taker, item.get("invoice", {}).get("S", "")
    for page in items.pages(table_name(history.TABLE)):
        for item in page:
            if item["at"]["S"].startswith((history.ENTRY, history.IN_ORDER)):
                with suppress(*UNREADABLE):
                    entry = history.entry_in(item)
                    yield item["month"]["S"].partition("#")[0], str(entry.counter.agent_id), entry.text("invoice")


def raise_counters(given: Given, merchant_id: int | None) -> Iterator[str]:
    """Write the counters that are missing, unreadable or behind the payments. Yield a line for each that is left.

    Only an agent's own merchant counts its numbers, and a system user's each.
    """
    pages = items.pages(table_name(agents.TABLE))
    clients = {item["id"]["N"]: item.get("client_id", {}).get("N") for page in pages for item in page}
    for name, days in given.of_payments.items():
        _, client_id, agent_id, _ = name.split("#")
        if clients.get(agent_id) not in {client_id, str(NO_CLIENT)} or merchant_id not in {None, int(client_id)}:
            continue
        try:
            if _is_raised(name, days):
                print(f"  {name}: raised to the numbers of the payments")
        except AlreadyExistsError:
            yield f"{name}: a receipt number was taken: run the command again."


def _is_raised(name: str, days: Days) -> bool:
    """Raise a counter to these numbers; return False if it is not behind them."""
    for _ in range(ATTEMPTS):
        present = items.items_at(TABLE, [{"name": {"S": name}}]).get(name)
        is_sound = present is not None and is_readable(TABLE, present)
        kept = present if present and is_sound else {"name": {"S": name}}
        raised = _raised(kept, _highest(_days(kept), days), version_of(present or {}))
        if raised == present:
            return False
        with suppress(AlreadyExistsError):
            write_one(items.put(TABLE, raised, present))
            return True
    raise AlreadyExistsError


def _days(item: Item | None) -> Days:
    last = (item or {}).get("last", {}).get("M", {})
    return {day: int(value["N"]) for day, value in last.items() if value.get("N", "").isdecimal()}


def _highest(*many: Days) -> Days:
    highest = Counter[str]()
    for days in many:
        highest |= Counter(days)
    return highest


def _raised(item: Item, days: Days, version: int | None) -> Item:
    """Return a counter with these numbers, of the version after this one; itself if it has them."""
    if days == _days(item):
        return item
    last = {"M": {day: {"N": str(number)} for day, number in days.items()}}
    return {**item, "last": last, VERSION: {"N": str((version or 0) + 1)}}
