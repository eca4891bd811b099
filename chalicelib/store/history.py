"""The history: a short entry per transaction, with the counters written with it, and the reads of a list."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby, islice
from typing import Any

from chalicelib.domain.business_days import Period
from chalicelib.domain.deletions import Deletion
from chalicelib.domain.history_entry import SEARCHED, HistoryEntry, entry_of
from chalicelib.domain.history_filter import HistoryFilter, SearchText
from chalicelib.domain.history_page import MAX_CANDIDATES
from chalicelib.domain.phases import Phase
from chalicelib.domain.taxes import TaxAmount
from chalicelib.domain.transaction import Transaction
from chalicelib.record import Record
from chalicelib.store import counters
from chalicelib.store.counters import counter_of, kind_text
from chalicelib.store.table import (
    Filter,
    Item,
    Key,
    Range,
    Write,
    decode,
    delete,
    items_of,
    put_item,
    range_of_prefix,
    readable,
)

ENTRY, IN_ORDER = "entry#", "time#"  # sort keys by agent, and of all agents
BETWEEN = "\n"  # separates the addresses of a receipt; no address contains it
WITHOUT_TEXTS = ("at", "kind", "taken_minor", "amount_minor")  # the attributes for a page without a text search
EXPORTED = (  # the attributes for an exported row
    *("at", "kind", "taken_minor", "amount_minor", "invoice", "reverse_invoice", "rrn", "approval_code", "card"),
    *("ext_id", "description", "terminal", "agent", "phase", "original_id", "exact", "taxes"),
)


def values_of(entry: HistoryEntry) -> dict[str, Any]:
    """Return the attributes of an entry, without its key."""
    counter = entry.counter
    values = {
        "kind": kind_text(counter),
        "id": entry.id.casefold(),
        "taken_minor": entry.taken_minor or None,
        "amount_minor": None if entry.taken_minor else entry.amount_minor,
        "receipts": BETWEEN.join(entry.receipts) or None,
        "client_product_code": entry.client_product_code,
        "phase": entry.phase,
        "original_id": entry.original_id,
        "original_agent": entry.original_agent,
        "taxes": entry.taxes or None,
        "exact": dict(entry.exact) or None,
        **{name: getattr(entry, name) for name in SEARCHED},
    }
    return {name: value for name, value in values.items() if value is not None}


def entry_in(item: Item) -> HistoryEntry:
    """Return the entry in an item."""
    order, first, second, transaction_id = item["at"]["S"].split("#", 3)
    at, agent_id = (first, second) if f"{order}#" == IN_ORDER else (second, first)
    taken = int(item["taken_minor"]["N"]) if "taken_minor" in item else 0
    receipts = item["receipts"]["S"].split(BETWEEN) if "receipts" in item else ()
    return HistoryEntry(
        id=transaction_id,
        at=datetime.fromisoformat(at),
        counter=counter_of(int(agent_id), item["kind"]["S"]),
        taken_minor=taken,
        amount_minor=int(item["amount_minor"]["N"]) if "amount_minor" in item else taken,
        receipts=tuple(receipts),
        client_product_code=item["client_product_code"]["S"] if "client_product_code" in item else None,
        phase=Phase(item["phase"]["S"]) if "phase" in item else None,
        original_id=item["original_id"]["S"] if "original_id" in item else None,
        original_agent=int(item["original_agent"]["N"]) if "original_agent" in item else None,
        taxes=tuple(decode(TaxAmount, tax["M"]) for tax in item["taxes"]["L"]) if "taxes" in item else (),
        exact={name: text["S"] for name, text in item["exact"]["M"].items()} if "exact" in item else {},
        **{name: item[name]["S"] for name in SEARCHED if name in item},
    )


def filter_for(wanted: HistoryFilter) -> Filter | None:
    """Return a filter that passes every matching entry and a few others. `HistoryFilter.matches` removes the others."""
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
    """Return the part of a filter that finds a text, telephone number or amount, with its values."""
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


TABLE = counters.TABLE


class Stretch(Record):
    """A stretch of time in a merchant's zone, without its end, for one agent or (None) all agents."""

    client_id: int
    agent_id: int | None
    begin: datetime
    end: datetime


def writes_for_new(transaction: Transaction) -> list[Write]:
    """Return the writes that add a new transaction to the history, for the store transaction that stores it."""
    entry = entry_of(transaction)
    counted = counters.additions(transaction.client_id, entry)
    return [*_entry_writes(transaction, entry), *map(counters.add, counted)]


