"""Counters of a merchant's transactions, written with each one: by day of a month, by quarter and hour of a day."""

import hashlib
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from string import ascii_letters
from typing import Any, TypeVar

from chalicelib.domain.counters import (
    COUNT,
    MONEY,
    CounterKey,
    Counters,
    DayTotal,
    QuarterCounts,
    moved_counters,
    slot_counters,
    total_counters,
)
from chalicelib.domain.history_entry import HistoryEntry
from chalicelib.domain.price_list import Tax
from chalicelib.domain.transaction import InputType
from chalicelib.store.table import (
    Item,
    Key,
    Range,
    Write,
    decode,
    item_pages,
    items_of,
    range_of_prefix,
    readable,
    set_attributes,
    update,
)

T = TypeVar("T")

TABLE = "history"
AT_ONCE = 100  # counters in one correction
SHARDS = 2  # per counter, so that writes of a busy agent do not collide
TOTAL, SLOTS = "total#", "slots#"
# The names of numbers: of days and hours by a letter, of quarters of an hour.
NAMES = {f"{letter}{number:02d}" for letter in ascii_letters for number in range(32)} | {
    f"{one:02d}" for one in range(96)
}
TAXES = "taxes"  # the attribute that names the taxes of a counter's numbers
FOR = "@"  # before the agent for whose payments money was given back
ALL_AGENTS = 0  # the agent of a counter for all agents


class CounterChangedError(Exception):
    """The counter has changed since it was read: another transaction was counted."""


def month_of(client_id: int, day: date) -> str:
    """Return the partition of a merchant's month: 17#2026-03."""
    return f"{client_id}#{day.isoformat()[:7]}"


def add_to_total(client_id: int, entry: HistoryEntry) -> Write:
    """Return the write that counts a transaction and its moved money in the total of its month."""
    return _add(total_key(client_id, entry), total_counters(entry.at, entry.moved_minor, entry.taxes), entry)


def add_money(client_id: int, entry: HistoryEntry) -> list[Write]:
    """Return the writes that add the money of a transaction that was counted before it moved any."""
    return [
        _add(total_key(client_id, entry), moved_counters(f"{entry.at:%d}", entry.moved_minor, entry.taxes), entry),
        _add(slots_key(client_id, entry), moved_counters(f"{entry.at:%H}", entry.moved_minor, entry.taxes), entry),
    ]


def add_to_slots(client_id: int, entry: HistoryEntry) -> Write:
    """Return the write that counts a transaction in its quarter of an hour, and its moved money in its hour."""
    return _add(slots_key(client_id, entry), slot_counters(entry.at, entry.moved_minor, entry.taxes), entry)


def correction(key: Key[Any], before: Mapping[str, int | None], after: Counters, taxes: Sequence[Tax]) -> Write:
    """Return the write that sets counters to `after`. It raises CounterChangedError unless they are still `before`.

    None stands for a missing number, and a number that becomes 0 is removed: none is counted. The key decides the
    `taxes` of its numbers, so they are set in any case. The condition of `AT_ONCE` counters stays below DynamoDB's
    limits: 4 KB and 300 operators.
    """
    as_read = " AND ".join(
        f"attribute_not_exists(#{name})" if before[name] is None else f"#{name} = :was{name}" for name in after
    )
    sets = {name: number for name, number in after.items() if number} | ({TAXES: taxes} if taxes else {})
    gone = ", ".join(f"#{name}" for name in after if name not in sets)
    expression = (set_attributes(sets) if sets else "") + (f" REMOVE {gone}" if gone else "")
    values = {**sets, **{f"was{name}": number for name, number in before.items() if number is not None}}
    return update(key, expression, values, condition=as_read, otherwise=CounterChangedError())


def total_key(client_id: int, entry: HistoryEntry) -> Key[Any]:
    """Return the key of the total in which a transaction counts."""
    return _key(client_id, entry, TOTAL + _counter_text(entry))


def slots_key(client_id: int, entry: HistoryEntry) -> Key[Any]:
    """Return the key of the slots in which a transaction counts."""
    return _key(client_id, entry, f"{SLOTS}{entry.at:%d}#{_counter_text(entry)}")


