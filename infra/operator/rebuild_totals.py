"""Rebuild a merchant's totals from its transactions, while payments come in."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from chalicelib.domain.business_days import Period, business_day
from chalicelib.domain.counters import slot_counters, total_counters
from chalicelib.domain.history_entry import entry_of
from chalicelib.domain.payment import OFFLINE_FOR
from chalicelib.record import Record
from chalicelib.store import counters, history, merchants, month_sums, sequences, transactions
from chalicelib.store.table import BATCH, Write, commit, read_all, write_one

if TYPE_CHECKING:
    from chalicelib.domain.merchant import Merchant
    from chalicelib.domain.transaction import Transaction

T = TypeVar("T")

ROUNDS = 5  # of counting: counters that change during a round are counted again
AT_ONCE = 1000  # records in memory at a time


class Difference(Record):
    """A counter whose stored number differs from the transactions."""

    month: str
    at: str
    name: str
    stored: int
    counted: int
    exists: bool = True  # whether a number was stored


class Outcome(Record):
    """The corrected counters, and the counters that changed during every round."""

    mended: tuple[Difference, ...]
    moving: tuple[Difference, ...]


def rebuild(client_id: int, month: str) -> Outcome:
    """Count a month (2026-03) of a merchant and correct the counters that differ.

    The counters are read before the transactions, and written only if they are unchanged since. So no payment that is
    counted meanwhile is lost: its counter is counted again. The month's sum always becomes stale, and the next list
    makes it again.
    """
    mended: list[Difference] = []
    moving: list[Difference] = []
    for _ in range(ROUNDS):
        moving = []
        for group in _differences(client_id, month):
            try:
                commit(_correction(group), month_sums.outdate(client_id, month))
            except counters.CounterChangedError:
                moving += group
            else:
                mended += group
        if not moving:
            break
    if next(counters.read_counters(client_id, month, counters.TOTAL), None):
        write_one(month_sums.outdate(client_id, month))
    return Outcome(tuple(mended), tuple(moving))


def _correction(group: Sequence[Difference]) -> Write:
    """Return the write that corrects the counters of one item."""
    before = {one.name: one.stored if one.exists else None for one in group}
    key = counters.counters_key(group[0].month, group[0].at)
    return counters.correction(key, before, {one.name: one.counted for one in group})


def _differences(client_id: int, month: str) -> Iterator[list[Difference]]:
    """Yield the counters that differ, grouped by item; a group fits into one correction."""
    stored: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for prefix in (counters.TOTAL, counters.SLOTS):
        stored.update((at, Counter(numbers)) for at, numbers in counters.read_counters(client_id, month, prefix))
    counted = _counted(client_id, month)
    for at in sorted(stored.keys() | counted.keys()):
        yield from _groups(_differing(f"{client_id}#{month}", at, stored[at], counted[at]), counters.AT_ONCE)


def _differing(partition: str, at: str, stored: Counter[str], counted: Counter[str]) -> list[Difference]:
    return [
        Difference(partition, at, name, stored[name], counted[name], name in stored)
        for name in sorted(stored.keys() | counted.keys())
        if stored[name] != counted[name]
    ]


def _counted(client_id: int, month: str) -> defaultdict[str, Counter[str]]:
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for lines in _groups(history.of_month(client_id, month), AT_ONCE):
        records: list[Transaction | None] = read_all([transactions.key(line.id) for line in lines])
        for line in (entry_of(record) for record in records if record is not None):
            total, slots = counters.total_key(client_id, line), counters.slots_key(client_id, line)
            counted[str(total.key["at"])].update(total_counters(line.at, line.moved_minor, line.taxes))
            counted[str(slots.key["at"])].update(slot_counters(line.at, line.moved_minor, line.taxes))
    return counted


def _groups(many: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in groups of at most `size`."""
    remaining = iter(many)
    while group := list(islice(remaining, size)):
        yield group


def merchants_of(merchant_id: int | None) -> "Iterator[Merchant]":
    """Yield this merchant, or every merchant."""
    ids = [merchant_id] if merchant_id is not None else range(1, sequences.last_id(merchants.TABLE) + 1)
    for start in range(0, len(ids), BATCH):
        yield from filter(None, read_all([merchants.key(number) for number in ids[start : start + BATCH]]))


def months_of(merchant: "Merchant", now: datetime) -> list[str]:
    """Return the months from the oldest offline payment that the merchant can have until now."""
    first = business_day(merchant.created_at - OFFLINE_FOR - timedelta(days=1), merchant.gmt)
    return Period(first, business_day(now, merchant.gmt)).months
