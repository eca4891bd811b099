"""Totals of a merchant's transactions, written with each transaction, so that no list counts by reading.

They are counters in the month's partition of the history table, in two grains:
- a total: the transactions of a counter on each day of the month (n05), those that moved money (k05), and the money:
  what payments took (m05), or what reversals gave back (g05);
- slots: its transactions in each quarter of an hour of one day (00 to 95), which locate a page within a busy day, and
  those of each hour that moved money (k07), with the money (m07, g07). While the day lasts they are its total, because
  a query of a day is shorter than one of a month.
Both stay below 1 KB however many transactions there are, so counting costs the same for the first and the millionth.
"""

import zlib
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from chalicelib.domain.history import CounterKey, DayTotal, HistoryEntry
from chalicelib.domain.rolled_totals import DaySlots
from chalicelib.store.expressions import set_attributes
from chalicelib.store.query import Item, Range, items_of, range_of_prefix
from chalicelib.store.table import Key, Write, update

TABLE = "history"
AT_ONCE = 100  # counters in one correction
SHARDS = 2  # of each counter: a busy agent does not collide with itself
TOTAL, SLOTS = "total#", "slots#"
COUNT, MONEY, GIVEN_BACK, MOVED = "n", "m", "g", "k"

Counters = Mapping[str, int]


class CounterChangedError(Exception):
    """A counter that no longer has the value that was read: a transaction was counted in between."""


def month_of(client_id: int, day: date) -> str:
    """Return the partition of a merchant's month: 17#2026-03."""
    return f"{client_id}#{day.isoformat()[:7]}"


def add_to_total(client_id: int, entry: HistoryEntry) -> Write:
    """Count a transaction, and the money it moved, in the total of its month."""
    return _add(total_key(client_id, entry), total_counters(entry))


def add_money(client_id: int, entry: HistoryEntry) -> list[Write]:
    """Add the money of a transaction that was counted before it moved any."""
    return [
        _add(total_key(client_id, entry), _moved(entry, f"{entry.at:%d}")),
        _add(slots_key(client_id, entry), _moved(entry, f"{entry.at:%H}")),
    ]


def add_to_slots(client_id: int, entry: HistoryEntry) -> Write:
    """Count a transaction in its quarter of an hour, and the money it moved in its hour."""
    return _add(slots_key(client_id, entry), slot_counters(entry))


def total_counters(entry: HistoryEntry) -> Counters:
    """Return the numbers a transaction adds to its total."""
    day = f"{entry.at:%d}"
    return {f"{COUNT}{day}": 1, **_moved(entry, day)}


def slot_counters(entry: HistoryEntry) -> Counters:
    """Return the numbers a transaction adds to its slots."""
    quarter = entry.at.hour * 4 + entry.at.minute // 15
    return {f"{quarter:02d}": 1, **_moved(entry, f"{entry.at:%H}")}


def _moved(entry: HistoryEntry, when: str) -> Counters:
    """Return the money a transaction adds to a day or an hour, and itself among those that moved any."""
    if not entry.moved_minor:
        return {}
    money = MONEY if entry.moved_minor > 0 else GIVEN_BACK
    return {f"{money}{when}": abs(entry.moved_minor), f"{MOVED}{when}": 1}


def correction(key: Key[Any], before: Mapping[str, int | None], after: Counters) -> Write:
    """Set counters to `after`; raise CounterChangedError, and change nothing, unless they are still `before`.

    None is a number that the item does not have. The condition of `AT_ONCE` counters stays below DynamoDB's limits:
    4 KB and 300 operators.
    """
    as_read = " AND ".join(
        f"attribute_not_exists(#{name})" if before[name] is None else f"#{name} = :was{name}" for name in after
    )
    values = {**after, **{f"was{name}": number for name, number in before.items() if number is not None}}
    return update(key, set_attributes(after), values, condition=as_read, otherwise=CounterChangedError())


def total_key(client_id: int, entry: HistoryEntry) -> Key[Any]:
    """Return the key of the total that counts a transaction."""
    return _key(client_id, entry, TOTAL + _counter_text(entry))


def slots_key(client_id: int, entry: HistoryEntry) -> Key[Any]:
    """Return the key of the slots that count a transaction."""
    return _key(client_id, entry, f"{SLOTS}{entry.at:%d}#{_counter_text(entry)}")


def counters_key(partition: str, at: str) -> Key[Any]:
    """Return the key of counters from the two attributes it consists of."""
    return Key(TABLE, object, {"month": partition, "at": at})


