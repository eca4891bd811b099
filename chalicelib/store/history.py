"""The history: one short entry for each transaction, and the totals that are written with it.

A partition is a month of a merchant, in the merchant's zone. A transaction has two entries in it, with the same
attributes: among those of its agent, by time, and among those of all agents, by time. One with an ExtID has a third, in
a partition of that ExtID. Every read is a strong read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import chain, islice
from typing import Any

from chalicelib.domain.history import MAX_CANDIDATES, SEARCHED, HistoryEntry, entry_of
from chalicelib.domain.history_filter import HistoryFilter, SearchText
from chalicelib.domain.period import Period
from chalicelib.domain.transaction import Transaction
from chalicelib.record import Record
from chalicelib.store import rolled_totals, totals
from chalicelib.store.query import Filter, Item, Range, items_of, range_of_prefix
from chalicelib.store.table import BATCH, Write, commit, put_item, table_name
from chalicelib.store.totals import counter_of, kind_text

TABLE = totals.TABLE
ENTRY, IN_ORDER = "entry#", "time#"  # by agent, of all agents
BETWEEN = "\n"  # the addresses of a receipt: none holds it
WITHOUT_TEXTS = ("at", "kind", "taken_minor")  # the attributes a page needs when no text is searched
ATTRIBUTES = ("kind", "id", "taken_minor", "amount_minor", "receipts", "client_product_code", *SEARCHED)
AT_ONCE = BATCH // 2  # entries that are put in order in one transaction, which looks at two items for each


class EntryChangedError(Exception):
    """An entry that is no longer what was read: its transaction has gone on."""


class MonthEntries(Record):
    """A merchant's entries of a month (2026-03), of one agent or (None) of all."""

    client_id: int
    month: str
    agent_id: int | None


def writes_for_new(transaction: Transaction) -> list[Write]:
    """Return the writes that add a new transaction to the history; they are committed with the transaction itself."""
    entry = entry_of(transaction)
    client_id = transaction.client_id
    return [
        *_entry_writes(transaction, entry),
        totals.add_to_total(client_id, entry),
        totals.add_to_slots(client_id, entry),
        *rolled_totals.count_late(client_id, entry, transaction.created_at),
    ]


def writes_for_outcome(transaction: Transaction, now: datetime) -> list[Write]:
    """Return the writes that add an outcome to the history: the references, and the money if it moved any.

    What is rolled up has the money that payments took alone: only theirs outdates it.
    """
    entry, client_id = entry_of(transaction), transaction.client_id
    money = totals.add_money(client_id, entry) if entry.moved_minor else []
    late = rolled_totals.count_late(client_id, entry, now) if entry.taken_minor else []
    return [*_entry_writes(transaction, entry), *money, *late]


def writes_for_reversed(original: Transaction, reversal: Transaction) -> list[Write]:
    """Return the writes that put the receipt number of a reversal that was done into the history of its payment."""
    return _entry_writes(original, entry_of(replace(original, reverse_invoice=reversal.invoice)))


def between(source: MonthEntries, begin: datetime, end: datetime, wanted: HistoryFilter) -> list[HistoryEntry]:
    """List the entries that match, from `begin` until before `end`, in the merchant's zone."""
    partition = ("month", f"{source.client_id}#{source.month}")
    span = range_of_prefix(TABLE, partition, "at", ENTRY)
    if source.agent_id is not None:
        prefix = _prefix(source.agent_id)
        span = Range(TABLE, partition, "at", prefix + _time_text(begin), prefix + _time_text(end))
    found = map(_entry, items_of(span, _filter_for(wanted), () if wanted.by_text else WITHOUT_TEXTS))
    return [entry for entry in found if begin <= entry.at < end and wanted.matches(entry)]


