"""The reads of the history: its entries in the order of a list, and its counters."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial, reduce
from itertools import groupby, islice
from operator import or_
from typing import Any

from chalicelib.domain.history_entry import COUNT, MONEY, SEARCHED, CounterKey, Counters, HistoryEntry
from chalicelib.domain.history_filter import HistoryFilter, SearchText
from chalicelib.domain.history_page import MAX_CANDIDATES, DayCount
from chalicelib.domain.periods import Period
from chalicelib.domain.phases import Phase
from chalicelib.domain.taxes import Tax, TaxAmount
from chalicelib.store.history import (
    BETWEEN,
    DAYS,
    HOURS,
    IN_ORDER,
    REVERSED,
    TABLE,
    ext_id_partition,
    late_partition,
    month_of,
    prefix_of,
    time_text,
)
from chalicelib.store.ranges import Filter, Range, item_pages, items_of, range_of_prefix
from chalicelib.store.table import Item, decode, decode_row, readable

WITHOUT_TEXTS = ("at", "kind", "taken_minor", "amount_minor")  # the attributes for a page without a text search
EXPORTED = (  # the attributes for an exported row
    *("at", "kind", "taken_minor", "amount_minor", "invoice", "reverse_invoice", "rrn", "approval_code", "card"),
    *("ext_id", "description", "terminal", "agent", "phase", "original_id", "exact", "taxes"),
    *("discounts_minor", "lines", "received"),
)


# The attributes for a list, which shows no taxes.
OF_DAYS = ("at", *(f"{letter}{day:02d}" for letter in (COUNT, MONEY) for day in range(1, 32)))
OF_HOURS = ("at", *(f"{COUNT}{hour:02d}" for hour in range(24)))


def entries_in(items: Iterable[Item]) -> Iterator[HistoryEntry]:
    """Yield the readable entries in the items of a query, each with what the mark next to it has.

    A mark without its entry, which the filter has left out, is an entry with fewer texts.
    """
    by_entry = groupby(items, key=lambda item: item["at"]["S"].removesuffix(REVERSED))
    return readable(TABLE, (reduce(or_, of_entry) for _, of_entry in by_entry), entry_in)


def entry_in(item: Item) -> HistoryEntry:
    """Return the entry in an item, or in its mark."""
    order, first, second, transaction_id = item["at"]["S"].removesuffix(REVERSED).split("#", 3)
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
        taxes=tuple(decode_row(TaxAmount, one) for one in item["taxes"]["L"]) if "taxes" in item else (),
        taxed_again_minor=int(item["taxed_again_minor"]["N"]) if "taxed_again_minor" in item else 0,
        discounts_minor=int(item["discounts_minor"]["N"]) if "discounts_minor" in item else 0,
        lines=item["lines"]["S"] if "lines" in item else None,
        received=datetime.fromisoformat(item["received"]["S"]) if "received" in item else None,
        exact={name: text["S"] for name, text in item["exact"]["M"].items()} if "exact" in item else {},
        **{name: item[name]["S"] for name in SEARCHED if name in item},
    )


def counter_of(agent_id: int, kind: str) -> CounterKey:
    """Return the counter of an agent from a text of `kind_text`."""
    input_type, reverse_mode, money, acquirer = kind.split(".", 3)
    return CounterKey(agent_id, int(input_type), int(reverse_mode), int(money[0]), money[1:], acquirer)


def counter_at(at: str) -> CounterKey:
    """Return the counter with this sort key."""
    *_, agent_id, kind = at.split("#")
    return counter_of(int(agent_id), kind)


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
    expression = " AND ".join(parts)
    if wanted.by_text:  # the mark of a matching entry has fewer texts
        expression = f"{expression} OR attribute_exists(#reverse_invoice)"
    return Filter(expression, values) if parts else None


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


@dataclass(frozen=True)
class Stretch:
    """A stretch of time in a merchant's zone, without its end, for one agent or (None) all agents."""

    client_id: int
    agent_id: int | None
    begin: datetime
    end: datetime


def between(
    stretch: Stretch, wanted: HistoryFilter, only: Sequence[str] = WITHOUT_TEXTS, *, newest_first: bool = False
) -> Iterator[HistoryEntry]:
    """Yield the matching entries of a stretch of time in the order of a list.

    Only one page is in memory at a time. A filter by text reads all attributes; other filters read the attributes
    `only`.
    """
    only = () if wanted.by_text else only
    prefix = IN_ORDER if stretch.agent_id is None else prefix_of(stretch.agent_id)
    low, high = (f"{prefix}{time_text(at)}" for at in (stretch.begin, stretch.end))
    months = Period(stretch.begin.date(), (stretch.end - timedelta(microseconds=1)).date()).months
    for month in reversed(months) if newest_first else months:
        span = Range(TABLE, ("month", f"{stretch.client_id}#{month}"), "at", low, high)
        items = items_of(span, filter_for(wanted), only, newest_first=newest_first)
        found = filter(wanted.matches, entries_in(items))
        for _, at_once in groupby(found, key=lambda entry: entry.at):
            yield from sorted(at_once, key=lambda entry: entry.id, reverse=newest_first)


def late_pages(client_id: int, period: Period, only: Sequence[str] = ()) -> Iterator[list[HistoryEntry]]:
    """Yield the late sales of all agents that were recorded in a period, the oldest first: a list for each store call.

    With `only`, entries have only these attributes. Their time is that of the recording.
    """
    low, high = f"{IN_ORDER}{period.first}", f"{IN_ORDER}{period.last}~"
    span = Range(TABLE, ("month", late_partition(client_id)), "at", low, high)
    for page in _with_marks(item_pages(span, only=only)):
        yield list(entries_in(page))


def _with_marks(pages: Iterator[Sequence[Item]]) -> Iterator[Sequence[Item]]:
    """Yield pages of entries, each with the mark of its last entry, which may stand on the next one."""
    page = list(next(pages, ()))
    for following in pages:
        begun = 1 if following and following[0]["at"]["S"].endswith(REVERSED) else 0
        yield [*page, *following[:begun]]
        page = list(following[begun:])
    yield page


def with_ext_id(client_id: int, ext_id: str, agent_id: int | None) -> list[HistoryEntry]:
    """List the entries of an ExtID, of one agent or of all: at most one more than `MAX_CANDIDATES`."""
    found = items_of(range_of_prefix(TABLE, ("month", ext_id_partition(client_id, ext_id)), "at", prefix_of(agent_id)))
    return list(islice(entries_in(found), MAX_CANDIDATES + 1))


def day_counts(client_id: int, month: str, agent_id: int | None) -> list[DayCount]:
    """List the counts of the days of a month (2026-03), by counter, of one agent or of each."""
    found = items_of(counters_range(client_id, month, days_prefix(agent_id)), only=OF_DAYS)
    return [one for of_counter in readable(TABLE, found, partial(_day_counts, month)) for one in of_counter]


def _day_counts(month: str, item: Item) -> list[DayCount]:
    counter, numbers = counter_at(item["at"]["S"]), numbers_in(item)
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
    return counter_at(item["at"]["S"]), {int(name[1:]): number for name, number in numbers_in(item).items()}


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
