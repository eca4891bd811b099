"""The request for takings with its answer, and the answer of an export."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import ClassVar, Literal, Self

from chalicelib.domain.history import EXPORTED, HistoryEntry
from chalicelib.domain.totals import Taking
from chalicelib.schemas.base import Answer, Identifier, View
from chalicelib.schemas.history import PeriodModel
from chalicelib.schemas.request_context import Context
from chalicelib.schemas.transaction_view import WireState

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


BY_HOUR = "hour"


class ReportTakings(Context):
    """The body of report/takings."""

    PATHS: ClassVar[Mapping[str, str]] = {"period.first": "Period.From"}

    period: PeriodModel = PeriodModel()
    account_id: Identifier | None = None
    by: Literal["day", "hour"] = "day"


class TakingView(View):
    """The takings and returns of an agent in a day, or an hour of it, by one kind of payment at one acquirer."""

    day: str
    hour: int | None
    agent_id: int
    agent_name: str | None
    input_type: int
    acquirer_code: str
    currency_id: str
    payments: int
    amount: Decimal
    reversals: int
    amount_reversed: Decimal
    net: Decimal


class TakingsAnswer(Answer):
    """The takings of a period: one row for each combination that has any."""

    takings: list[TakingView]

    @classmethod
    def of(cls, rows: Sequence[Taking], names: Mapping[int, str]) -> Self:
        """Return the answer with its rows; `names` are those of agents by ID."""
        return cls(
            takings=[
                TakingView.carried(
                    row,
                    day=row.day.isoformat(),
                    agent_name=names.get(row.agent_id),
                    acquirer_code=row.acquirer,
                    currency_id=row.currency,
                )
                for row in rows
            ]
        )
