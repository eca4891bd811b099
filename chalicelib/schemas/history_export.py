"""An exported history: the columns of its CSV file, and the answer with its address."""

from decimal import Decimal
from typing import Self

from chalicelib.domain.history import EXPORTED, HistoryEntry
from chalicelib.schemas.base import Answer
from chalicelib.schemas.transaction_states import WireState

COLUMNS = (
    *("Date", "ID", "Kind", "OriginalID", "InputType", "AcquirerCode", "State", "Substate", "Amount"),
    *("AmountRequested", "Currency", "AgentID", "Agent", "Terminal", "Invoice", "RRN", "ApprovalCode", "Card"),
    *("ExtID", "Description"),
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what begins so, a spreadsheet may compute


class ExportAnswer(Answer):
    """The address of an exported history; it expires after 15 minutes."""

    url: str

    @classmethod
    def of(cls, url: str) -> Self:
        """Return the answer with an address."""
        return cls(url=url)


def row_of(entry: HistoryEntry, shown: WireState) -> list[str | int]:
    """Return the row of a transaction, its cells in the order of COLUMNS; times are of the merchant's zone."""
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
        *(neutral(entry.text(name)) for name in EXPORTED),
    ]


def neutral(text: str) -> str:
    """Return a text that no spreadsheet computes: with an apostrophe in front where it would."""
    return f"'{text}" if text.startswith(FORMULA) else text


def _amount(minor: int, digits: int) -> str:
    return f"{Decimal(minor).scaleb(-digits):f}"