def counters_key(partition: str, at: str) -> Key[Any]:
    """Return the key of counters from its two attributes."""
    return Key(TABLE, object, {"month": partition, "at": at})


def of_month(client_id: int, month: str, agent_id: int | None) -> list[DayTotal]:
    """List the totals of a month (2026-03), of one agent or of each: a total per day and shard of a counter."""
    found = items_of(counters_range(client_id, month, total_prefix(agent_id)))
    totals = readable(TABLE, found, lambda item: [*day_totals(counter_at(item["at"]["S"]), month, numbers_in(item))])
    return [one for of_counter in totals for one in of_counter]


def of_all_agents(client_id: int, month: str) -> list[DayTotal]:
    """List the totals of a month (2026-03), added up over all agents: a total per day and kind."""
    added: defaultdict[CounterKey, Counter[str]] = defaultdict(Counter)
    for counter, numbers in readable(TABLE, items_of(counters_range(client_id, month, TOTAL)), counter_in):
        added[replace(counter, agent_id=ALL_AGENTS)].update(numbers)
    return [one for counter, numbers in added.items() for one in day_totals(counter, month, numbers)]


def day_totals(counter: CounterKey, month: str, numbers: Counters) -> Iterator[DayTotal]:
    """Yield the totals of the days that have transactions, from the numbers of a month."""
    for name, count in numbers.items():
        if name[0] == COUNT:
            day = name[1:]
            yield DayTotal(counter, date.fromisoformat(f"{month}-{day}"), count, numbers.get(f"{MONEY}{day}", 0))


def quarters_of(client_id: int, day: date, agent_id: int | None) -> list[QuarterCounts]:
    """List the slots of a day, of one agent or of each: the counts of its quarters of an hour, per shard."""
    found = items_of(counters_range(client_id, day.isoformat()[:7], slots_prefix(day, agent_id)))
    return [
        QuarterCounts(counter, {name: number for name, number in numbers.items() if name.isdecimal()})
        for counter, numbers in readable(TABLE, found, counter_in)
    ]


def counter_in(item: Item) -> tuple[CounterKey, Counters]:
    """Return the counter of an item, and its numbers. Raise ValueError for a name that no number has."""
    numbers = numbers_in(item)
    if not numbers.keys() <= NAMES:
        raise ValueError(item["at"])
    return counter_at(item["at"]["S"]), numbers


def total_prefix(agent_id: int | None) -> str:
    """Return the prefix of the sort keys of the totals of an agent, or of all."""
    return TOTAL if agent_id is None else f"{TOTAL}{agent_id}#"


def slots_prefix(day: date, agent_id: int | None) -> str:
    """Return the prefix of the sort keys of the slots of a day, of an agent or of all."""
    return f"{SLOTS}{day:%d}#" if agent_id is None else f"{SLOTS}{day:%d}#{agent_id}#"


def day_of_slots(at: str) -> int:
    """Return the day of the month of the slots with this sort key."""
    return int(at.removeprefix(SLOTS)[:2])


def read_counters(client_id: int, month: str, prefix: str) -> Iterator[tuple[str, Counters]]:
    """Yield the counters of a month (2026-03) whose sort key begins with `prefix`, each with its sort key."""
    found = items_of(counters_range(client_id, month, prefix))
    yield from ((item["at"]["S"], numbers_in(item)) for item in found)


def counters_range(client_id: int, month: str, prefix: str) -> Range:
    """Return the range of the counters of a month (2026-03) whose sort key begins with `prefix`."""
    return range_of_prefix(TABLE, ("month", f"{client_id}#{month}"), "at", prefix)


def slots_range(client_id: int, first: date, last: date) -> Range:
    """Return the range of the slots of some days of one month, of all agents."""
    return Range(TABLE, ("month", month_of(client_id, first)), "at", f"{SLOTS}{first:%d}", f"{SLOTS}{last:%d}#~")


