"""The command `python -m infra.operator rebuild`: write what follows from the transactions again.

These are the entries of the history, its counters, and the receipt numbers and the cash of agents. Payments may come in
meanwhile: a value is written only if it is still as it was read before its transactions. Nothing is deleted, and
doubtful transactions are named.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from chalicelib.domain import cash
from chalicelib.domain.drawer import Drawer
from chalicelib.domain.history_entry import entry_of
from chalicelib.domain.transaction import OWN_RECEIPT_NUMBER, Transaction
from chalicelib.store import drawers, history, receipt_numbers, transactions
from chalicelib.store.ranges import items_of, range_of_prefix
from chalicelib.store.receipt_numbers import MonthNumbers
from chalicelib.store.table import (
    PART_OF,
    AlreadyExistsError,
    Item,
    Key,
    Value,
    Write,
    decode,
    encode,
    read_all,
    readable,
    table_name,
    value_of,
    with_parts,
    write_one,
)
from infra.operator import items, terminal

HISTORY = history.TABLE
ROUNDS = 5  # of counting a month: counters that change meanwhile are counted again
AT_ONCE = 100  # attributes in one write: DynamoDB takes 300 operators


def rebuild_command(_: argparse.Namespace) -> None:
    """Write each entry and counter that differs, and print a line for it. Exit with 1 if something is left."""
    left = _correct_numbers() + _name_shared_numbers()
    months = set[str]()
    for page in _transactions():
        left += _write_entries(page)
    left += _name_doubtful(months)
    left += sum(_count(month) for month in sorted(months))
    if left:
        sys.exit(f"Left, as the lines above say: {left}.")
    print("Entries and counters follow from the transactions.")


def _transactions() -> Iterator[list[Transaction]]:
    """Yield the readable transactions, page by page. The log names the others."""
    for page in items.pages(table_name(transactions.TABLE)):
        own = [item for item in page if PART_OF not in item]
        found = with_parts([transactions.key(item["id"]["S"]) for item in own], own)
        yield list(readable(transactions.TABLE, filter(None, found), lambda item: decode(Transaction, item)))


def _is_corrected(name: str, wanted: Item, present: Item | None) -> bool:
    """Write the attributes in which an item of the history differs; return False if another writer changed one."""
    stored, key = present or {}, items.key_of(HISTORY, wanted or present or {})
    names = _differing(wanted, stored)
    for start in range(0, len(names), AT_ONCE):
        chunk = dict(enumerate(names[start : start + AT_ONCE]))
        try:
            write_one(_correction(key, chunk, wanted, stored))
        except AlreadyExistsError:
            return False
    if names:
        print(f"  history {name}: written: {', '.join(names)}")
    return True


def _differing(wanted: Item, stored: Item) -> list[str]:
    names = (wanted.keys() | stored.keys()) - {*items.keys_of(HISTORY)}
    return sorted(one for one in names if wanted.get(one) != stored.get(one))


def _correction(key: Item, names: Mapping[int, str], wanted: Item, stored: Item) -> Write:
    """Return the write of some attributes, which requires that each is as it was read."""
    sets = ", ".join(f"#a{number} = :a{number}" for number, name in names.items() if name in wanted)
    gone = ", ".join(f"#a{number}" for number, name in names.items() if name not in wanted)
    as_read = (
        f"#a{number} = :b{number}" if name in stored else f"attribute_not_exists(#a{number})"
        for number, name in names.items()
    )
    values = {f":a{number}": wanted[name] for number, name in names.items() if name in wanted}
    values |= {f":b{number}": stored[name] for number, name in names.items() if name in stored}
    parameters = {
        "TableName": table_name(HISTORY),
        "Key": key,
        "UpdateExpression": (f"SET {sets} " if sets else "") + (f"REMOVE {gone}" if gone else ""),
        "ConditionExpression": " AND ".join(as_read),
        "ExpressionAttributeNames": {f"#a{number}": name for number, name in names.items()},
        **({"ExpressionAttributeValues": values} if values else {}),
    }
    return Write("Update", parameters)


# The entries


def _entries_of(transaction: Transaction) -> dict[str, Item]:
    written = (write.parameters["Item"] for write in history.writes_for_completion(transaction))
    return {items.name_of(HISTORY, item): item for item in written}


def _write_entries(page: Sequence[Transaction]) -> int:
    """Write the entries that differ from their transactions. Return the number of those that changed meanwhile."""
    expected = {one.id: _entries_of(one) for one in page}
    stored = items.items_at(HISTORY, [entry for entries in expected.values() for entry in entries.values()])
    wrong = [one for one, entries in expected.items() if any(stored.get(name) != entries[name] for name in entries)]
    left = 0
    for one in read_all([transactions.key(name) for name in wrong], for_list=True):  # as new as its entries, or newer
        for name, entry in _entries_of(one).items() if one else ():
            left += not _is_corrected(name, entry, stored.get(name))
    return left


def _transaction_of(entry: Item) -> str:
    return str(entry["at"]["S"].removesuffix(history.REVERSED).rsplit("#", 1)[-1])


def _name_doubtful(months: set[str]) -> int:
    """Print a line for each entry that no transaction has. Add the months of all counters and entries to `months`."""
    left = 0
    for page in items.pages(table_name(HISTORY)):
        months |= {item["month"]["S"] for item in page if not item["month"]["S"].startswith(("ext#", "late#"))}
        entries = [item for item in page if item["at"]["S"].startswith((history.ENTRY, history.IN_ORDER))]
        ids = {items.name_of(HISTORY, item): _transaction_of(item) for item in entries}
        known = read_all([transactions.key(name) for name in {*ids.values()}], for_list=True)
        places = {name for one in known if one for name in _entries_of(one)}
        for name in ids.keys() - places:
            print(f"  history {name}: no transaction has this entry: it is lost, or the entry is forged")
            left += 1
    return left


# The counters


def _count(month: str) -> int:
    """Write the counters of a merchant's month that differ. Return the number of those that kept changing."""
    moving = 0
    for _ in range(ROUNDS):
        moving = sum(not _is_corrected(*one) for one in differing_counters(month))
        if not moving:
            return 0
    print(f"  history {month}: {moving} counters kept changing: run the command again")
    return moving


