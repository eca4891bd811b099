"""Our bookings of a day at one acquirer, for all merchants, to compare with the list of its host."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, time, timedelta
from itertools import chain

from chalicelib.domain.history import HistoryEntry, HistoryFilter
from chalicelib.domain.reconciliation import ATTRIBUTES, BookedTransaction, Booking, Cancels, booking_of, cancels_of
from chalicelib.domain.reversal import CANCELS
from chalicelib.store import history, merchants, sequences, transactions
from chalicelib.store.table import BATCH, Key, read_all

THREADS = 8  # parallel reads: most of the time is spent waiting for the store


def books_of(acquirer: str, day: date) -> list[Booking]:
    """Return the purchases and refunds that merchants created on this business day of theirs, with any outcome.

    Every read is strong. A cancel counts on the day of its payment: its Deadline is the end of that day.
    """
    client_ids = range(1, sequences.last_id(merchants.TABLE) + 1)
    with ThreadPoolExecutor(THREADS) as pool:
        ids: dict[bool, list[str]] = {True: [], False: []}
        for entry in chain.from_iterable(pool.map(lambda client_id: _entries(client_id, acquirer, day), client_ids)):
            ids[entry.counter.reverse_mode in CANCELS].append(entry.id)
        cancels = cancels_of(chain.from_iterable(pool.map(_records, _batches(ids[True]))))
        books = pool.map(lambda batch: _bookings(batch, cancels), _batches(ids[False]))
        return list(chain.from_iterable(books))


def _entries(client_id: int, acquirer: str, day: date) -> list[HistoryEntry]:
    """Return the entries of a merchant's day at this acquirer."""
    begin = datetime.combine(day, time.min)
    stretch = history.Stretch(client_id, None, begin, begin + timedelta(days=1))
    return list(history.between(stretch, HistoryFilter(acquirer=acquirer)))


def _bookings(batch: list[str], cancels: Cancels) -> list[Booking]:
    return [booking_of(record, cancels) for record in _records(batch)]


def _records(batch: list[str]) -> list[BookedTransaction]:
    keys = [Key(transactions.TABLE, BookedTransaction, {"id": one}) for one in batch]
    return [record for record in read_all(keys, ATTRIBUTES) if record is not None]


def _batches(ids: list[str]) -> Iterable[list[str]]:
    return (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))
