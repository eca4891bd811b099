"""The request to report takings, and its answer."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import ClassVar, Literal, Self

from chalicelib.domain.takings import Takings
from chalicelib.domain.transaction import receipt_number
from chalicelib.errors import ErrorCode
from chalicelib.schemas.base import Answer, Identifier, View
from chalicelib.schemas.history import PeriodModel
from chalicelib.schemas.request_context import Context

BY_HOUR = "hour"


class ReportTakings(Context):
    """The body of report/takings."""

    PATHS: ClassVar[Mapping[str, str]] = {"period.first": "Period.From"}
    REFERENCES: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.AGENT_NOT_FOUND: "AccountID"}
    JUDGED: ClassVar[tuple[str, ...]] = ("account_id",)

    period: PeriodModel = PeriodModel()
    account_id: Identifier | None = None
    by: Literal["day", "hour"] = "day"


class TakingView(View):
    """An agent's takings and returns in a day or hour, by one kind of payment at one acquirer."""

    day: str
    hour: int | None
    agent_id: int
    agent_name: str | None
    input_type: int
    acquirer_code: str
    currency_id: str
    payments: int
    amount: Decimal
    discounts: Decimal
    left_to_pay: Decimal
    reversals: int
    amount_reversed: Decimal
    net: Decimal


class ReceiptNumbersView(View):
    """The receipt numbers of an agent on a day: they count from 1 without gap."""

    agent_id: int
    first: str
    last: str
    count: int

    @classmethod
    def of(cls, day: date, agent_id: int, last: int) -> Self:
        """Return the numbers from the first to the last one."""
        first, last_text = (receipt_number(day, agent_id, number) for number in (1, last))
        return cls(agent_id=agent_id, first=first, last=last_text, count=last)


class TaxTakingView(View):
    """A tax in the money of a day or hour, without the returned part. Gross contains Tax.

    The row without Code, Name and Rate is the money that carries no tax.
    """

    day: str
    hour: int | None
    currency_id: str
    code: str | None
    name: str | None
    rate: Decimal | None
    gross: Decimal
    tax: Decimal


class LateView(View):
    """The late sales that were recorded in the period: of one agent, in one currency."""

    agent_id: int
    agent_name: str | None
    currency_id: str
    payments: int
    amount: Decimal


class TakingsAnswer(Answer):
    """The takings of a period: one row for each combination with transactions, one for each tax, and late sales."""

    takings: list[TakingView]
    taxes: list[TaxTakingView]
    late: list[LateView]
    receipt_numbers: list[ReceiptNumbersView] | None

    @classmethod
    def of(cls, found: Takings, names: Mapping[int, str], day: date | None, last_numbers: Mapping[int, int]) -> Self:
        """Return the answer with its rows. `names` and `last_numbers`, which are of `day`, are by agent."""
        return cls(
            receipt_numbers=[ReceiptNumbersView.of(day, *one) for one in last_numbers.items()] if day else None,
            takings=[
                TakingView.carried(
                    row,
                    day=row.day.isoformat(),
                    agent_name=names.get(row.agent_id),
                    acquirer_code=row.acquirer,
                    currency_id=row.currency,
                )
                for row in found.rows
            ],
            late=[
                LateView.carried(one, agent_name=names.get(one.agent_id), currency_id=one.currency)
                for one in found.late
            ],
            taxes=[
                TaxTakingView.carried(one, day=one.day.isoformat(), currency_id=one.currency) for one in found.taxes
            ],
        )