def in_order(client_id: int, begin: datetime, end: datetime, wanted: HistoryFilter) -> tuple[list[HistoryEntry], int]:
    """List the matching entries of all agents, from `begin` until before `end`; and how many were looked at for it.

    What version 1.0 wrote is not among them before `rebuild-totals` has brought it over.
    """
    looked_at: list[int] = []
    low, high = (f"{IN_ORDER}{_time_text(at)}" for at in (begin, end))
    only = () if wanted.by_text else WITHOUT_TEXTS
    found: list[HistoryEntry] = []
    for month in Period(begin.date(), (end - timedelta(microseconds=1)).date()).months:
        span = Range(TABLE, ("month", f"{client_id}#{month}"), "at", low, high)
        found += map(_entry, items_of(span, _filter_for(wanted), only, looked_at))
    return [entry for entry in found if wanted.matches(entry)], sum(looked_at)


def with_ext_id(client_id: int, ext_id: str, agent_id: int | None) -> list[HistoryEntry]:
    """List the entries of an ExtID, of one agent or of all: at most one more than `MAX_CANDIDATES`."""
    found = items_of(range_of_prefix(TABLE, ("month", _ext_id_partition(client_id, ext_id)), "at", _prefix(agent_id)))
    return [_entry(item) for item in islice(found, MAX_CANDIDATES + 1)]


def of_month(client_id: int, month: str) -> list[HistoryEntry]:
    """List every entry of a merchant's month (2026-03)."""
    return [_entry(item) for item in items_of(range_of_prefix(TABLE, ("month", f"{client_id}#{month}"), "at", ENTRY))]


def out_of_order(client_id: int, month: str) -> Iterator[Item]:
    """Yield the entries of a month (2026-03) that are not, or no longer as they are, among those of all agents."""
    partition = ("month", f"{client_id}#{month}")
    copies = {item["at"]["S"]: _digest(item) for item in items_of(range_of_prefix(TABLE, partition, "at", IN_ORDER))}
    for item in items_of(range_of_prefix(TABLE, partition, "at", ENTRY)):
        if copies.get(order_of(item["at"]["S"])) != _digest(item):
            yield item


def put_in_order(entries: Sequence[Item]) -> None:
    """Put entries, at most `AT_ONCE`, among those of all agents, all or none.

    Raise EntryChangedError when one of them is no longer what was read: whoever changed it has written both.
    """
    commit(*chain.from_iterable((_unchanged(entry), _copied(entry)) for entry in entries))


def _unchanged(entry: Item) -> Write:
    names = [name for name in ATTRIBUTES if name in entry]
    parts = [f"#{name} = :{name}" if name in names else f"attribute_not_exists(#{name})" for name in ATTRIBUTES]
    parameters = {
        "TableName": table_name(TABLE),
        "Key": {name: entry[name] for name in ("month", "at")},
        "ConditionExpression": " AND ".join(parts),
        "ExpressionAttributeNames": {f"#{name}": name for name in ATTRIBUTES},
        "ExpressionAttributeValues": {f":{name}": entry[name] for name in names},
    }
    return Write("ConditionCheck", parameters, EntryChangedError())


def _copied(entry: Item) -> Write:
    item = {**entry, "at": {"S": order_of(entry["at"]["S"])}}
    return Write("Put", {"TableName": table_name(TABLE), "Item": item})


def _digest(entry: Item) -> bytes:
    """Return what two entries with the same attributes have in common: a month of them fits in memory."""
    text = repr(sorted((name, value) for name, value in entry.items() if name != "at"))
    return sha256(text.encode()).digest()


def _entry_writes(transaction: Transaction, entry: HistoryEntry) -> list[Write]:
    month = totals.month_of(transaction.client_id, entry.at.date())
    by_agent = f"{_prefix(entry.counter.agent_id)}{_time_text(entry.at)}#{entry.id}"
    keys = [(month, by_agent), (month, order_of(by_agent))]
    if ext_id := transaction.particulars.ext_id:
        keys.append((_ext_id_partition(transaction.client_id, ext_id), by_agent))
    values = _values(entry)
    return [put_item(TABLE, {"month": partition, "at": at, **values}) for partition, at in keys]


