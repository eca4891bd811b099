"""Rebuild a merchant's totals from its transactions, while payments come in."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from chalicelib.domain.business_days import Period, business_day
from chalicelib.domain.counters import slot_counters, total_counters
from chalicelib.domain.history_entry import entry_of
from chalicelib.domain.payment import OFFLINE_FOR
from chalicelib.domain.price_list import Tax
from chalicelib.record import Record
from chalicelib.store import counters, history, merchants, month_sums, sequences, transactions
from chalicelib.store.table import BATCH, Item, Write, commit, items_of, read_all, write_one
from infra.operator.records import UNREADABLE

if TYPE_CHECKING:
    from chalicelib.domain.merchant import Merchant
    from chalicelib.domain.transaction import Transaction

T = TypeVar("T")

ROUNDS = 5  # of counting: counters that change during a round are counted again
AT_ONCE = 1000  # records in memory at a time


class Difference(Record):
    """A counter whose stored number differs from the transactions.

    For `taxes`, the number of taxes that its item names rightly.
    """

    month: str
    at: str
    name: str
    stored: int
    counted: int
    exists: bool = True  # whether a number was stored


class Counted(Record):
    """The numbers of a counter, and the taxes that it names; None if they are unreadable."""

    numbers: Counter[str]
    taxes: Sequence[Tax] | None = ()


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
        for group, taxes in _differences(client_id, month):
            try:
                commit(_correction(group, taxes), month_sums.outdate(client_id, month))
            except counters.CounterChangedError:
                moving += group
            else:
                mended += group
        if not moving:
            break
    if next(counters.read_counters(client_id, month, counters.TOTAL), None):
        write_one(month_sums.outdate(client_id, month))
    return Outcome(tuple(mended), tuple(moving))


def _correction(group: Sequence[Difference], taxes: Sequence[Tax]) -> Write:
    """Return the write that corrects the counters of one item, which has these taxes."""
    numbers = [one for one in group if one.name != counters.TAXES]
    before = {one.name: one.stored if one.exists else None for one in numbers}
    key = counters.counters_key(group[0].month, group[0].at)
    return counters.correction(key, before, {one.name: one.counted for one in numbers}, taxes)


def _differences(client_id: int, month: str) -> Iterator[tuple[list[Difference], Sequence[Tax]]]:
    """Yield the counters that differ, grouped by item, with its taxes; a group fits into one correction."""
    stored: dict[str, Counted] = {}
    for prefix in (counters.TOTAL, counters.SLOTS):
        found = items_of(counters.counters_range(client_id, month, prefix))
        stored |= {item["at"]["S"]: Counted(Counter(counters.numbers_in(item)), _taxes_in(item)) for item in found}
    counted = _counted(client_id, month)
    for at in sorted(stored.keys() | counted.keys()):
        one = counted.get(at, Counted(Counter()))
        differing = _differing(f"{client_id}#{month}", at, stored.get(at, Counted(Counter())), one)
        for group in _groups(differing, counters.AT_ONCE):
            yield group, one.taxes or ()


def _taxes_in(item: Item) -> Sequence[Tax] | None:
    try:
        return counters.taxes_in(item)
    except UNREADABLE:
        return None


def _differing(partition: str, at: str, stored: Counted, counted: Counted) -> list[Difference]:
    before, after = stored.numbers, counted.numbers
    found = [
        Difference(partition, at, name, before[name], after[name], name in before)
        for name in sorted(before.keys() | after.keys())
        if before[name] != after[name]
    ]
    if counted.taxes and stored.taxes != counted.taxes:
        named = sum(one == other for one, other in zip(stored.taxes or (), counted.taxes, strict=False))
        found.append(Difference(partition, at, counters.TAXES, named, len(counted.taxes)))
    return found


def _counted(client_id: int, month: str) -> dict[str, Counted]:
    counted: dict[str, Counted] = {}
    ids = dict.fromkeys(line.id for line in history.of_month(client_id, month))  # after damage one has two entries
    for group in _groups(ids, AT_ONCE):
        records: list[Transaction | None] = read_all([transactions.key(one) for one in group])
        for line in (entry_of(record) for record in records if record is not None):
            if f"{line.at:%Y-%m}" != month:
                continue
            for key, numbers_of in ((counters.total_key, total_counters), (counters.slots_key, slot_counters)):
                at = str(key(client_id, line).key["at"])
                one = counted.setdefault(at, Counted(Counter(), counters.taxes_of(line)))
                one.numbers.update(numbers_of(line.at, line.moved_minor, line.taxes))
    return counted


def _groups(many: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in groups of at most `size`."""
    remaining = iter(many)
    while group := list(islice(remaining, size)):
        yield group


def merchants_of(merchant_id: int | None) -> "Iterator[Merchant]":
    """Yield this merchant, or every merchant. An unreadable one is logged and passed over."""
    ids = [merchant_id] if merchant_id is not None else range(1, sequences.last_id(merchants.TABLE) + 1)
    for start in range(0, len(ids), BATCH):
        yield from filter(
            None, read_all([merchants.key(number) for number in ids[start : start + BATCH]], for_list=True)
        )


def months_of(merchant: "Merchant", now: datetime) -> list[str]:
    """Return the months from the oldest offline payment that the merchant can have until now."""
    first = business_day(merchant.created_at - OFFLINE_FOR - timedelta(days=1), merchant.gmt)
    return Period(first, business_day(now, merchant.gmt)).months