def writes_for_outcome(transaction: Transaction) -> list[Write]:
    """Return the writes that add an outcome to the history: the references, and the money if any moved."""
    entry = entry_of(transaction)
    moved = counters.additions(transaction.client_id, entry, is_new=False) if entry.moved_minor else []
    return [*_entry_writes(transaction, entry), *map(counters.add, moved)]


def writes_for_reversed(original: Transaction, reversal: Transaction) -> list[Write]:
    """Return the writes that add the receipt number of a completed reversal to the history of its payment."""
    reversals = replace(original.reversals, latest_invoice=reversal.invoice)
    return _entry_writes(original, entry_of(replace(original, reversals=reversals)))


def writes_for_completion(payment: Transaction) -> list[Write]:
    """Return the writes that show an approved payment as paid in the history, after its completion."""
    return _entry_writes(payment, entry_of(payment))


def writes_for_erasure(before: Transaction, after: Transaction) -> list[Write]:
    """Return the writes that replace a payer's data in each copy of an entry. With another ExtID, a copy moves."""
    entry = entry_of(after)
    moved = [key for key in keys_of(before, entry) if key not in keys_of(after, entry)]
    deletions = [delete(Deletion.ENTRY_OF_FORMER_EXT_ID, key, "", {}) for key in moved]
    return [*deletions, *_entry_writes(after, entry)]


def keys_of(transaction: Transaction, entry: HistoryEntry) -> list[Key[HistoryEntry]]:
    """Return the keys of the copies of a transaction's entry."""
    month = counters.month_of(transaction.client_id, entry.at.date())
    by_agent = f"{_prefix(entry.counter.agent_id)}{_time_text(entry.at)}#{entry.id}"
    in_order = f"{IN_ORDER}{_time_text(entry.at)}#{entry.counter.agent_id}#{entry.id}"
    places = [(month, by_agent), (month, in_order)]
    if ext_id := transaction.particulars.ext_id:
        places.append((_ext_id_partition(transaction.client_id, ext_id), by_agent))
    return [Key(TABLE, HistoryEntry, {"month": partition, "at": at}) for partition, at in places]


def between(
    stretch: Stretch, wanted: HistoryFilter, only: Sequence[str] = WITHOUT_TEXTS, *, newest_first: bool = False
) -> Iterator[HistoryEntry]:
    """Yield the matching entries of a stretch of time in the order of a list.

    Only one page is in memory at a time. A filter by text reads all attributes; other filters read the attributes
    `only`.
    """
    only = () if wanted.by_text else only
    prefix = IN_ORDER if stretch.agent_id is None else _prefix(stretch.agent_id)
    low, high = (f"{prefix}{_time_text(at)}" for at in (stretch.begin, stretch.end))
    months = Period(stretch.begin.date(), (stretch.end - timedelta(microseconds=1)).date()).months
    for month in reversed(months) if newest_first else months:
        span = Range(TABLE, ("month", f"{stretch.client_id}#{month}"), "at", low, high)
        items = items_of(span, filter_for(wanted), only, newest_first=newest_first)
        found = filter(wanted.matches, readable(TABLE, items, entry_in))
        for _, at_once in groupby(found, key=lambda entry: entry.at):
            yield from sorted(at_once, key=lambda entry: entry.id, reverse=newest_first)


def with_ext_id(client_id: int, ext_id: str, agent_id: int | None) -> list[HistoryEntry]:
    """List the entries of an ExtID, of one agent or of all: at most one more than `MAX_CANDIDATES`."""
    found = items_of(range_of_prefix(TABLE, ("month", _ext_id_partition(client_id, ext_id)), "at", _prefix(agent_id)))
    return list(islice(readable(TABLE, found, entry_in), MAX_CANDIDATES + 1))


def _entry_writes(transaction: Transaction, entry: HistoryEntry) -> list[Write]:
    values = values_of(entry)
    return [put_item(TABLE, {**key.key, **values}) for key in keys_of(transaction, entry)]


def _prefix(agent_id: int | None) -> str:
    return ENTRY if agent_id is None else f"{ENTRY}{agent_id}#"


def _ext_id_partition(client_id: int, ext_id: str) -> str:
    return f"ext#{client_id}#{ext_id}"


def _time_text(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")
