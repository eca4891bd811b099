"""Counting a merchant's totals anew from its transactions, and bringing its entries over, while payments come in."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, TypeVar

from chalicelib.domain.history import entry_of
from chalicelib.record import Record
from chalicelib.store import history, history_renewal, rolled_totals, totals, transactions
from chalicelib.store.table import Write, commit, read_all, write_one

if TYPE_CHECKING:
    from chalicelib.domain.transaction import Transaction

T = TypeVar("T")

ROUNDS = 5  # of counting, for what was written to while it was counted
AT_ONCE = 1000  # records in memory


class Difference(Record):
    """A counter that was not what the transactions come to."""

    month: str
    at: str
    name: str
    stored: int
    counted: int
    exists: bool = True  # whether the number was stored at all


class Outcome(Record):
    """The counters that were corrected, and those that were written to whenever they were counted.

    And what version 1.0 lacks, by number: entries that were made anew, entries that changed each time, and slots that
    were made.
    """

    mended: tuple[Difference, ...]
    moving: tuple[Difference, ...]
    brought: int = 0
    left: int = 0
    made: int = 0


def rebuild(client_id: int, month: str) -> Outcome:
    """Count a month (2026-03) of a merchant and mend what differs.

    The counters are read before the transactions, and written only if they are still what was read: a payment that is
    counted at this moment is never lost, it makes its counter one to be looked at again. What is rolled up of the month
    becomes outdated in any case: the next list rolls it up anew.
    """
    brought, left = _bring_over(client_id, month)
    mended: list[Difference] = []
    moving: list[Difference] = []
    made: set[str] = set()
    for _ in range(ROUNDS):
        moving = []
        for groups in _differences(client_id, month):
            try:
                commit(*map(_correction, groups), rolled_totals.outdate(client_id, month))
            except totals.CounterChangedError:
                moving += chain.from_iterable(groups)
            else:
                new = [group for group in groups if _is_new(group)]
                made |= {group[0].at for group in new}
                mended += chain.from_iterable(group for group in groups if group not in new)
        if not moving:
            break
    if next(totals.read_counters(client_id, month, totals.TOTAL), None):
        write_one(rolled_totals.outdate(client_id, month))
    return Outcome(tuple(mended), tuple(moving), brought, left, len(made))


def _bring_over(client_id: int, month: str) -> tuple[int, int]:
    """Make entries of an earlier version anew; return how many were, and how many kept changing."""
    brought, left = 0, 0
    for _ in range(ROUNDS):
        left = 0
        for entries in _groups(history_renewal.outdated(client_id, month), history_renewal.AT_ONCE):
            try:
                history_renewal.renew(entries)
            except history_renewal.EntryChangedError:
                left += len(entries)
            else:
                brought += len(entries)
        if not left:
            break
    return brought, left


def _correction(group: Sequence[Difference]) -> Write:
    """Return the write that puts the counters of one item right."""
    before = {one.name: one.stored if one.exists else None for one in group}
    key = totals.counters_key(group[0].month, group[0].at)
    return totals.correction(key, before, {one.name: one.counted for one in group})


def _is_new(group: Sequence[Difference]) -> bool:
    """Return whether these are slots that version 1.0 did not write."""
    return group[0].at.startswith(totals.SLOTS) and not any(one.stored for one in group)


def _differences(client_id: int, month: str) -> Iterator[list[list[Difference]]]:
    """Yield the counters that differ: those of one item together, and with them those of its other currencies.

    Version 1.0 counted without a currency: what leaves its counter and enters ours must do so at once.
    """
    stored: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for prefix in (totals.TOTAL, totals.SLOTS):
        found = totals.read_counters(client_id, month, prefix)
        stored.update((at, Counter(numbers)) for at, numbers in found if not totals.is_slots_of_version_1(at))
    counted = _counted(client_id, month)
    for _, items in groupby(sorted(stored.keys() | counted.keys(), key=_together), totals.without_currency):
        differing = (_differing(f"{client_id}#{month}", at, stored[at], counted[at]) for at in items)
        groups = [group for group in differing if group]
        if any(len(group) > totals.AT_ONCE for group in groups):  # of slots: a total has fewer
            yield from ([part] for group in groups for part in _groups(group, totals.AT_ONCE))
        elif groups:
            yield groups


def _together(at: str) -> tuple[str, str]:
    return totals.without_currency(at), at


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
            counted[str(totals.total_key(client_id, line).key["at"])].update(totals.total_counters(line))
            counted[str(totals.slots_key(client_id, line).key["at"])].update(totals.slot_counters(line))
    return counted


def _groups(many: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in groups of so many."""
    remaining = iter(many)
    while group := list(islice(remaining, size)):
        yield group
