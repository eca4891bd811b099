"""Totals of a merchant's transactions, written with each of them, so that nothing is ever counted by reading it.

They stand in the month's partition of the history table, in two grains:
- a total: how many transactions a stream has on each day of the month (n05), and the money they took (m05);
- slots: how many it has in each quarter of an hour of one day (0715), which say where in a busy day a page begins.
Both stay below 1 KB whatever comes, so counting costs the same for the first payment and for the millionth.
"""

import zlib
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from chalicelib.domain.history import HistoryEntry, Stream, Tally
from chalicelib.store.codec import Value
from chalicelib.store.query import items, prefixed
from chalicelib.store.table import Key, Write, update, write_one

TABLE = "history"
SHARDS = 2  # of each counter: a busy agent does not collide with itself
TOTAL, SLOTS = "total#", "slots#"

Counters = Mapping[str, int]


def month_of(client_id: int, day: date) -> str:
    """The partition: the merchant and its month."""
    return f"{client_id}#{day.isoformat()[:7]}"


def count(client_id: int, entry: HistoryEntry) -> Write:
    """One more transaction, and its money if it took any, in the total of its month."""
    return _add(total_key(client_id, entry), in_total(entry))


def taken(client_id: int, entry: HistoryEntry) -> Write:
    """The money of a transaction that was counted before it took any."""
    return _add(total_key(client_id, entry), {f"m{entry.at:%d}": entry.taken_minor})


def slot(client_id: int, entry: HistoryEntry) -> Write:
    """One more transaction in its quarter of an hour."""
    return _add(slots_key(client_id, entry), in_slots(entry))


def in_total(entry: HistoryEntry) -> Counters:
    """What the entry adds to its total."""
    money = {f"m{entry.at:%d}": entry.taken_minor} if entry.taken_minor else {}
    return {f"n{entry.at:%d}": 1, **money}


def in_slots(entry: HistoryEntry) -> Counters:
    """What the entry adds to its slots."""
    return {f"{entry.at:%H}{entry.at.minute // 15 * 15:02d}": 1}


def _add(key: Key[Any], numbers: Counters) -> Write:
    return update(key, "ADD " + ", ".join(f"#{name} :{name}" for name in numbers), numbers)


class MovedOnError(Exception):
    """A counter is no longer what was read: a transaction was counted meanwhile."""


def mend(key: Key[Any], before: Counters, after: Counters) -> None:
    """Make counters what they should be, unless one of them changed since it was read; then MovedOnError."""
    as_read = " AND ".join(
        f"#{name} = :was{name}" if before[name] else f"(attribute_not_exists(#{name}) OR #{name} = :was{name})"
        for name in after
    )
    values = {**after, **{f"was{name}": before[name] for name in after}}
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in after)
    write_one(update(key, expression, values, condition=as_read, otherwise=MovedOnError()))


def total_key(client_id: int, entry: HistoryEntry) -> Key[Any]:
    """Where the total of the entry's stream and month is kept."""
    return _key(client_id, entry, TOTAL + _stream_text(entry))


def slots_key(client_id: int, entry: HistoryEntry) -> Key[Any]:
    """Where the slots of the entry's stream and day are kept."""
    return _key(client_id, entry, f"{SLOTS}{entry.at:%d}#{_stream_text(entry)}")


def _key(client_id: int, entry: HistoryEntry, at: str) -> Key[Any]:
    return place(month_of(client_id, entry.at.date()), at)


def place(month: str, at: str) -> Key[Any]:
    """Where counters are kept."""
    return Key(TABLE, object, {"month": month, "at": at})


def of_month(client_id: int, month: str, agent_id: int | None) -> list[Tally]:
    """What was counted in a month (2026-03), of one agent or of all: a tally for each day and shard of a stream."""
    scope = f"{TOTAL}{agent_id}#" if agent_id is not None else TOTAL
    return [
        Tally(stream, date.fromisoformat(f"{month}-{name[1:]}"), number, counters.get(f"m{name[1:]}", 0))
        for stream, counters in ((_stream(at, TOTAL), counters) for at, counters in counted(client_id, month, scope))
        for name, number in counters.items()
        if name.startswith("n")
    ]


def slots_of(client_id: int, day: date, agent_id: int | None) -> list[tuple[Stream, Counters]]:
    """How many transactions each stream has in the quarters of an hour of a day, a line for each shard."""
    prefix = f"{SLOTS}{day:%d}#"
    scope = f"{prefix}{agent_id}#" if agent_id is not None else prefix
    return [(_stream(at, prefix), counters) for at, counters in counted(client_id, day.isoformat()[:7], scope)]


def counted(client_id: int, month: str, prefix: str) -> Iterator[tuple[str, Counters]]:
    """The counters under a prefix, as they are kept: the second key, and each number by its name."""
    for item in items(prefixed(TABLE, ("month", f"{client_id}#{month}"), "at", prefix)):
        yield item["at"]["S"], _numbers(item)


def _numbers(item: Mapping[str, Value]) -> Counters:
    return {name: int(value["N"]) for name, value in item.items() if "N" in value}


def _stream_text(entry: HistoryEntry) -> str:
    """A stream and the shard: 17#10.0.2.1.CASH."""
    stream = entry.stream
    shard = zlib.crc32(entry.id.encode()) % SHARDS
    return f"{stream.agent_id}#{stream.input_type}.{stream.reverse_mode}.{stream.digits}.{shard}.{stream.acquirer}"


def _stream(at: str, prefix: str) -> Stream:
    agent_id, _, kind = at.removeprefix(prefix).partition("#")
    input_type, reverse_mode, digits, _, acquirer = kind.split(".", 4)
    return Stream(int(agent_id), int(input_type), int(reverse_mode), int(digits), acquirer)
