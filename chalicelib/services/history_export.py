"""The export of a history as a CSV file."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from io import TextIOWrapper
from itertools import islice
from tempfile import TemporaryFile
from typing import TextIO

from chalicelib.domain.agent import Caller
from chalicelib.domain.history_entry import ORDER, HistoryEntry, entry_of
from chalicelib.domain.history_page import MAX_CANDIDATES, days_of
from chalicelib.domain.kinds import language_of
from chalicelib.domain.phases import SHOWN, Shown
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways import files
from chalicelib.gateways.ids import new_guid
from chalicelib.receipts.content import words_of
from chalicelib.schemas.history import ListHistory
from chalicelib.schemas.history_export import COLUMNS, row_of
from chalicelib.services import history
from chalicelib.services.history import HistoryQuery
from chalicelib.store import history_lists, transactions
from chalicelib.store.history_lists import EXPORTED, Stretch

MakeRow = Callable[[HistoryEntry, Shown], list[str | int]]
BOM = "\ufeff"  # spreadsheets recognise UTF-8 by it


@dataclass(frozen=True)
class Limits:
    """The limits of one export."""

    rows: int = 100_000
    looked_at: int = 200_000  # entries that are read to find those of the wanted kinds
    candidates: int = MAX_CANDIDATES  # entries that are read to find a text
    records: int = 20_000  # transactions that are read because their entries lack the state
    bytes: int = 256 * 1024 * 1024  # half of a function's file space
    at_once: int = 2_000  # entries in memory at a time


LIMITS = Limits()


def export(body: ListHistory, caller: Caller, now: datetime, limits: Limits = LIMITS) -> str:
    """Write all pages of a history list to a CSV file, and return its address.

    Raise PERIOD_TOO_LONG for too many entries, before reading any of them where the counters can tell.
    """
    query = history.decide(body, caller, now)
    name = f"exports/{query.client_id}/{new_guid()}.csv"
    row = partial(row_of, words=words_of(language_of(body.lang)), gmt=query.gmt)
    with TemporaryFile() as content:
        text = TextIOWrapper(content, encoding="utf-8", newline="")
        _write(query, text, row, limits)
        text.detach()
        content.seek(0)
        files.put_export(name, content, _file_name(query))
    return files.signed_url(name)


def _write(query: HistoryQuery, file: TextIO, row: MakeRow, limits: Limits) -> None:
    found = history.found_by_key(query)
    if found is not None:
        _write_rows(file, row, sorted(found, key=ORDER, reverse=query.newest_first), limits)
        return
    inside = history.counts_of(query)
    fitting = [one for one in inside if query.wanted.takes(one.counter)]
    days = days_of(fitting, newest_first=False)
    if query.wanted.by_text:
        _limit(sum(one.count for one in days), limits.candidates, "operations would have to be looked at")
    else:
        _limit(sum(one.count for one in days), limits.rows, "operations are not exported at once")
    if not days:
        _write_rows(file, row, (), limits)
        return
    stretch = Stretch(query.client_id, query.wanted.agent_id, days[0].begin, days[-1].end)
    number = sum(one.count for one in inside if days[0].begin.date() <= one.day < days[-1].end.date())
    _limit(number, limits.looked_at, "operations would have to be looked at")
    entries = history_lists.between(stretch, query.wanted, EXPORTED, newest_first=query.newest_first)
    _write_rows(file, row, entries, limits)


def _limit(number: int, most: int, what: str) -> None:
    if number > most:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, f"More than {most} {what}: narrow the period.")


def _write_rows(file: TextIO, row: MakeRow, entries: Iterable[HistoryEntry], limits: Limits) -> None:
    file.write(BOM)
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    remaining, looked_up = iter(entries), 0
    while some := list(islice(remaining, limits.at_once)):
        unknown = [entry.id for entry in some if _needs_record(entry)]
        looked_up += len(unknown)
        _limit(looked_up, limits.records, "of these operations have to be looked up")
        writer.writerows(row(*one) for one in _with_states(some, unknown))
        _limit(file.tell(), limits.bytes, "bytes are not exported at once")


def _needs_record(entry: HistoryEntry) -> bool:
    """Return whether the entry lacks the state, so that the record must be read: a pending or reversed payment."""
    return entry.phase is None or entry.reverse_invoice is not None


def _with_states(entries: Iterable[HistoryEntry], unknown: Sequence[str]) -> Iterator[tuple[HistoryEntry, Shown]]:
    """Yield each entry with its state; for the IDs in `unknown`, from the transactions as they are stored now."""
    known = dict(zip(unknown, transactions.list_by_ids(unknown), strict=True))
    for entry in entries:
        transaction = known.get(entry.id)
        if transaction is not None:
            yield replace(entry_of(transaction), lines=entry.lines), transaction.shown  # lists read no lines
        elif entry.phase is not None:
            yield entry, SHOWN[entry.phase]


def _file_name(query: HistoryQuery) -> str:
    """Return a name such as payments-2026-11-01-2026-11-30.csv."""
    by_key = query.wanted.id is not None or query.wanted.ext_id is not None
    if by_key and query.anytime:
        return "payments.csv"
    return f"payments-{query.period.first}-{query.period.last}.csv"
