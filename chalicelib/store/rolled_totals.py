"""Totals of all agents of a merchant, rolled up: a cache beside the totals of each agent.

A partition is a year of a merchant:
- 03#late#07: the number of late writes, those to a counter of March whose day had ended in every zone, in shards, so
  that tills that are online again at once do not all meet in one item;
- 03#totals: the totals of the days of March that are over, of each kind;
- slots#03#14: the quarters of an hour of a busy day that is over, of each kind.
What is rolled up has as its version the number of late writes that was read before the counters were. It holds as long
as that is their number, so it may be lost, stored twice or by whoever comes first.
"""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from itertools import groupby
from typing import Any

from chalicelib.domain.history import DayTotal, HistoryEntry
from chalicelib.domain.rolled_totals import ALL_AGENTS, DaySlots, RolledMonth, RolledSlots, is_late
from chalicelib.record import Record
from chalicelib.store.codec import value_of
from chalicelib.store.query import Item, Range, items_of
from chalicelib.store.table import AlreadyExistsError, Key, Write, commit, table_name, update, write_one
from chalicelib.store.totals import COUNT, MONEY, TABLE, counter_of, kind_text

LATE_SHARDS = 16
LATE, TOTALS, SLOTS = "late#", "totals", "slots#"
NEWER = "#version < :version OR (#version = :version AND #through < :through)"


class StoredMonth(Record):
    """The number of late writes of a month, and what was rolled up, if anything was."""

    version: int = 0
    rolled: RolledMonth | None = None


def count_late(client_id: int, entry: HistoryEntry, now: datetime) -> list[Write]:
    """Return the write that goes with one to the counters of an entry's day, when that is late; else none."""
    day = entry.at.date()
    shard = zlib.crc32(entry.id.encode()) % LATE_SHARDS
    return [outdate(client_id, day.isoformat()[:7], shard)] if is_late(day, now) else []


def outdate(client_id: int, month: str, shard: int = 0) -> Write:
    """Make what is rolled up of a month (2026-03) one version too old."""
    key = _key(client_id, month[:4], f"{month[5:]}#{LATE}{shard:02d}")
    return update(key, "ADD #late :late", {"late": 1})


def of_months(client_id: int, months: Sequence[str]) -> dict[str, StoredMonth]:
    """Read what is rolled up of months (2026-03), oldest first: one query for each year."""
    found: dict[str, StoredMonth] = {}
    for year, group in groupby(months, lambda month: month[:4]):
        of_year = list(group)
        first, last = of_year[0][5:], of_year[-1][5:]
        span = Range(TABLE, ("month", f"{client_id}#{year}"), "at", f"{first}#", f"{last}#~")
        items = {month: list(of) for month, of in groupby(items_of(span), lambda item: str(item["at"]["S"])[:2])}
        found |= {month: _stored(month, items.get(month[5:], [])) for month in of_year}
    return found


def slots_of(client_id: int, day: date) -> RolledSlots | None:
    """Read the slots that were rolled up of a day; None when none were."""
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
    """Store what was rolled up, unless another list has done so for one of the months: the next list does the rest."""
    writes = [
        _put(
            _key(client_id, rolled.month[:4], f"{rolled.month[5:]}#{TOTALS}"),
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
    """Store the slots of a day that is over, unless another list has."""
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
    """Return a month from its items, in their order: the late writes, then what is rolled up."""
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


def _key(client_id: int, year: str, at: str) -> Key[Any]:
    return Key(TABLE, object, {"month": f"{client_id}#{year}", "at": at})


def _slots_key(client_id: int, day: date) -> Key[Any]:
    return _key(client_id, day.isoformat()[:4], f"{SLOTS}{day:%m#%d}")