def of_month(client_id: int, month: str, agent_id: int | None) -> list[DayTotal]:
    """List the totals of a month (2026-03), of one agent or of all: a total for each day and shard of a counter."""
    return [
        DayTotal(
            counter_at(at),
            date.fromisoformat(f"{month}-{day}"),
            numbers.get(f"{COUNT}{day}", 0),
            numbers.get(f"{MONEY}{day}", 0),
        )
        for at, numbers in read_counters(client_id, month, total_prefix(agent_id))
        for day in sorted({name[1:] for name in numbers})
    ]


def total_prefix(agent_id: int | None) -> str:
    """Return how the sort keys of the totals of an agent, or of all, begin."""
    return TOTAL if agent_id is None else f"{TOTAL}{agent_id}#"


def slots_prefix(day: date, agent_id: int | None) -> str:
    """Return how the sort keys of the slots of a day, of an agent or of all, begin."""
    return f"{SLOTS}{day:%d}#" if agent_id is None else f"{SLOTS}{day:%d}#{agent_id}#"


def slots_of(client_id: int, day: date, agent_id: int | None) -> list[DaySlots]:
    """List the slots of a day, of one agent or of all: one item for each shard."""
    found = read_counters(client_id, day.isoformat()[:7], slots_prefix(day, agent_id))
    return [_slots(day, at, numbers) for at, numbers in found]


def slots_of_days(client_id: int, first: date, last: date) -> list[DaySlots]:
    """List the slots of days of one month, of all agents."""
    found = read_slots(client_id, first, last)
    return [_slots(first.replace(day=day_of_slots(at)), at, numbers) for at, numbers in found]


def read_slots(
    client_id: int, first: date, last: date, pages: list[int] | None = None
) -> Iterator[tuple[str, Counters]]:
    """Yield the slots of days of one month, of all agents, each with its sort key."""
    partition = ("month", month_of(client_id, first))
    return _counters_of(Range(TABLE, partition, "at", f"{SLOTS}{first:%d}", f"{SLOTS}{last:%d}#~"), pages)


def day_of_slots(at: str) -> int:
    """Return the day of the month of the slots with this sort key."""
    return int(at.removeprefix(SLOTS)[:2])


def _slots(day: date, at: str, numbers: Counters) -> DaySlots:
    quarters = {name: number for name, number in numbers.items() if name.isdecimal()}
    taken = sum(number for name, number in numbers.items() if name[0] == MONEY)
    return DaySlots(counter_at(at), day, quarters, taken)


def read_counters(
    client_id: int, month: str, prefix: str, pages: list[int] | None = None
) -> Iterator[tuple[str, Counters]]:
    """Yield the counters of a month (2026-03) whose sort key begins with `prefix`, each with its sort key.

    The numbers of items in each page that was read are appended to `pages`.
    """
    return _counters_of(range_of_prefix(TABLE, ("month", f"{client_id}#{month}"), "at", prefix), pages)


def _counters_of(span: Range, pages: list[int] | None = None) -> Iterator[tuple[str, Counters]]:
    for item in items_of(span, looked_at=pages):
        yield item["at"]["S"], _numbers(item)


def _add(key: Key[Any], numbers: Counters) -> Write:
    return update(key, "ADD " + ", ".join(f"#{name} :{name}" for name in numbers), numbers)


def _key(client_id: int, entry: HistoryEntry, at: str) -> Key[Any]:
    return counters_key(month_of(client_id, entry.at.date()), at)


def _numbers(item: Item) -> Counters:
    return {name: int(value["N"]) for name, value in item.items() if "N" in value}


def kind_text(counter: CounterKey) -> str:
    """Return the text of a counter without its agent: 10.0.2ZAR.CASH."""
    return f"{counter.input_type}.{counter.reverse_mode}.{counter.digits}{counter.currency}.{counter.acquirer}"


def counter_of(agent_id: int, kind: str) -> CounterKey:
    """Return the counter of an agent and the text of `kind_text`."""
    input_type, reverse_mode, money, acquirer = kind.split(".", 3)
    return CounterKey(agent_id, int(input_type), int(reverse_mode), int(money[0]), money[1:], acquirer)


def _counter_text(entry: HistoryEntry) -> str:
    """Return the part of a sort key that names a counter and the shard: 17#10.0.2ZAR.1.CASH."""
    counter = entry.counter
    shard = zlib.crc32(entry.id.encode()) % SHARDS
    kind = f"{counter.input_type}.{counter.reverse_mode}.{counter.digits}{counter.currency}"
    return f"{counter.agent_id}#{kind}.{shard}.{counter.acquirer}"


def counter_at(at: str) -> CounterKey:
    """Return the counter of the total or the slots with this sort key."""
    start = len(TOTAL) if at.startswith(TOTAL) else len(SLOTS) + len("31#")
    agent_id, _, text = at[start:].partition("#")
    input_type, reverse_mode, money, _, acquirer = text.split(".", 4)
    return counter_of(int(agent_id), f"{input_type}.{reverse_mode}.{money}.{acquirer}")
