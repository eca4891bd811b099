"""Month sums: the totals of a closed month, added up over all agents of a merchant. A list stores them for the next.

A write to a day that is over may reach a closed month, so it raises the month's version, which makes the sum stale.
Versions count every day that is over, not only those of closed months: an earlier release sums up the days of an
open month, and may run next to this one while it is deployed.
"""

import zlib
from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby

from chalicelib.aws.errors import RefusedError
from chalicelib.domain.business_days import days_of_month
from chalicelib.domain.counters import COUNT, MONEY, MonthSum
from chalicelib.domain.history_entry import HistoryEntry
from chalicelib.store.counters import ALL_AGENTS, TABLE, counter_of, counters_key, day_totals, kind_text, numbers_in
from chalicelib.store.table import (
    MALFORMED,
    AlreadyExistsError,
    Item,
    Range,
    Write,
    commit,
    items_of,
    log_unreadable,
    set_attributes,
    update,
    write_one,
)

NOT_LATER = "attribute_not_exists(#version) OR #version <= :version"
SHARDS = 16  # of a month's version, so that tills that report offline payments at once do not collide
LATE, SUM = "late#", "totals"  # the sort keys of a month, in the order of reading: its version, its sum


def outdate_by(client_id: int, entry: HistoryEntry) -> Write:
    """Return the write that makes the sum of an entry's month stale."""
    return outdate(client_id, entry.at.date().isoformat()[:7], zlib.crc32(entry.id.encode()) % SHARDS)


def outdate(client_id: int, month: str, shard: int = 0) -> Write:
    """Return the write that makes the sum of a month (2026-03) stale, by raising its version."""
    key = counters_key(f"{client_id}#{month[:4]}", f"{month[5:]}#{LATE}{shard:02d}")
    return update(key, "ADD #late :late", {"late": 1})


def of_months(client_id: int, months: Sequence[str]) -> list[MonthSum]:
    """Read the sums of closed months (2026-03), oldest first, with one query per year."""
    found: list[MonthSum] = []
    for year, group in groupby(months, lambda month: month[:4]):
        of_year = list(group)
        first, last = of_year[0][5:], of_year[-1][5:]
        span = Range(TABLE, ("month", f"{client_id}#{year}"), "at", f"{first}#", f"{last}#~")
        items = {month: list(of) for month, of in groupby(items_of(span), lambda item: str(item["at"]["S"])[:2])}
        found += [_readable_sum(month, items.get(month[5:], [])) for month in of_year]
    return found


def store(client_id: int, sums: Sequence[MonthSum]) -> None:
    """Store sums. If another list has stored a later version of one of them, store none: the next list tries again."""
    writes = [_put(client_id, one) for one in sums]
    with suppress(AlreadyExistsError, RefusedError):  # DynamoDB refuses to compare with an unreadable version
        if len(writes) == 1:
            write_one(writes[0])
        else:
            commit(*writes)


def _readable_sum(month: str, items: Sequence[Item]) -> MonthSum:
    """Return the sum of a month. An unreadable one is stale: a list adds it up again."""
    try:
        return _sum_in(month, items)
    except MALFORMED as wrong:
        log_unreadable(TABLE, items[-1], wrong)
        return MonthSum(month, 0)


def _sum_in(month: str, items: Sequence[Item]) -> MonthSum:
    """Return the sum from the items of a month, in their order: the shards of its version, then the stored sum.

    A sum of another version is stale. An earlier release stored the days until `through` of an open month.
    """
    version = sum(int(item["late"]["N"]) for item in items if "late" in item)
    through = days_of_month(month).last.isoformat()
    for item in items:
        if item["at"]["S"].endswith(SUM) and int(item["version"]["N"]) == version and item["through"]["S"] == through:
            kinds = [
                (counter_of(ALL_AGENTS, kind), numbers_in(numbers["M"])) for kind, numbers in item["kinds"]["M"].items()
            ]
            return MonthSum(month, version, [one for kind in kinds for one in day_totals(kind[0], month, kind[1])])
    return MonthSum(month, version)


def _put(client_id: int, one: MonthSum) -> Write:
    """Return the write of a sum, which requires that no later version is stored."""
    kinds: dict[str, dict[str, int]] = {}
    for total in one.day_totals or ():
        numbers = kinds.setdefault(kind_text(total.counter), {})
        numbers[f"{COUNT}{total.day:%d}"] = total.count
        if total.taken_minor:
            numbers[f"{MONEY}{total.day:%d}"] = total.taken_minor
    key = counters_key(f"{client_id}#{one.month[:4]}", f"{one.month[5:]}#{SUM}")
    attributes = {"version": one.version, "through": days_of_month(one.month).last, "kinds": kinds}
    return update(key, set_attributes(attributes), attributes, condition=NOT_LATER)
