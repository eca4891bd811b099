"""The history: a short entry per transaction, and the counters written with it. `history_lists` reads them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from chalicelib.domain.deletions import Deletion
from chalicelib.domain.history_entry import (
    SEARCHED,
    CounterKey,
    Counters,
    HistoryEntry,
    added_numbers,
    entry_of,
    tax_key,
)
from chalicelib.domain.taxes import Tax
from chalicelib.domain.transaction import Transaction
from chalicelib.store.table import Key, Write, delete, put_item, update

TABLE = "history"
ENTRY, IN_ORDER = "entry#", "time#"  # sort keys by agent, and of all agents
REVERSED = "#reversed"  # ends the sort key of the mark next to the entry of a reversed payment
BETWEEN = "\n"  # separates the addresses of a receipt; no address contains it


def values_of(entry: HistoryEntry) -> dict[str, Any]:
    """Return the attributes of an entry, without its key and without those that only its mark has."""
    values = {
        **_short_values(entry),
        "id": entry.id.casefold(),
        "receipts": BETWEEN.join(entry.receipts) or None,
        "phase": entry.phase,
        "original_id": entry.original_id,
        "taxes": entry.taxes or None,
        "taxed_again_minor": entry.taxed_again_minor or None,
        "discounts_minor": entry.discounts_minor or None,
        "lines": entry.lines,
        "received": entry.received and time_text(entry.received),
        "exact": dict(entry.exact) or None,
        **{name: getattr(entry, name) for name in SEARCHED if name != "reverse_invoice"},
    }
    return {name: value for name, value in values.items() if value is not None}


def _short_values(entry: HistoryEntry) -> dict[str, Any]:
    """Return the attributes of an entry that its mark has too: those of all filters but the search."""
    return {
        "kind": kind_text(entry.counter),
        "taken_minor": entry.taken_minor or None,
        "amount_minor": None if entry.taken_minor else entry.amount_minor,
        "client_product_code": entry.client_product_code,
        "invoice": entry.invoice,
        "rrn": entry.rrn,
    }


def writes_for_new(transaction: Transaction) -> list[Write]:
    """Return the writes that add a new transaction to the history, for the store transaction that stores it."""
    entry = entry_of(transaction)
    counted = additions(transaction.client_id, entry)
    return [*_entry_writes(transaction, entry), *map(add, counted)]


def writes_for_outcome(transaction: Transaction) -> list[Write]:
    """Return the writes that add an outcome to the history: the references, and the money if any moved."""
    entry = entry_of(transaction)
    moved = additions(transaction.client_id, entry, is_new=False) if entry.moved_minor else []
    return [*_entry_writes(transaction, entry), *map(add, moved)]


def writes_for_reversed(original: Transaction, reversal: Transaction) -> list[Write]:
    """Return the writes that add the receipt number of a completed reversal to the history of its payment."""
    reversals = replace(original.reversals, latest_invoice=reversal.invoice)
    entry = entry_of(replace(original, reversals=reversals))
    return _mark_writes(keys_of(original, entry), entry)


def writes_for_completion(payment: Transaction) -> list[Write]:
    """Return the writes that show an approved payment as paid in the history, after its completion."""
    return _entry_writes(payment, entry_of(payment))


def writes_for_erasure(before: Transaction, after: Transaction) -> list[Write]:
    """Return the writes that replace a payer's data in each copy of an entry. With another ExtID, a copy moves."""
    entry = entry_of(after)
    moved = [key for key in keys_of(before, entry) if key not in keys_of(after, entry)]
    marks = [mark_key(key) for key in moved if entry.reverse_invoice]
    deletions = [delete(Deletion.ENTRY_OF_FORMER_EXT_ID, key, "", {}) for key in moved + marks]
    return [*deletions, *_entry_writes(after, entry)]


