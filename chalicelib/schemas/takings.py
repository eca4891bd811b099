"""The request for takings, and their answer."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import ClassVar, Literal, Self

from chalicelib.domain.takings import Taking
from chalicelib.schemas.base import Answer, Identifier, View
from chalicelib.schemas.history import PeriodModel
from chalicelib.schemas.request_context import Context

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
