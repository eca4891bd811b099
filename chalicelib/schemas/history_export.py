"""The export of a history: its request and answer, and the columns and rows of its CSV file."""

import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from typing import ClassVar, Final, Literal

from chalicelib.domain.history_entry import EXPORTED, HistoryEntry
from chalicelib.domain.phases import Shown
from chalicelib.domain.printed_text import without_controls
from chalicelib.schemas.base import Answer, Request, Text
from chalicelib.schemas.history import ListHistory

COLUMNS = (
    *("Date", "ID", "Kind", "OriginalID", "InputType", "AcquirerCode", "State", "Substate", "Amount"),
    *("AmountRequested", "Currency", "AgentID", "Agent", "Terminal", "Invoice", "RRN", "ApprovalCode", "Card"),
    *("ExtID", "Description", "InputTypeText", "StateText", "Zone", "TaxTotal", "TaxText"),
    *("Lines", "Discounts", "Received"),
)


FORMULA = frozenset("=+-@＝＋－＠\t\r\n")  # noqa: RUF001  spreadsheets compute cells that begin with these


INVISIBLE = ("C", "Z", "Mn")  # categories of Unicode: controls and formats, blanks, marks without width


SKIPPED = frozenset('"\u115f\u1160\u2800\u3164\uffa0')  # a quote, invisible letters and symbols


CSV: Final = "csv"


class BookAccounts(Request):
    """The bookkeeper's names of accounts. Each format has its own rule for them."""

    sales: Text | None = None
    returns: Text | None = None
    cash: Text | None = None
    clearing: Text | None = None
    receivable: Text | None = None
    prepaid: Text | None = None
    tax: Text | None = None
    tax_rate: Text | None = None

    @property
    def given(self) -> Mapping[str, str]:
        """Return the names in the request."""
        return {field: name for field, name in self if name is not None}


class ExportHistory(ListHistory):
    """The body of report/export. A journal has only the days and the account of the list."""

    JUDGED: ClassVar[tuple[str, ...]] = (
        *(*ListHistory.JUDGED, "format", "period"),
        *(f"accounts.{name}" for name in BookAccounts.model_fields),
    )

    format: Literal["csv", "hledger", "beancount", "xero"] = CSV
    accounts: BookAccounts = BookAccounts()

    @property
    def has_wrong_period(self) -> bool:
        """Return whether the period is among the faults of the request."""
        faults = self.faults.validations if self.faults else ()
        return any(one.field.lower().startswith("period") for one in faults)


class ExportAnswer(Answer):
    """The address of an exported file; it expires after 15 minutes."""

    url: str


def row_of(entry: HistoryEntry, shown: Shown, words: Mapping[str, str], gmt: int) -> list[str | int]:
    """Return the row of a transaction with its cells in the order of COLUMNS, in the merchant's time zone.

    `words` are those of a receipt's language: the file names kinds and states as receipts do.
    """
    counter = entry.counter
    return [
        entry.exact.get("date") or entry.at.isoformat(timespec="milliseconds"),
        entry.id,
        "reversal" if counter.reverse_mode else "payment",
        entry.original_id or "",
        counter.input_type,
        neutral(counter.acquirer),
        shown.state,
        shown.substate,
        _amount(entry.moved_minor, counter.digits),
        _amount(entry.amount_minor, counter.digits),
        counter.currency,
        counter.agent_id,
        *(without_controls(neutral(entry.text(name))) for name in EXPORTED),
        words[f"kind_{counter.input_type}"],
        words[f"state_{shown.substate}_{shown.status.lower()}"],
        f"UTC{gmt:+03d}:00",
        *_taxes(entry),
        without_controls(neutral(entry.lines or "")),
        _amount(entry.discounts_minor, counter.digits) if entry.discounts_minor and entry.moved_minor else "",
        entry.received.isoformat(timespec="milliseconds") if entry.received else "",
    ]


def _taxes(entry: HistoryEntry) -> tuple[str, str]:
    """Return the tax in the moved money, and each tax with the amount that has it. Those of a reversal have a minus."""
    if not entry.moved_taxes:
        return "", ""
    digits, sign = entry.counter.digits, -1 if entry.moved_minor < 0 else 1
    texts = [
        f"{one.code} {one.rate.normalize():f} % {_amount(sign * one.tax_minor, digits)} "
        f"of {_amount(sign * one.gross_minor, digits)}"
        for one in entry.moved_taxes
    ]
    return _amount(sign * sum(one.tax_minor for one in entry.moved_taxes), digits), neutral("; ".join(texts))


def neutral(text: str) -> str:
    """Return a text that no spreadsheet computes: an apostrophe goes in front of a formula.

    Some spreadsheets split cells at a semicolon, and some ignore quotes and invisible characters before a formula.
    """
    return f"'{text}" if any(map(_is_formula, text.split(";"))) else text


def _is_formula(text: str) -> bool:
    for character in text:
        if character in FORMULA:
            return True
        if character not in SKIPPED and not unicodedata.category(character).startswith(INVISIBLE):
            return False
    return False


def _amount(minor: int, digits: int) -> str:
    return f"{Decimal(minor).scaleb(-digits):f}"
