"""Totals of a merchant's transactions, written with each one, and rolled up by month; and the moved money."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any

from chalicelib.domain.business_days import Period, is_late
from chalicelib.domain.history import CounterKey, DayTotal, HistoryEntry
from chalicelib.domain.totals import ALL_AGENTS, DaySlots, Moved, RolledMonth, RolledSlots, too_much
from chalicelib.record import Record
from chalicelib.store.table import (
    AlreadyExistsError,
    Item,
    Key,
    Range,
    Write,
    commit,
    items_of,
    range_of_prefix,
    set_attributes,
    table_name,
    update,
    value_of,
    write_one,
)

TABLE = "history"
AT_ONCE = 100  # counters in one correction
SHARDS = 2  # per counter, so that writes of a busy agent do not collide
TOTAL, SLOTS = "total#", "slots#"
COUNT, MONEY, GIVEN_BACK, MOVED = "n", "m", "g", "k"

Counters = Mapping[str, int]


class CounterChangedError(Exception):
    """The counter has changed since it was read: another transaction was counted."""


def month_of(client_id: int, day: date) -> str:
    """Return the partition of a merchant's month: 17#2026-03."""
    return f"{client_id}#{day.isoformat()[:7]}"


def add_to_total(client_id: int, entry: HistoryEntry) -> Write:
    """Return the write that counts a transaction and its moved money in the total of its month."""
    return _add(total_key(client_id, entry), total_counters(entry))


def add_money(client_id: int, entry: HistoryEntry) -> list[Write]:
    """Return the writes that add the money of a transaction that was counted before it moved any."""
    return [
        _add(total_key(client_id, entry), _moved(entry, f"{entry.at:%d}")),
        _add(slots_key(client_id, entry), _moved(entry, f"{entry.at:%H}")),
    ]


def add_to_slots(client_id: int, entry: HistoryEntry) -> Write:
    """Return the write that counts a transaction in its quarter of an hour, and its moved money in its hour."""
    return _add(slots_key(client_id, entry), slot_counters(entry))


def total_counters(entry: HistoryEntry) -> Counters:
    """Return the numbers that a transaction adds to its total."""
    day = f"{entry.at:%d}"
    return {f"{COUNT}{day}": 1, **_moved(entry, day)}


def slot_counters(entry: HistoryEntry) -> Counters:
    """Return the numbers that a transaction adds to its slots."""
    quarter = entry.at.hour * 4 + entry.at.minute // 15
    return {f"{quarter:02d}": 1, **_moved(entry, f"{entry.at:%H}")}


def _moved(entry: HistoryEntry, when: str) -> Counters:
    """Return the money that a transaction adds to a day or hour, and one more transaction with moved money."""
    moved = entry.moved_minor
    return {f"{MONEY if moved > 0 else GIVEN_BACK}{when}": abs(moved), f"{MOVED}{when}": 1} if moved else {}


def correction(key: Key[Any], before: Mapping[str, int | None], after: Counters) -> Write:
    """Return the write that sets counters to `after`. It raises CounterChangedError unless they are still `before`.

    None stands for a missing number. The condition of `AT_ONCE` counters stays below DynamoDB's limits: 4 KB and 300
    operators.
    """
    as_read = " AND ".join(
        f"attribute_not_exists(#{name})" if before[name] is None else f"#{name} = :was{name}" for name in after
    )
    values = {**after, **{f"was{name}": number for name, number in before.items() if number is not None}}
    return update(key, set_attributes(after), values, condition=as_read, otherwise=CounterChangedError())


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
    """List the totals of a month (2026-03), of one agent or of all: a total per day and shard of a counter."""
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
    """Return the prefix of the sort keys of the totals of an agent, or of all."""
    return TOTAL if agent_id is None else f"{TOTAL}{agent_id}#"


def slots_prefix(day: date, agent_id: int | None) -> str:
    """Return the prefix of the sort keys of the slots of a day, of an agent or of all."""
    return f"{SLOTS}{day:%d}#" if agent_id is None else f"{SLOTS}{day:%d}#{agent_id}#"


def slots_of(client_id: int, day: date, agent_id: int | None) -> list[DaySlots]:
    """List the slots of a day, of one agent or of all: one item per shard."""
    found = read_counters(client_id, day.isoformat()[:7], slots_prefix(day, agent_id))
    return [_slots(day, at, numbers) for at, numbers in found]


def slots_of_days(client_id: int, first: date, last: date) -> list[DaySlots]:
    """List the slots of some days of one month, of all agents."""
    found = read_slots(client_id, first, last)
    return [_slots(first.replace(day=day_of_slots(at)), at, numbers) for at, numbers in found]