def counter_pages(span: Range, read: Callable[[str, Counters, Sequence[Tax]], list[T]]) -> Iterator[list[T]]:
    """Yield the results of `read` for the sort key, numbers and taxes of each counter: a list per store call."""
    for page in item_pages(span):
        found = readable(TABLE, page, lambda item: read(item["at"]["S"], numbers_in(item), taxes_in(item)))
        yield [one for of_counter in found for one in of_counter]


def numbers_in(item: Item) -> Counters:
    """Return the numbers of an item or of a map in it."""
    return {name: int(value["N"]) for name, value in item.items() if "N" in value or name in NAMES}


def taxes_in(item: Item) -> Sequence[Tax]:
    """Return the taxes of a counter, in the order of their numbers."""
    return [decode(Tax, tax["M"]) for tax in item[TAXES]["L"]] if TAXES in item else ()


def taxes_of(entry: HistoryEntry) -> list[Tax]:
    """Return the taxes that a counter names, for the transactions with these taxes."""
    return [Tax(code=one.code, name=one.name, rate=one.rate) for one in entry.taxes]


def _add(key: Key[Any], numbers: Counters, entry: HistoryEntry) -> Write:
    expression, values = "ADD " + ", ".join(f"#{name} :{name}" for name in numbers), dict[str, Any](numbers)
    if entry.taxes:
        expression += f" SET #{TAXES} = :{TAXES}"
        values[TAXES] = taxes_of(entry)
    return update(key, expression, values)


def _key(client_id: int, entry: HistoryEntry, at: str) -> Key[Any]:
    return counters_key(month_of(client_id, entry.at.date()), at)


def kind_text(counter: CounterKey) -> str:
    """Return the text of a counter without its agent: 10.0.2ZAR.CASH."""
    return f"{counter.input_type}.{counter.reverse_mode}.{counter.digits}{counter.currency}.{counter.acquirer}"


def counter_of(agent_id: int, kind: str) -> CounterKey:
    """Return the counter of an agent from a text of `kind_text`."""
    input_type, reverse_mode, money, acquirer = kind.split(".", 3)
    return CounterKey(agent_id, int(input_type), int(reverse_mode), int(money[0]), money[1:], acquirer)


def _counter_text(entry: HistoryEntry) -> str:
    """Return the part of a sort key for a counter and its shard: 17#10.0.2ZAR.1.CASH.

    Transactions with other taxes count apart, so that a number means one tax: 17#10.0.2ZAR.1-5f0c2a81….CASH. So does
    cash that was given back for another agent's payments: 17#10.2.2ZAR.1@18.CASH.
    """
    counter = entry.counter
    shard = f"{zlib.crc32(entry.id.encode()) % SHARDS}"
    if entry.taxes:
        names = json.dumps([(one.code, one.name, f"{one.rate.normalize():f}") for one in entry.taxes])
        shard += f"-{hashlib.sha256(names.encode()).hexdigest()[:16]}"
    if entry.original_agent is not None and counter.input_type == InputType.CASH:
        shard += f"{FOR}{entry.original_agent}"
    kind = f"{counter.input_type}.{counter.reverse_mode}.{counter.digits}{counter.currency}"
    return f"{counter.agent_id}#{kind}.{shard}.{counter.acquirer}"


def counter_at(at: str) -> CounterKey:
    """Return the counter of the total or the slots with this sort key."""
    agent_id, (input_type, reverse_mode, money, _, acquirer) = _parts(at)
    return counter_of(int(agent_id), f"{input_type}.{reverse_mode}.{money}.{acquirer}")


def original_agent_at(at: str) -> int | None:
    """Return the other agent for whose payments the counter of this sort key gave cash back; None for its own."""
    _, (_, _, _, shard, _) = _parts(at)
    agent_id = shard.partition(FOR)[2]
    return int(agent_id) if agent_id else None


def _parts(at: str) -> tuple[str, list[str]]:
    """Return the agent and the texts of a sort key: 17, [10, 0, 2ZAR, 1, CASH]."""
    start = len(TOTAL) if at.startswith(TOTAL) else len(SLOTS) + len("31#")
    agent_id, _, text = at[start:].partition("#")
    return agent_id, text.split(".", 4)
