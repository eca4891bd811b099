"""The command `python -m infra.operator reconcile`: compare an acquirer's list of a day with our books.

The list is CSV with a header. Each row is checked.
"""

import argparse
import csv
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from chalicelib import iso_codes, outside
from chalicelib.errors import ServiceError
from chalicelib.settings import STRIPE, SettingsError, settings
from chalicelib.store.aws_client import RefusedError
from infra.operator import terminal
from infra.operator.reconciliation import PURCHASE, REFUND, Field, Row, Standing, books_of, compare
from infra.operator.stripe_report import WrongReportError, read_report

HEADER = ("date", "RRN", "STAN", "TID", "type", "amount", "currency", "approval code")
MAX_ROWS = 1_000_000  # rows of one list

Reading = Callable[[str], Any]  # None for unreadable text


class WrongInputError(Exception):
    """Input that cannot be compared. The message quotes no cell of a list, which may hold a card number."""


def read_list(path: str) -> list[Row]:
    """Return the rows of a list. Raises WrongInputError for its first problem."""
    return _read(path, lambda file: list(_rows(path, file)))


def _read(path: str, read: Callable[[Iterator[str]], list[Row]]) -> list[Row]:
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            return read(file)
    except OSError as error:
        message = f"{path}: {error.strerror}."
        raise WrongInputError(message) from error
    except UnicodeDecodeError as error:
        message = f"{path}: the list is not UTF-8."
        raise WrongInputError(message) from error


def day_of(text: str) -> date | None:
    """Return the date of a text such as 2026-03-14."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _rows(path: str, file: Iterator[str]) -> Iterator[Row]:
    reader = csv.reader(file, skipinitialspace=True, strict=True)
    places: dict[str, int] = {}
    try:
        header = next(reader, [])
        if not (places := _places(header)):
            message = f"{path}, line 1: the header must name the columns {', '.join(HEADER)}, separated by commas."
            raise WrongInputError(message)
        for number, cells in enumerate(filter(None, reader)):  # an empty line is no row
            if number >= MAX_ROWS:
                message = f"{path}: a list has at most {MAX_ROWS:,} rows."
                raise WrongInputError(message)
            if len(cells) != len(header):
                message = f"{path}, line {reader.line_num}: {len(header)} columns are expected, not {len(cells)}."
                raise WrongInputError(message)
            yield _row(path, reader.line_num, {name: cells[place].strip() for name, place in places.items()})
    except csv.Error as error:
        message = f"{path}, line {reader.line_num}: {error}."
        raise WrongInputError(message) from error


def _places(header: Sequence[str]) -> dict[str, int]:
    """Return the position of each column; other columns are ignored. Nothing if one is missing or there twice."""
    names = [_plain(name) for name in header]
    wanted = {name: _plain(name) for name in HEADER}
    if any(names.count(name) != 1 for name in wanted.values()):
        return {}
    return {name: names.index(plain) for name, plain in wanted.items()}


def _plain(name: str) -> str:
    """Return a column's name for comparison: "Approval code", "approval_code" and "ApprovalCode" are the same."""
    return re.sub(r"[\s_-]", "", name).casefold()


def _row(path: str, line: int, cells: Mapping[str, str]) -> Row:
    values: dict[str, Any] = {}
    for name, (read, form) in READINGS.items():
        if (value := read(cells[name])) is None:
            message = f"{path}, line {line}: {name} must be {form}."
            raise WrongInputError(message)
        values[name] = value
    day, rrn, stan, tid, kind, amount, currency, approval_code = (values[name] for name in HEADER)
    return Row(line, day, rrn, stan, tid, kind, amount, currency, approval_code)


def _text_of(pattern: str) -> Reading:
    return lambda text: text if re.fullmatch(pattern, text) else None


def _stan(text: str) -> int | None:
    return int(text) or None if re.fullmatch("[0-9]{1,6}", text) else None


def _type(text: str) -> str | None:
    return text.lower() if text.lower() in {PURCHASE, REFUND} else None


def _amount(text: str) -> Decimal | None:
    return Decimal(text) if re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,6})?", text) else None


def _currency(text: str) -> str | None:
    """Return the alpha code. A numeric code may lack leading zeros, which spreadsheets remove."""
    found = iso_codes.currency(text.zfill(3) if text.isdigit() else text.upper())
    return found.code if found else None


READINGS: Mapping[str, tuple[Reading, str]] = {
    "date": (day_of, "a date such as 2026-03-14"),
    "RRN": (_text_of("[0-9A-Z]{12}"), "12 characters, A-Z and 0-9"),
    "STAN": (_stan, "a number from 1 to 999999"),
    "TID": (_text_of("[!-~]([ -~]{0,6}[!-~])?"), "1 to 8 characters"),
    "type": (_type, f"{PURCHASE} or {REFUND}"),
    "amount": (_amount, "a decimal number such as 12.30"),
    "currency": (_currency, "an ISO 4217 code such as ZAR or 710"),
    "approval code": (_text_of("[0-9A-Za-z]{0,6}"), "empty or up to 6 letters and digits"),
}


DIFFERENT, NOT_COMPARED = 1, 2  # exit statuses; 0: no difference
EARLIEST_ZONE = timedelta(hours=14)  # the zone in which a day begins first


def reconcile_command(options: argparse.Namespace) -> None:
    """Print each difference. Exit with 1 if there is one, and with 2 and one line if nothing can be compared."""
    try:
        is_different = _reconcile(options.acquirer, options.date, options.file)
    except (WrongInputError, WrongReportError, SettingsError, ServiceError) as problem:
        _stop(str(problem))
    except RefusedError as refusal:
        _stop(f"The store refused: {refusal.code}.")
    if is_different:
        sys.exit(DIFFERENT)


def _reconcile(acquirer: str, date_text: str, path: str) -> bool:
    """Print the differences and the open transactions; return whether there is a difference."""
    acquirers = settings().acquirers
    if acquirer not in acquirers:
        message = f"There is no acquirer {acquirer}: ACQUIRERS names {', '.join(acquirers) or 'none'}."
        raise WrongInputError(message)
    day = day_of(date_text)
    if day is None or day > (outside.now() + EARLIEST_ZONE).date():
        message = "The date must be a day such as 2026-03-14, not after today."
        raise WrongInputError(message)
    rows = [] if acquirer == STRIPE else read_list(path)
    books = books_of(acquirer, day)
    if acquirer == STRIPE:
        rows = _read(path, lambda file: read_report(path, file, books))
    found = compare(books, rows, day)
    terminal.show(*found)
    open_ones = sum(one.field is Field.OPEN for one in found)
    count = len(found) - open_ones
    made = sum(one.standing is Standing.MADE for one in books)
    print(f"{acquirer}, {day}: {count} differences, {open_ones} open; {made} in our books, {len(rows)} in the list.")
    return count > 0


def _stop(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(NOT_COMPARED)
