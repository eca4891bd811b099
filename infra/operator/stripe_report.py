"""Stripe's balance report as the list of a day: `balance_change_from_activity.itemized` as CSV, with its usual columns.

Source: https://docs.stripe.com/reports/report-types/balance. A charge is known by its intent, a refund by its own ID.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation

from infra.operator.reconciliation import PURCHASE, REFUND, Booking, Row, Standing

FAILURE = "refund failure"  # the money of a refund came back to the account
TYPES = {"charge": PURCHASE, "refund": REFUND, "refund_failure": FAILURE}  # other categories are no payments
NEEDED = ("reporting_category", "source_id", "payment_intent_id", "currency", "gross")


class WrongReportError(Exception):
    """The report cannot be read. The message is one line without its content."""


def read_report(path: str, file: Iterable[str], books: Iterable[Booking]) -> list[Row]:
    """Return the charges and refunds of a report. Raise WrongReportError for its first problem.

    A charge that our books do not count, and that is refunded in full, was cancelled: neither is returned. Nor is a
    refund that failed.
    """
    reader = csv.DictReader(file, strict=True)
    try:
        if missing := [name for name in NEEDED if name not in (reader.fieldnames or ())]:
            message = f"{path}: the column {missing[0]} is missing; choose it for the report."
            raise WrongReportError(message)
        read = [(cells["payment_intent_id"], row) for cells in reader if (row := _row(path, reader.line_num, cells))]
    except csv.Error as error:
        message = f"{path}, line {reader.line_num}: {error}."
        raise WrongReportError(message) from None
    made = {one.rrn for one in books if one.standing is Standing.MADE}
    failed = {row.rrn for _, row in read if row.type == FAILURE}
    listed = {row.rrn for _, row in read if row.type == REFUND}
    cancelled = set(_cancelled(read, failed)) - made
    return [row for intent, row in read if intent not in cancelled and not (row.rrn in failed and row.rrn in listed)]


def _cancelled(read: list[tuple[str, Row]], failed: set[str]) -> Iterator[str]:
    """Yield the intents whose charge is refunded in full."""
    rest: dict[str, Decimal] = {}
    for intent, row in read:
        if row.rrn not in failed:
            rest[intent] = rest.get(intent, Decimal()) + (row.amount if row.type == PURCHASE else -row.amount)
    yield from (intent for intent, amount in rest.items() if intent and not amount)


def _row(path: str, line: int, cells: Mapping[str, str]) -> Row | None:
    kind = TYPES.get(cells["reporting_category"])
    if kind is None:
        return None
    name = cells["payment_intent_id"] if kind == PURCHASE else cells["source_id"]
    try:
        day = date.fromisoformat((cells.get("created") or cells.get("created_utc") or "")[:10])
        # What the customer paid; `gross` is in the currency of the account.
        amount = abs(Decimal(cells.get("customer_facing_amount") or cells["gross"]))
    except (ValueError, InvalidOperation, TypeError):
        message = f"{path}, line {line}: the time or the amount cannot be read."
        raise WrongReportError(message) from None
    currency = (cells.get("customer_facing_currency") or cells["currency"]).upper()
    return Row(line, day, name, None, None, kind, amount, currency, None)
