"""Card transactions at a host, and the list the host makes of them."""

import csv
import io
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import count
from typing import Any

from chalicelib.domain.kinds import InputType
from chalicelib.domain.phases import Phase
from chalicelib.domain.reversibility import ReverseMode
from chalicelib.domain.transaction import HostFacts, MessageTrace, TerminalSnapshot, Transaction
from chalicelib.store.table import attributes_of
from infra.operator.reconcile import HEADER
from infra.operator.reconciliation import ATTRIBUTES, BookedTransaction, Booking, Cancels, Row, booking_of
from tests.support.transactions import a_guid, a_payment, altered

DAY = date(2026, 3, 14)
NOON = datetime(2026, 3, 14, 10, tzinfo=UTC)
TERMINAL = TerminalSnapshot("SHOPBANK0000001", "Till 1", "Cape Town", "ZA", "5411", "8")
NO_CANCELS = Cancels(frozenset(), frozenset())
_numbers = count(1)


def a_purchase(**changes: Any) -> Transaction:
    """R 12.30 by chip at a host; its RRN and STAN are its own."""
    number = next(_numbers)
    facts: dict[str, Any] = {
        "input_type": InputType.CHIP,
        "acquirer": "ISO8583",
        "created_at": NOON,
        "rrn": f"6JX2M0{number:06d}",
        "approval_code": "333380",
        "host": HostFacts(MessageTrace(number, NOON), "12345678", TERMINAL, advice_stan=2),
    }
    return a_payment(**{**facts, **changes})


def a_reversal(original: Transaction, mode: ReverseMode, **changes: Any) -> Transaction:
    """All of it taken back: a refund has an RRN of its own, a cancel that of its purchase."""
    facts: dict[str, Any] = {"original_id": original.id, "original_invoice": original.invoice, "original_mode": mode}
    if mode is ReverseMode.RETURN:
        facts["rrn"] = f"REF000{next(_numbers):06d}"
    return altered(
        original, **{"id": a_guid(), "phase": Phase.REVERSAL_APPROVED, "reversals_count": 0, **facts, **changes}
    )


def booked(transaction: Transaction) -> BookedTransaction:
    """The fields of it that are read."""
    return BookedTransaction(**{name: attributes_of(transaction)[name] for name in ATTRIBUTES})


def a_booking(**changes: Any) -> Booking:
    """The purchase in our books."""
    return replace(booking_of(booked(a_purchase()), NO_CANCELS), **changes)


def row_of(booking: Booking, **changes: Any) -> Row:
    """The row of a host that agrees."""
    facts: dict[str, Any] = {
        "line": 2,
        "day": DAY,
        "rrn": booking.rrn,
        "stan": booking.stan,
        "tid": booking.tid,
        "type": booking.type,
        "amount": booking.amount,
        "currency": booking.currency,
        "approval_code": booking.approval_code,
    }
    return Row(**{**facts, **changes})


def listed(*transactions: Transaction) -> str:
    """The host's list of these transactions."""
    return as_csv(row_of(booking_of(booked(one), NO_CANCELS)) for one in transactions)


def as_csv(rows: Iterable[Row]) -> str:
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(HEADER)
    for row in rows:
        cells = (row.day, row.rrn, f"{row.stan:06d}", row.tid, row.type, f"{row.amount:f}", row.currency)
        table.writerow((*cells, row.approval_code))
    return written.getvalue()
