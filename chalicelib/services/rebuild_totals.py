"""Counting a merchant's totals anew from its transactions, while payments come in."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from chalicelib.domain.history import entry_of
from chalicelib.record import Record
from chalicelib.store import history, totals, transactions
from chalicelib.store.table import read_all

if TYPE_CHECKING:
    from chalicelib.domain.transaction import Transaction

ROUNDS = 5  # of counting, for what was written to while it was counted
AT_ONCE = 1000  # records in memory


class Difference(Record):
    """A counter that was not what the transactions come to."""

    month: str
    at: str
    name: str
    stored: int
    counted: int


class Outcome(Record):
    """The counters that were corrected, and those that were written to whenever they were counted."""

    mended: tuple[Difference, ...]
    moving: tuple[Difference, ...]


def rebuild(client_id: int, month: str) -> Outcome:
    """Count a month (2026-03) of a merchant and mend what differs.

    The counters are read before the transactions, and written only if they are still what was read: a payment that is
    counted at this moment is never lost, it makes its counter one to be looked at again.
    """
    mended: list[Difference] = []
    moving: list[Difference] = []
    for _ in range(ROUNDS):
        moving = []
        for group in _differences(client_id, month):
            key = totals.counters_key(group[0].month, group[0].at)
            try:
                totals.correct(key, {one.name: one.stored for one in group}, {one.name: one.counted for one in group})
            except totals.CounterChangedError:
                moving += group
            else:
                mended += group
        if not moving:
            break
    return Outcome(tuple(mended), tuple(moving))


def _differences(client_id: int, month: str) -> Iterator[list[Difference]]:
    """Yield the counters that differ, those of one item together."""
    stored: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for prefix in (totals.TOTAL, totals.SLOTS):
        stored.update((at, Counter(numbers)) for at, numbers in totals.read_counters(client_id, month, prefix))
    counted = _counted(client_id, month)
    for at in sorted(stored.keys() | counted.keys()):
        names = sorted(stored[at].keys() | counted[at].keys())
        group = [
            Difference(f"{client_id}#{month}", at, name, stored[at][name], counted[at][name])
            for name in names
            if stored[at][name] != counted[at][name]
        ]
        if group:
            yield group


def _counted(client_id: int, month: str) -> defaultdict[str, Counter[str]]:
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    lines = history.of_month(client_id, month)
    for start in range(0, len(lines), AT_ONCE):
        keys = [transactions.key(line.id) for line in lines[start : start + AT_ONCE]]
        records: list[Transaction | None] = read_all(keys)
        for line in (entry_of(record) for record in records if record is not None):
            counted[str(totals.total_key(client_id, line).key["at"])].update(totals.total_counters(line))
            counted[str(totals.slots_key(client_id, line).key["at"])].update(totals.slot_counters(line))
    return counted