def read_slots(
    client_id: int, first: date, last: date, pages: list[int] | None = None
) -> Iterator[tuple[str, Counters]]:
    """Yield the slots of some days of one month, of all agents, each with its sort key."""
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

    The number of items in each page is appended to `pages`.
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
    """Return the counter of an agent from a text of `kind_text`."""
    input_type, reverse_mode, money, acquirer = kind.split(".", 3)
    return CounterKey(agent_id, int(input_type), int(reverse_mode), int(money[0]), money[1:], acquirer)


def _counter_text(entry: HistoryEntry) -> str:
    """Return the part of a sort key for a counter and its shard: 17#10.0.2ZAR.1.CASH."""
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


FEW_DAYS = 7  # for longer periods, all agents' slots are read instead of one agent's day by day
MOST_PAGES = 17  # per answer


def by_day(
    client_id: int, period: Period, agent_id: int | None, pages: list[int], most_pages: int | None = None
) -> Iterator[Moved]:
    """Yield the money that moved on each day of a period, of one agent or of all, by counter and shard.

    The number of items in each page is appended to `pages`. Raise PERIOD_TOO_LONG for more than `most_pages` pages,
    `MOST_PAGES` unless given.
    """
    for month in period.months:
        first = date.fromisoformat(f"{month}-01")
        for at, numbers in read_counters(client_id, month, total_prefix(agent_id), pages):
            _check(pages, most_pages)
            yield from (one for one in moved_in_total(first, at, numbers) if one.day in period)


def by_hour(client_id: int, period: Period, agent_id: int | None, pages: list[int]) -> Iterator[Moved]:
    """Yield the money that moved in each hour of a period, otherwise like `by_day`."""
    for day, at, numbers in _slots_of_days(client_id, period, agent_id, pages):
        _check(pages)
        if at.startswith(slots_prefix(day, agent_id)):
            yield from moved_in_slots(day, at, numbers)


def moved_in_total(month: date, at: str, numbers: Counters) -> Iterator[Moved]:
    """Yield the money that moved on each day of a total; `month` is a day of its month."""
    counter = counter_at(at)
    for day in sorted({name[1:] for name in numbers}):
        number, amount_minor = numbers.get(f"{MOVED}{day}", 0), _money(numbers, day)
        yield Moved(counter, month.replace(day=int(day)), None, number, amount_minor)


def moved_in_slots(day: date, at: str, numbers: Counters) -> Iterator[Moved]:
    """Yield the money that moved in each hour of the slots of a day."""
    counter = counter_at(at)
    for hour in sorted({name[1:] for name in numbers if not name.isdecimal()}):
        yield Moved(counter, day, int(hour), numbers.get(f"{MOVED}{hour}", 0), _money(numbers, hour))


def _money(numbers: Counters, when: str) -> int:
    return numbers.get(f"{MONEY}{when}", 0) + numbers.get(f"{GIVEN_BACK}{when}", 0)  # a counter has only one of them


def _slots_of_days(
    client_id: int, period: Period, agent_id: int | None, pages: list[int]
) -> Iterator[tuple[date, str, Counters]]:
    """Yield the slots of a period with their day. For a long period of one agent, they are those of all agents."""
    if agent_id is not None and (period.last - period.first).days < FEW_DAYS:
        for number in range((period.last - period.first).days + 1):
            day = period.first + timedelta(days=number)
            prefix = slots_prefix(day, agent_id)
            for at, numbers in read_counters(client_id, day.isoformat()[:7], prefix, pages):
                yield day, at, numbers
        return
    for month in period.months:
        days = period.within(month)
        for at, numbers in read_slots(client_id, days.first, days.last, pages):
            yield days.first.replace(day=day_of_slots(at)), at, numbers


def _check(pages: list[int], most_pages: int | None = None) -> None:
    if len(pages) > (most_pages or MOST_PAGES):
        raise too_much()


LATE_SHARDS = 16
LATE, TOTALS, ROLLED_SLOTS = "late#", "totals", "slots#"
NEWER = "#version < :version OR (#version = :version AND #through < :through)"


class StoredMonth(Record):
    """The number of late writes of a month (`version`), and its rolled-up totals if there are any."""

    version: int = 0
    rolled: RolledMonth | None = None


def count_late(client_id: int, entry: HistoryEntry, now: datetime) -> list[Write]:
    """Return the write that counts a late write to the counters of an entry's day; none when the write is not late."""
    day = entry.at.date()
    shard = zlib.crc32(entry.id.encode()) % LATE_SHARDS
    return [outdate(client_id, day.isoformat()[:7], shard)] if is_late(day, now) else []


def outdate(client_id: int, month: str, shard: int = 0) -> Write:
    """Return the write that makes the rolled-up totals of a month (2026-03) stale, by raising its version."""
    key = _rolled_key(client_id, month[:4], f"{month[5:]}#{LATE}{shard:02d}")
    return update(key, "ADD #late :late", {"late": 1})


