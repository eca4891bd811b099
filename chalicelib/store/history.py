"""What happened when: one thin entry a transaction, and the totals written with it.

A partition is a month of a merchant, in the merchant's zone; an agent's entries stand together in it, in order. What
has an ExtID has its entry a second time, in a partition of that ExtID. Every way in is a strong read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from chalicelib.domain.history import MAX_CANDIDATES, SEARCHED, HistoryEntry, HistoryFilter, Stream, entry_of
from chalicelib.domain.transaction import Transaction
from chalicelib.store import totals
from chalicelib.store.codec import Value
from chalicelib.store.query import Condition, Range, items, prefixed
from chalicelib.store.table import Write, put_item

TABLE = totals.TABLE
ENTRY = "entry#"
THIN = ("at", "kind", "taken_minor")  # what a page needs when no text is looked for


def record(transaction: Transaction) -> tuple[Write, ...]:
    """Everything that makes a new transaction part of the history: to be written with the transaction itself."""
    slot = totals.slot(transaction.client_id, entry_of(transaction))
    return (*_entries(transaction), count(transaction), slot)


def finished(transaction: Transaction) -> tuple[Write, ...]:
    """What changes when the outcome of a recorded transaction is known: its references, and the money it took."""
    moved = [taken(transaction)] if entry_of(transaction).taken_minor else []
    return (*_entries(transaction), *moved)


def entry(transaction: Transaction) -> Write:
    """The line a list finds the transaction by."""
    line = entry_of(transaction)
    return _put(totals.month_of(transaction.client_id, line.at.date()), line)


def count(transaction: Transaction) -> Write:
    """One more transaction in the totals."""
    return totals.count(transaction.client_id, entry_of(transaction))


def taken(transaction: Transaction) -> Write:
    """The money of a payment that was counted when it had not taken any."""
    return totals.taken(transaction.client_id, entry_of(transaction))


def _entries(transaction: Transaction) -> list[Write]:
    by_ext_id = _put(_ext(transaction.client_id, transaction.particulars.ext_id), entry_of(transaction))
    return [entry(transaction), by_ext_id] if transaction.particulars.ext_id else [entry(transaction)]


def _put(partition: str, line: HistoryEntry) -> Write:
    stream = line.stream
    facts = {
        "month": partition,
        "at": f"{ENTRY}{stream.agent_id}#{_instant(line.at)}#{line.id}",
        "kind": f"{stream.input_type}.{stream.reverse_mode}.{stream.digits}.{stream.acquirer}",
        "id": line.id.casefold(),
        "taken_minor": line.taken_minor or None,
        **{name: getattr(line, name) for name in SEARCHED},
    }
    return put_item(TABLE, {name: value for name, value in facts.items() if value is not None})


@dataclass(frozen=True)
class Place:
    """Where entries stand together: a merchant's of a month (2026-03), of one agent or (None) of all in turn."""

    client_id: int
    month: str
    agent_id: int | None


def between(place: Place, begin: datetime, end: datetime, wanted: HistoryFilter) -> list[HistoryEntry]:
    """The entries of a place that match, from `begin` until before `end`, in the merchant's zone."""
    partition = ("month", f"{place.client_id}#{place.month}")
    span = prefixed(TABLE, partition, "at", ENTRY)
    if place.agent_id is not None:
        prefix = f"{ENTRY}{place.agent_id}#"
        span = Range(TABLE, partition, "at", prefix + _instant(begin), prefix + _instant(end))
    found = (_line(item) for item in items(span, _condition(wanted), () if wanted.by_text else THIN))
    return [line for line in found if begin <= line.at < end and wanted.matches(line)]


def with_ext_id(client_id: int, ext_id: str, agent_id: int | None) -> list[HistoryEntry]:
    """The entries of an ExtID, of one agent or of all: one more than a list may look at, at the most."""
    prefix = ENTRY if agent_id is None else f"{ENTRY}{agent_id}#"
    found = items(prefixed(TABLE, ("month", _ext(client_id, ext_id)), "at", prefix))
    return [_line(item) for item in islice(found, MAX_CANDIDATES + 1)]


def of_month(client_id: int, month: str) -> list[HistoryEntry]:
    """Every entry of a month, whoever made it."""
    found = items(prefixed(TABLE, ("month", f"{client_id}#{month}"), "at", ENTRY))
    return [_line(item) for item in found]


def _ext(client_id: int, ext_id: str | None) -> str:
    return f"ext#{client_id}#{ext_id}"


def _instant(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")


def _line(item: Mapping[str, Value]) -> HistoryEntry:
    _, agent_id, at, transaction_id = item["at"]["S"].split("#", 3)
    input_type, reverse_mode, digits, acquirer = item["kind"]["S"].split(".", 3)
    return HistoryEntry(
        id=transaction_id,
        at=datetime.fromisoformat(at),
        stream=Stream(int(agent_id), int(input_type), int(reverse_mode), int(digits), acquirer),
        taken_minor=int(item["taken_minor"]["N"]) if "taken_minor" in item else 0,
        **{name: item[name]["S"] for name in SEARCHED if name in item},
    )


def _condition(wanted: HistoryFilter) -> Condition:
    """What need not be sent: the store may send more than matches, never less."""
    parts: list[str] = []
    values: dict[str, Any] = {}
    if wanted.input_type is not None:
        parts.append("begins_with(#kind, :input_type)")
        values["input_type"] = f"{wanted.input_type}."
    if wanted.acquirer is not None:
        parts.append("contains(#kind, :acquirer)")
        values["acquirer"] = f".{wanted.acquirer}"
    for name in ("invoice", "original_invoice", "rrn"):
        if getattr(wanted, name) is not None:
            parts.append(f"#{name} = :{name}")
            values[name] = getattr(wanted, name)
    if wanted.search is not None:
        anywhere = " OR ".join(f"contains(#{name}, :search)" for name in ("id", *SEARCHED))
        parts.append(f"({anywhere})")
        values["search"] = wanted.search
    return Condition(" AND ".join(parts), values)
