"""The command `python -m infra.operator reconcile`: a host's list of a day, compared with our books."""

import argparse
import sys
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from chalicelib.aws.errors import RefusedError
from chalicelib.domain.reconciliation import Field, Standing, compare
from chalicelib.errors import ServiceError
from chalicelib.services.reconciliation import books_of
from chalicelib.settings import settings
from infra.host_list import HEADER, WrongInputError, day_of, read_list

DIFFERENT, NOT_COMPARED = 1, 2  # exit statuses; 0: no difference
EARLIEST_ZONE = timedelta(hours=14)  # where a day begins first


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `reconcile` to the operator's commands."""
    command = commands.add_parser("reconcile", help="compare a host's list of a day with our books")
    command.add_argument("--acquirer", required=True, help="its code in ACQUIRERS")
    command.add_argument("--date", required=True, help="the merchants' day, such as 2026-03-14")
    command.add_argument("--file", required=True, help=f"the host's list, CSV: {', '.join(HEADER)}")
    command.set_defaults(command=_reconcile_command)


def _reconcile_command(options: argparse.Namespace) -> None:
    """Print each difference; exit with 1 if there is one, with 2 and one line if the two cannot be compared."""
    try:
        is_different = _reconcile(options.acquirer, options.date, options.file)
    except WrongInputError as wrong:
        _stop(str(wrong))
    except ServiceError as refusal:
        _stop(refusal.message)
    except RefusedError as refusal:
        _stop(f"The store refused: {refusal.code}.")
    except SystemExit as wrong_setting:
        _stop(str(wrong_setting))
    if is_different:
        sys.exit(DIFFERENT)


def _reconcile(acquirer: str, date_text: str, path: str) -> bool:
    """Print what differs and what is open, and return whether anything differs."""
    acquirers = settings().acquirers
    if acquirer not in acquirers:
        message = f"There is no acquirer {acquirer}: ACQUIRERS names {', '.join(acquirers) or 'none'}."
        raise WrongInputError(message)
    day = day_of(date_text)
    if day is None or day > (datetime.now(UTC) + EARLIEST_ZONE).date():
        message = "The date must be a day such as 2026-03-14, not after today."
        raise WrongInputError(message)
    rows = read_list(path)
    books = books_of(acquirer, day)
    found = compare(books, rows, day)
    for one in found:
        print(one)
    open_ones = sum(one.field is Field.OPEN for one in found)
    count = len(found) - open_ones
    made = sum(one.standing is Standing.MADE for one in books)
    print(f"{acquirer}, {day}: {count} differences, {open_ones} open; {made} in our books, {len(rows)} in the list.")
    return count > 0


def _stop(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(NOT_COMPARED)
