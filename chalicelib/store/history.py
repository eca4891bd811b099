"""The history: one short entry for each transaction, and the totals that are written with it.

A partition is a month of a merchant, in the merchant's zone. A transaction has two entries in it, with the same
attributes: among those of its agent, by time, and among those of all agents, by time. One with an ExtID has a third, in
a partition of that ExtID. Every read is a strong read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby, islice

from chalicelib.domain.history import MAX_CANDIDATES, HistoryEntry, entry_of
from chalicelib.domain.history_filter import HistoryFilter
from chalicelib.domain.period import Period
from chalicelib.domain.transaction import Transaction
from chalicelib.record import Record
from chalicelib.store import rolled_totals, totals
from chalicelib.store.history_items import ENTRY, IN_ORDER, WITHOUT_TEXTS, entry_in, filter_for, values_of
from chalicelib.store.query import Range, items_of, range_of_prefix
from chalicelib.store.table import Write, put_item

TABLE = totals.TABLE


class Stretch(Record):
    """A stretch of time in a merchant's zone, its end not included: what one agent or (None) all did in it."""

    client_id: int
    agent_id: int | None
    begin: datetime
    end: datetime


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
    reversals = replace(original.reversals, latest_invoice=reversal.invoice)
    return _entry_writes(original, entry_of(replace(original, reversals=reversals)))


def writes_for_completion(payment: Transaction) -> list[Write]:
    """Return the writes that say in the history that a payment whose money was approved is paid now."""
    return _entry_writes(payment, entry_of(payment))


def between(
    stretch: Stretch, wanted: HistoryFilter, only: Sequence[str] = WITHOUT_TEXTS, *, newest_first: bool = False
) -> Iterator[HistoryEntry]:
    """Yield the matching entries of a stretch of time in the order of a list.

    They are read page by page: no more than a page is in memory. A filter by text reads all attributes, any other the
    attributes `only`.
    """
    only = () if wanted.by_text else only
    prefix = IN_ORDER if stretch.agent_id is None else _prefix(stretch.agent_id)
    low, high = (f"{prefix}{_time_text(at)}" for at in (stretch.begin, stretch.end))
    months = Period(stretch.begin.date(), (stretch.end - timedelta(microseconds=1)).date()).months
    for month in reversed(months) if newest_first else months:
        span = Range(TABLE, ("month", f"{stretch.client_id}#{month}"), "at", low, high)
        items = items_of(span, filter_for(wanted), only, newest_first=newest_first)
        found = filter(wanted.matches, map(entry_in, items))
        for _, at_once in groupby(found, key=lambda entry: entry.at):
            yield from sorted(at_once, key=lambda entry: entry.id, reverse=newest_first)


def with_ext_id(client_id: int, ext_id: str, agent_id: int | None) -> list[HistoryEntry]:
    """List the entries of an ExtID, of one agent or of all: at most one more than `MAX_CANDIDATES`."""
    found = items_of(range_of_prefix(TABLE, ("month", _ext_id_partition(client_id, ext_id)), "at", _prefix(agent_id)))
    return [entry_in(item) for item in islice(found, MAX_CANDIDATES + 1)]


def of_month(client_id: int, month: str) -> list[HistoryEntry]:
    """List every entry of a merchant's month (2026-03)."""
    return [entry_in(item) for item in items_of(range_of_prefix(TABLE, ("month", f"{client_id}#{month}"), "at", ENTRY))]


def _entry_writes(transaction: Transaction, entry: HistoryEntry) -> list[Write]:
    month = totals.month_of(transaction.client_id, entry.at.date())
    by_agent = f"{_prefix(entry.counter.agent_id)}{_time_text(entry.at)}#{entry.id}"
    in_order = f"{IN_ORDER}{_time_text(entry.at)}#{entry.counter.agent_id}#{entry.id}"
    values = values_of(entry)
    keys = [(month, by_agent), (month, in_order)]
    if ext_id := transaction.particulars.ext_id:
        keys.append((_ext_id_partition(transaction.client_id, ext_id), by_agent))
    return [put_item(TABLE, {"month": partition, "at": at, **values}) for partition, at in keys]


def _prefix(agent_id: int | None) -> str:
    return ENTRY if agent_id is None else f"{ENTRY}{agent_id}#"


def _ext_id_partition(client_id: int, ext_id: str) -> str:
    return f"ext#{client_id}#{ext_id}"


def _time_text(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")
