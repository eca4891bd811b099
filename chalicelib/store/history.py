"""The history: a short entry per transaction, the counters written with it, and the reads of a list."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from itertools import groupby, islice
from typing import Any

from chalicelib.domain.business_days import Period
from chalicelib.domain.deletions import Deletion
from chalicelib.domain.history_entry import (
    COUNT,
    MONEY,
    SEARCHED,
    CounterKey,
    Counters,
    DayCount,
    HistoryEntry,
    added_numbers,
    entry_of,
    tax_key,
)
from chalicelib.domain.history_filter import HistoryFilter, SearchText
from chalicelib.domain.history_page import MAX_CANDIDATES
from chalicelib.domain.kinds import InputType
from chalicelib.domain.phases import Phase
from chalicelib.domain.price_list import Tax
from chalicelib.domain.taxes import TaxAmount
from chalicelib.domain.transaction import Transaction
from chalicelib.record import Record
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
    update,
)

TABLE = "history"
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


class Stretch(Record):
    """A stretch of time in a merchant's zone, without its end, for one agent or (None) all agents."""

    client_id: int
    agent_id: int | None
    begin: datetime
    end: datetime


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
    month = month_of(transaction.client_id, entry.at.date())
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


DAYS, HOURS = "days#", "hours#"
FOR = "@"  # before the agent for whose payments cash was given back
# The attributes for a list, which shows no taxes.
OF_DAYS = ("at", *(f"{letter}{day:02d}" for letter in (COUNT, MONEY) for day in range(1, 32)))
OF_HOURS = ("at", *(f"{COUNT}{hour:02d}" for hour in range(24)))


class Addition(Record):
    """The numbers that a transaction adds to a counter, and the taxes that they name, by the key of the tax."""

    key: Key[Any]
    numbers: Counters
    taxes: Mapping[str, Tax]


def additions(client_id: int, entry: HistoryEntry, *, is_new: bool = True) -> list[Addition]:
    """Return the additions of a transaction to its two counters: of its month by day, and of its day by hour.

    A new transaction that moved money counts with its money at once. One that moves money later adds only the money
    then: `is_new` is false.
    """
    month, counter, moved_minor = month_of(client_id, entry.at.date()), _counter_text(entry), entry.moved_minor
    taxes = {tax_key(one): Tax(code=one.code, name=one.name, rate=one.rate) for one in entry.moved_taxes}
    return [
        Addition(
            Key(TABLE, object, {"month": month, "at": at}),
            added_numbers(when, moved_minor, entry.taxes, is_new=is_new),
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


def day_counts(client_id: int, month: str, agent_id: int | None) -> list[DayCount]:
    """List the counts of the days of a month (2026-03), by counter, of one agent or of each."""
    found = items_of(counters_range(client_id, month, days_prefix(agent_id)), only=OF_DAYS)
    return [one for of_counter in readable(TABLE, found, partial(_day_counts, month)) for one in of_counter]


def _day_counts(month: str, item: Item) -> list[DayCount]:
    (counter, _), numbers = counter_at(item["at"]["S"]), numbers_in(item)
    return [
        DayCount(
            counter,
            date.fromisoformat(f"{month}-{name[1:]}"),
            count,
            0 if counter.reverse_mode else numbers.get(f"{MONEY}{name[1:]}", 0),
        )
        for name, count in numbers.items()
        if name[0] == COUNT
    ]


def hour_counts(client_id: int, day: date, agent_id: int | None) -> Iterator[tuple[CounterKey, Mapping[int, int]]]:
    """Yield the counters of a day, of one agent or of each, with the numbers of transactions by hour."""
    found = items_of(counters_range(client_id, day.isoformat()[:7], hours_prefix(day, agent_id)), only=OF_HOURS)
    return readable(TABLE, found, _hour_counts)


def _hour_counts(item: Item) -> tuple[CounterKey, Mapping[int, int]]:
    counter, _ = counter_at(item["at"]["S"])
    return counter, {int(name[1:]): number for name, number in numbers_in(item).items()}


def days_prefix(agent_id: int | None) -> str:
    """Return the prefix of the sort keys of the counters by day, of an agent or of all."""
    return DAYS if agent_id is None else f"{DAYS}{agent_id}#"


def hours_prefix(day: date, agent_id: int | None) -> str:
    """Return the prefix of the sort keys of the counters of a day by hour, of an agent or of all."""
    return f"{HOURS}{day:%d}#" if agent_id is None else f"{HOURS}{day:%d}#{agent_id}#"


def day_of_hours(at: str) -> int:
    """Return the day of the month of the counter by hour with this sort key."""
    return int(at.removeprefix(HOURS)[:2])


def counters_range(client_id: int, month: str, prefix: str) -> Range:
    """Return the range of the counters of a month (2026-03) whose sort key begins with `prefix`."""
    return range_of_prefix(TABLE, ("month", f"{client_id}#{month}"), "at", prefix)


def hours_range(client_id: int, first: date, last: date) -> Range:
    """Return the range of the counters by hour on some days of one month, of all agents."""
    return Range(TABLE, ("month", month_of(client_id, first)), "at", f"{HOURS}{first:%d}", f"{HOURS}{last:%d}#~")


def numbers_in(item: Item) -> Counters:
    """Return the numbers of a counter."""
    return {name: int(value["N"]) for name, value in item.items() if name not in {"month", "at"} and "M" not in value}


def taxes_in(item: Item) -> Mapping[str, Tax]:
    """Return the taxes that the numbers of a counter name, by the key of the tax."""
    return {name: decode(Tax, value["M"]) for name, value in item.items() if "M" in value}


def kind_text(counter: CounterKey) -> str:
    """Return the text of a counter without its agent: 10.0.2ZAR.CASH."""
    return f"{counter.input_type}.{counter.reverse_mode}.{counter.digits}{counter.currency}.{counter.acquirer}"


def counter_of(agent_id: int, kind: str) -> CounterKey:
    """Return the counter of an agent from a text of `kind_text`."""
    input_type, reverse_mode, money, acquirer = kind.split(".", 3)
    return CounterKey(agent_id, int(input_type), int(reverse_mode), int(money[0]), money[1:], acquirer)


def _counter_text(entry: HistoryEntry) -> str:
    """Return the part of a sort key for a counter: 17#10.0.2ZAR.CASH.

    Cash that was given back for another agent's payments counts apart: 17#10.2.2ZAR.CASH@18.
    """
    counter, original_agent = entry.counter, entry.original_agent
    is_for_another = original_agent is not None and counter.input_type == InputType.CASH
    return f"{counter.agent_id}#{kind_text(counter)}{f'{FOR}{original_agent}' if is_for_another else ''}"


def counter_at(at: str) -> tuple[CounterKey, int | None]:
    """Return the counter with this sort key, and the other agent for whose payments it gave cash back, if any."""
    *_, agent_id, text = at.split("#")
    kind, _, original_agent = text.partition(FOR)
    return counter_of(int(agent_id), kind), int(original_agent) if original_agent else None