def differing_counters(month: str) -> list[tuple[str, Item, Item | None]]:
    """Return the counters of a merchant's month (17#2026-03) that differ from its transactions.

    Each has its name, its item as it should be, and its item as it was read before the transactions.
    """
    spans = [range_of_prefix(HISTORY, ("month", month), "at", one) for one in (history.DAYS, history.HOURS)]
    stored = {items.name_of(HISTORY, item): item for span in spans for item in items_of(span)}
    counted = _counted(month)
    found = [(name, counted.get(name, {}), stored.get(name)) for name in sorted(counted.keys() | stored.keys())]
    return [(name, wanted, present) for name, wanted, present in found if _differing(wanted, present or {})]


def _counted(month: str) -> dict[str, Item]:
    numbers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    found: dict[str, dict[str, Value]] = {}
    entries = items_of(range_of_prefix(HISTORY, ("month", month), "at", history.IN_ORDER))
    ids = sorted({_transaction_of(item) for item in entries})
    for batch in items.batches(ids):
        records = read_all([transactions.key(one) for one in batch], for_list=True)
        additions = (added for one in records if one for added in history.additions(one.client_id, entry_of(one)))
        for added in (one for one in additions if one.key.key["month"] == month):
            name = items.name_of(HISTORY, added.key.wire())
            numbers[name].update(added.numbers)
            taxes = {tax: value_of(named) for tax, named in added.taxes.items()}
            found[name] = found.get(name, {}) | added.key.wire() | taxes
    return {name: item | {one: value_of(count) for one, count in numbers[name].items()} for name, item in found.items()}


# The receipt numbers and the cash of agents

NUMBERS = receipt_numbers.TABLE


