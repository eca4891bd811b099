"""Our books of a day at one acquirer, of all merchants, to be compared with the list of its host."""

from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta

from chalicelib.domain.history import HistoryEntry, HistoryFilter
from chalicelib.domain.reconciliation import Booking, booking_of, cancels_of
from chalicelib.domain.reversal import CANCELS
from chalicelib.domain.transaction import Transaction
from chalicelib.store import history, merchants, sequences, totals, transactions
from chalicelib.store.table import read_all

AT_ONCE = 1000  # records in memory


def books_of(acquirer: str, day: date) -> Iterator[Booking]:
    """Yield the purchases and refunds that merchants created on this day of theirs, whatever became of them.

    Every read is a strong one. The totals, written with each transaction, tell which agents had any.
    """
    for client_id in range(1, sequences.last_id(merchants.TABLE) + 1):
        yield from _books_of_merchant(client_id, acquirer, day)


def _books_of_merchant(client_id: int, acquirer: str, day: date) -> Iterator[Booking]:
    """Yield the books of one merchant. A cancel is made on the day of its payment: its Deadline is the end of it."""
    month = f"{day:%Y-%m}"
    counted = totals.of_month(client_id, month, None)
    agents = {one.counter.agent_id for one in counted if one.day == day and one.counter.acquirer == acquirer}
    begin = datetime.combine(day, time.min)
    entries = [
        entry
        for agent_id in sorted(agents)
        for entry in history.between(
            history.MonthEntries(client_id, month, agent_id),
            begin,
            begin + timedelta(days=1),
            HistoryFilter(acquirer=acquirer),
        )
    ]
    cancelled = cancels_of(_records(entry for entry in entries if entry.counter.reverse_mode in CANCELS))
    for record in _records(entry for entry in entries if entry.counter.reverse_mode not in CANCELS):
        yield booking_of(record, cancelled)


def _records(entries: Iterable[HistoryEntry]) -> Iterator[Transaction]:
    """Yield the transactions of these entries; only so many are in memory at a time."""
    keys = [transactions.key(entry.id) for entry in entries]
    for start in range(0, len(keys), AT_ONCE):
        yield from filter(None, read_all(keys[start : start + AT_ONCE]))