def of_months(client_id: int, months: Sequence[str]) -> dict[str, StoredMonth]:
    """Read the rolled-up totals of months (2026-03), oldest first, with one query per year."""
    found: dict[str, StoredMonth] = {}
    for year, group in groupby(months, lambda month: month[:4]):
        of_year = list(group)
        first, last = of_year[0][5:], of_year[-1][5:]
        span = Range(TABLE, ("month", f"{client_id}#{year}"), "at", f"{first}#", f"{last}#~")
        items = {month: list(of) for month, of in groupby(items_of(span), lambda item: str(item["at"]["S"])[:2])}
        found |= {month: _stored(month, items.get(month[5:], [])) for month in of_year}
    return found


def rolled_slots_of(client_id: int, day: date) -> RolledSlots | None:
    """Read the rolled-up slots of a day; None when there are none."""
    key = _slots_key(client_id, day).key
    item = next(items_of(Range(TABLE, ("month", key["month"]), "at", key["at"], key["at"])), None)
    if item is None:
        return None
    slots = tuple(
        DaySlots(counter_of(ALL_AGENTS, kind), day, {name: int(value["N"]) for name, value in numbers["M"].items()})
        for kind, numbers in item["kinds"]["M"].items()
    )
    return RolledSlots(day, int(item["version"]["N"]), slots)


def store_months(client_id: int, months: Sequence[RolledMonth]) -> None:
    """Store rolled-up totals. If another list has stored one of the months, store none: the next list tries again."""
    writes = [
        _put(
            _rolled_key(client_id, rolled.month[:4], f"{rolled.month[5:]}#{TOTALS}"),
            {"version": rolled.version, "through": rolled.through, "kinds": _kinds(rolled)},
        )
        for rolled in months
    ]
    with suppress(AlreadyExistsError):
        if len(writes) == 1:
            write_one(writes[0])
        else:
            commit(*writes)


def store_slots(client_id: int, rolled: RolledSlots) -> None:
    """Store the slots of a closed day, unless another list has."""
    kinds = {kind_text(one.counter): one.quarters for one in rolled.slots}
    attributes = {"version": rolled.version, "through": rolled.day, "kinds": kinds}
    with suppress(AlreadyExistsError):
        write_one(_put(_slots_key(client_id, rolled.day), attributes))


def _kinds(rolled: RolledMonth) -> dict[str, dict[str, int]]:
    kinds: dict[str, dict[str, int]] = {}
    for one in rolled.day_totals:
        money = {f"{MONEY}{one.day:%d}": one.taken_minor} if one.taken_minor else {}
        kinds.setdefault(kind_text(one.counter), {}).update({f"{COUNT}{one.day:%d}": one.count, **money})
    return kinds


def _stored(month: str, items: Sequence[Item]) -> StoredMonth:
    """Return a month from its items, in their order: the late writes, then the rolled-up totals."""
    version = sum(int(item["late"]["N"]) for item in items if "late" in item)
    rolled = [item for item in items if item["at"]["S"].endswith(TOTALS)]
    return StoredMonth(version, _rolled(month, rolled[0]) if rolled else None)


def _rolled(month: str, item: Item) -> RolledMonth:
    through = date.fromisoformat(item["through"]["S"])
    return RolledMonth(month, int(item["version"]["N"]), through, tuple(_day_totals(through, item)))


def _day_totals(month: date, item: Item) -> Iterator[DayTotal]:
    for kind, numbers in item["kinds"]["M"].items():
        counter, of_days = counter_of(ALL_AGENTS, kind), numbers["M"]
        for name in of_days:
            if name[0] == COUNT:
                day = name[1:]
                taken = int(of_days[MONEY + day]["N"]) if MONEY + day in of_days else 0
                yield DayTotal(counter, month.replace(day=int(day)), int(of_days[name]["N"]), taken)


def _put(key: Key[Any], attributes: dict[str, Any]) -> Write:
    item = {**key.key, **attributes}
    parameters = {
        "TableName": table_name(TABLE),
        "Item": {name: value_of(value) for name, value in item.items()},
        "ConditionExpression": f"attribute_not_exists(#version) OR {NEWER}",
        "ExpressionAttributeNames": {"#version": "version", "#through": "through"},
        "ExpressionAttributeValues": {f":{name}": value_of(attributes[name]) for name in ("version", "through")},
    }
    return Write("Put", parameters)


def _rolled_key(client_id: int, year: str, at: str) -> Key[Any]:
    return Key(TABLE, object, {"month": f"{client_id}#{year}", "at": at})


def _slots_key(client_id: int, day: date) -> Key[Any]:
    return _rolled_key(client_id, day.isoformat()[:4], f"{ROLLED_SLOTS}{day:%m#%d}")