def numbers_of_transactions() -> dict[str, MonthNumbers]:
    """Return the last receipt numbers and the cash of each agent and month, by name, from transactions and drawers."""
    found: dict[str, MonthNumbers] = {}
    for page in _transactions():
        for one in page:
            name, before = _numbers_in(found, receipt_numbers.key_of(one))
            found[name] = receipt_numbers.with_cash_of(one, before)
            if OWN_RECEIPT_NUMBER.fullmatch(one.invoice):
                name, before = _numbers_in(found, _key_of_number(one))
                day, number = one.invoice[4:6], int(one.invoice.rsplit(".", 1)[-1])
                found[name] = replace(before, last={**before.last, day: max(number, before.last.get(day, 0))})
    for drawer in _closed_drawers():
        held = drawer.cash or {}
        for month in cash.months_of(held):
            own = receipt_numbers.key_in(drawer.client_id, drawer.agent_id, month)
            name, before = _numbers_in(found, own)
            found[name] = drawers.with_cash(before, cash.added(drawers.cash_of(before), cash.of_month(held, month), -1))
    return found


def _closed_drawers() -> Iterator[Drawer]:
    for page in items.pages(table_name(NUMBERS)):
        found = [item for item in page if item["place"]["S"].startswith(drawers.DRAWER)]
        yield from readable(NUMBERS, found, lambda item: decode(Drawer, item))


def _numbers_in(found: dict[str, MonthNumbers], own: Key[MonthNumbers]) -> tuple[str, MonthNumbers]:
    """Return the name of numbers, and the numbers that were found until now."""
    name = items.name_of(NUMBERS, own.wire())
    return name, found.get(name) or MonthNumbers(**own.key)


def _key_of_number(transaction: Transaction) -> Key[MonthNumbers]:
    """Return the key of the counter that gave a receipt number."""
    text = transaction.invoice
    return receipt_numbers.key_in(transaction.client_id, transaction.agent.id, f"20{text[:2]}-{text[2:4]}")


def _name_shared_numbers() -> int:
    """Print a line for each transaction with the receipt number of another one. Return the number of lines."""
    first, left = dict[tuple[str, str], str](), 0
    for page in _transactions():
        for one in (one for one in page if OWN_RECEIPT_NUMBER.fullmatch(one.invoice)):
            other = first.setdefault((str(_key_of_number(one).key), one.invoice), one.id)
            if other != one.id:
                terminal.show(
                    f"  transactions {one.id}: has the receipt number {one.invoice} of {other}. Both are counted."
                )
                left += 1
    return left


def days_of(item: Item | None) -> Counter[str]:
    """Return the last receipt numbers of a counter, by day."""
    days = (item or {}).get("last", {}).get("M", {})
    return Counter({day: int(value["N"]) for day, value in days.items() if value.get("N", "").isdecimal()})


def differing_numbers() -> list[tuple[str, Item, Item | None]]:
    """Return the numbers of agents that are behind their transactions, or have other cash than these and the drawers.

    Each has its name, its item as it should be, and its item as it was read before the transactions.
    """
    pages = items.pages(table_name(NUMBERS))
    stored = {items.name_of(NUMBERS, item): item for page in pages for item in page if _is_numbers(item)}
    counted, found = numbers_of_transactions(), list[tuple[str, Item, Item | None]]()
    for name in sorted(counted.keys() | stored.keys()):
        present = stored.get(name)
        wanted = encode(counted[name]) if name in counted else {**items.key_of(NUMBERS, present or {}), **NO_NUMBERS}
        wanted["last"] = value_of(days_of(wanted) | days_of(present))
        if any(wanted[one] != (present or NO_NUMBERS).get(one) for one in ("last", "cash")):
            found.append((name, items.raised({**(present or {}), **wanted}, present), present))
    return found


NO_NUMBERS: Item = {"last": {"M": {}}, "cash": {"M": {}}}


def _is_numbers(item: Item) -> bool:
    return str(item["place"]["S"]).startswith(receipt_numbers.MONTH)


def _correct_numbers() -> int:
    """Write the numbers of agents that differ. Return the number of those that kept changing."""
    moving = 0
    for _ in range(ROUNDS):
        moving = 0
        for name, wanted, present in differing_numbers():
            try:
                write_one(items.put(NUMBERS, wanted, present))
            except AlreadyExistsError:
                moving += 1
            else:
                print(f"  {NUMBERS} {name}: written: receipt numbers and cash follow from the transactions")
        if not moving:
            return 0
    print(f"  {NUMBERS}: the numbers of {moving} agents kept changing: run the command again")
    return moving