def order_of(by_agent: str) -> str:
    """Return where the entry that stands at `entry#17#<time>#<ID>` stands among all agents: `time#<time>#17#<ID>`."""
    _, agent_id, at, transaction_id = by_agent.split("#", 3)
    return f"{IN_ORDER}{at}#{agent_id}#{transaction_id}"


def _values(entry: HistoryEntry) -> dict[str, Any]:
    counter = entry.counter
    values = {
        "kind": kind_text(counter),
        "id": entry.id.casefold(),
        "taken_minor": entry.taken_minor or None,
        "amount_minor": None if entry.taken_minor else entry.amount_minor,
        "receipts": BETWEEN.join(entry.receipts) or None,
        "client_product_code": entry.client_product_code,
        **{name: getattr(entry, name) for name in SEARCHED},
    }
    return {name: value for name, value in values.items() if value is not None}


def _entry(item: Item) -> HistoryEntry:
    order, first, second, transaction_id = item["at"]["S"].split("#", 3)
    at, agent_id = (first, second) if f"{order}#" == IN_ORDER else (second, first)
    taken = int(item["taken_minor"]["N"]) if "taken_minor" in item else 0
    receipts = item["receipts"]["S"].split(BETWEEN) if "receipts" in item else ()
    return HistoryEntry(
        id=transaction_id,
        at=datetime.fromisoformat(at),
        counter=counter_of(int(agent_id), item["kind"]["S"]),
        taken_minor=taken,
        amount_minor=int(item["amount_minor"]["N"]) if "amount_minor" in item else taken or None,
        receipts=tuple(receipts),
        client_product_code=item["client_product_code"]["S"] if "client_product_code" in item else None,
        **{name: item[name]["S"] for name in SEARCHED if name in item},
    )


def _prefix(agent_id: int | None) -> str:
    return ENTRY if agent_id is None else f"{ENTRY}{agent_id}#"


def _ext_id_partition(client_id: int, ext_id: str) -> str:
    return f"ext#{client_id}#{ext_id}"


def _time_text(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")


def _filter_for(wanted: HistoryFilter) -> Filter | None:
    """Return a filter that lets every matching entry through, and some others: `HistoryFilter.matches` decides."""
    parts: list[str] = []
    values: dict[str, Any] = {}
    if wanted.input_type is not None:
        parts.append("begins_with(#kind, :input_type)")
        values["input_type"] = f"{wanted.input_type}."
    if wanted.acquirer is not None:
        parts.append("contains(#kind, :acquirer)")
        values["acquirer"] = f".{wanted.acquirer}"
    for name in ("invoice", "original_invoice", "rrn", "client_product_code"):
        if getattr(wanted, name) is not None:
            parts.append(f"#{name} = :{name}")
            values[name] = getattr(wanted, name)
    if wanted.search is not None:
        anywhere, sought = _search_for(wanted.search)
        parts.append(f"({anywhere})")
        values |= sought
    return Filter(" AND ".join(parts), values) if parts else None


def _search_for(search: SearchText) -> tuple[str, dict[str, Any]]:
    """Return the part of a filter that finds a text, a telephone number or an amount; and its values."""
    parts = [f"contains(#{name}, :search)" for name in ("id", *SEARCHED, "receipts")]
    values: dict[str, Any] = {"search": search.text}
    if search.phone is not None:
        parts.append("contains(#receipts, :phone)")
        values["phone"] = search.phone
    amounts = {f"amount{number}": minor for number, minor in enumerate(search.amounts_minor)}
    if amounts:
        any_of = ", ".join(f":{name}" for name in amounts)
        parts += [f"#{name} IN ({any_of})" for name in ("taken_minor", "amount_minor")]
    return " OR ".join(parts), values | amounts