def keys_of(transaction: Transaction, entry: HistoryEntry) -> list[Key[HistoryEntry]]:
    """Return the keys of the copies of a transaction's entry."""
    month = month_of(transaction.client_id, entry.at.date())
    by_agent = f"{prefix_of(entry.counter.agent_id)}{time_text(entry.at)}#{entry.id}"
    in_order = f"{IN_ORDER}{time_text(entry.at)}#{entry.counter.agent_id}#{entry.id}"
    places = [(month, by_agent), (month, in_order)]
    if entry.is_late and entry.received:
        late = f"{IN_ORDER}{time_text(entry.received)}#{entry.counter.agent_id}#{entry.id}"
        places.append((late_partition(transaction.client_id), late))
    if ext_id := transaction.particulars.ext_id:
        places.append((ext_id_partition(transaction.client_id, ext_id), by_agent))
    return [Key(TABLE, HistoryEntry, {"month": partition, "at": at}) for partition, at in places]


def _entry_writes(transaction: Transaction, entry: HistoryEntry) -> list[Write]:
    keys, late = keys_of(transaction, entry), late_partition(transaction.client_id)
    values = values_of(entry)
    of_late = values_of(entry.as_received) if entry.is_late else values
    entries = [put_item(TABLE, {**key.key, **(of_late if key.key["month"] == late else values)}) for key in keys]
    return [*entries, *_mark_writes(keys, entry)]


def _mark_writes(keys: Iterable[Key[HistoryEntry]], entry: HistoryEntry) -> list[Write]:
    """Return the writes of the marks next to the copies of a reversed payment's entry; none for another entry.

    A mark is small, whatever the entry has. So a reversal costs the same for each payment.
    """
    if entry.reverse_invoice is None:
        return []
    values = {name: value for name, value in _short_values(entry).items() if value is not None}
    values["reverse_invoice"] = entry.reverse_invoice
    return [put_item(TABLE, {**mark_key(key).key, **values}) for key in keys]


def mark_key(key: Key[HistoryEntry]) -> Key[HistoryEntry]:
    """Return the key of the mark next to a copy of an entry."""
    return Key(TABLE, HistoryEntry, {**key.key, "at": f"{key.key['at']}{REVERSED}"})


def prefix_of(agent_id: int | None) -> str:
    """Return the prefix of the sort keys of the entries by agent, of an agent or of all."""
    return ENTRY if agent_id is None else f"{ENTRY}{agent_id}#"


def ext_id_partition(client_id: int, ext_id: str) -> str:
    """Return the partition of the entries with an ExtID."""
    return f"ext#{client_id}#{ext_id}"


def late_partition(client_id: int) -> str:
    """Return the partition of a merchant's late sales, in the order of their recording."""
    return f"late#{client_id}"


def time_text(at: datetime) -> str:
    """Return the time of an entry in the sortable form of its key."""
    return at.isoformat(timespec="microseconds")


DAYS, HOURS = "days#", "hours#"


@dataclass(frozen=True)
class Addition:
    """The numbers that a transaction adds to a counter, and the taxes that they name, by the key of the tax."""

    key: Key[Any]
    numbers: Counters
    taxes: Mapping[str, Tax]


def additions(client_id: int, entry: HistoryEntry, *, is_new: bool = True) -> list[Addition]:
    """Return the additions of a transaction to its two counters: of its month by day, and of its day by hour.

    A new transaction that moved money counts with its money at once. One that moves money later adds only the money
    then: `is_new` is false.
    """
    month = month_of(client_id, entry.at.date())
    counter = f"{entry.counter.agent_id}#{kind_text(entry.counter)}"
    taxes = {tax_key(one): Tax(code=one.code, name=one.name, rate=one.rate) for one in entry.moved_taxes}
    return [
        Addition(
            Key(TABLE, object, {"month": month, "at": at}),
            added_numbers(when, entry, is_new=is_new),
            taxes,
        )
        for at, when in (
            (f"{DAYS}{counter}", f"{entry.at:%d}"),
            (f"{HOURS}{entry.at:%d}#{counter}", f"{entry.at:%H}"),
        )
    ]


def add(addition: Addition) -> Write:
    """Return the write of an addition."""
    return update(addition.key, addition.taxes, add=addition.numbers)


def month_of(client_id: int, day: date) -> str:
    """Return the partition of a merchant's month: 17#2026-03."""
    return f"{client_id}#{day.isoformat()[:7]}"


def kind_text(counter: CounterKey) -> str:
    """Return the text of a counter without its agent: 10.0.2ZAR.CASH."""
    return f"{counter.input_type}.{counter.reverse_mode}.{counter.digits}{counter.currency}.{counter.acquirer}"
