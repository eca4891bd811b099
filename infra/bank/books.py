"""The books of a running bank as JSON and CSV, over HTTP on 127.0.0.1: held amounts, and the list of a day."""

import contextlib
import csv
import io
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import date, timedelta
from decimal import Decimal
from functools import cache, partial
from typing import Any

import iso4217

from infra.bank.bank import Bank
from infra.bank.ledger import Entry
from infra.bank.server import HOST
from infra.local import http_server
from infra.local.http_server import Handler

COLUMNS = ("date", "RRN", "STAN", "TID", "type", "amount", "currency", "approval code")


def document(bank: Bank) -> dict[str, Any]:
    """Return the books as JSON: amounts are decimal texts, and a digest stands for a card."""
    with bank.lock:
        held = bank.ledger.held()
        accounts = list(bank.ledger.accounts.values())
        rows = [
            {
                "RRN": one.entry.rrn,
                "type": one.entry.kind,
                "code": one.entry.code,
                "amount": decimal(one.entry.amount_minor, one.entry.currency),
                "left": decimal(one.left_minor, one.entry.currency),
                "refunded": decimal(one.refunded_minor, one.entry.currency),
                "reversed": one.is_reversed,
            }
            for one in accounts
        ]
        return {
            "held": [
                {"card": card, "currency": _currency(currency)[0], "amount": decimal(amount_minor, currency)}
                for (card, currency), amount_minor in held.items()
            ],
            "transactions": rows,
            "reversed_before_they_came": [entry.rrn for entry in bank.ledger.remembered.values()],
            "violations": list(bank.violations),
        }


def list_of(bank: Bank, day: date) -> str:
    """Return the standing purchases and refunds of a day as CSV. The day is the merchant's: field 13."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    with bank.lock:
        writer.writerows(_rows(bank, day))
    return text.getvalue()


def decimal(amount_minor: int, currency: str) -> str:
    """Return an amount as a decimal text: 1230 of currency 710 is 12.30."""
    return f"{Decimal(amount_minor).scaleb(-_currency(currency)[1]):f}"


def _rows(bank: Bank, day: date) -> Iterator[tuple[str, ...]]:
    for account in bank.ledger.standing():
        entry = account.entry
        if _local_day(entry) == day:
            yield (
                day.isoformat(),
                entry.rrn,
                entry.stan,
                entry.tid.strip(),
                entry.kind,
                decimal(account.left_minor, entry.currency),
                _currency(entry.currency)[0],
                entry.approval,
            )


def _local_day(entry: Entry) -> date:
    """Return the day of field 13, in the year nearest to the receipt of the message."""
    around = entry.received.date()
    month, day = int(entry.local_date[:2]), int(entry.local_date[2:])
    near = [around + timedelta(days=days) for days in range(-180, 181)]
    found = [one for one in near if (one.month, one.day) == (month, day)]
    return min(found, key=lambda one: abs(one - around), default=around)


@cache
def _currency(number: str) -> tuple[str, int]:
    """Return the code and the decimals of a currency. One that ISO 4217 does not list is its own code and has two."""
    return next(
        ((one.code, one.exponent or 0) for one in iso4217.Currency if f"{one.number:03}" == number), (number, 2)
    )


LIST = "/list/"


class _Handler(Handler):
    timeout = 5

    def __init__(self, *arguments: Any, bank: Bank) -> None:
        self.bank = bank
        super().__init__(*arguments)

    def do_GET(self) -> None:  # noqa: N802  the name is http.server's
        """Answer /books and /list/YYYY-MM-DD."""
        status, kind, text = self._answer()
        self.write(status, kind, text.encode())

    def _answer(self) -> tuple[int, str, str]:
        if self.path == "/books":
            return 200, "application/json", json.dumps(document(self.bank), indent=2) + "\n"
        with contextlib.suppress(ValueError):
            if self.path.startswith(LIST):
                day = date.fromisoformat(self.path.removeprefix(LIST))
                return 200, "text/csv", list_of(self.bank, day)
        return 404, "text/plain", f"There are /books and {LIST}YYYY-MM-DD.\n"


def serve(bank: Bank, port: int = 0) -> AbstractContextManager[str]:
    """Serve the books until the block ends; yield the URL. Raises OSError when the port is in use."""
    return http_server.serve(partial(_Handler, bank=bank), port)


def read_from(port: int, path: str) -> str:
    """Return the answer of a running bank. Raises OSError if none listens or it does not know the path."""
    with urllib.request.urlopen(f"http://{HOST}:{port}{path}", timeout=10) as response:
        text: str = response.read().decode()
        return text
