"""The list of a day from an acquirer's host: CSV with a header, read row by row and checked."""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from chalicelib import iso_codes
from chalicelib.domain.reconciliation import PURCHASE, REFUND, Row

HEADER = ("date", "RRN", "STAN", "TID", "type", "amount", "currency", "approval code")
MAX_ROWS = 1_000_000  # rows of one list

Reading = Callable[[str], Any]  # None: it cannot be read


class WrongInputError(Exception):
    """Input that cannot be compared; the message quotes no cell of a list, because it may hold a card number."""


def read_list(path: str) -> list[Row]:
    """Return the rows of a list. Raise WrongInputError for the first thing that is wrong with it."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            return list(_rows(path, file))
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
    """Return where each column stands, in any order and among others; nothing if one is missing or there twice."""
    names = [_plain(name) for name in header]
    wanted = {name: _plain(name) for name in HEADER}
    if any(names.count(name) != 1 for name in wanted.values()):
        return {}
    return {name: names.index(plain) for name, plain in wanted.items()}


def _plain(name: str) -> str:
    """Return a column's name as it is compared: "Approval code", "approval_code" and "ApprovalCode" are one."""
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
    """Return the alpha code; a spreadsheet takes the leading zeros of a numeric one away."""
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
