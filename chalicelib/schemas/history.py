"""The requests to list and export transactions and to report takings, and the answers to export and report."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field

from chalicelib.domain.guid import is_guid
from chalicelib.domain.history import HistoryFilter, SearchText, folded
from chalicelib.domain.totals import Taking
from chalicelib.domain.transaction import receipt_number
from chalicelib.errors import Check
from chalicelib.schemas.base import Answer, Identifier, Request, Text, View, problem
from chalicelib.schemas.field_types import ExtID
from chalicelib.schemas.payments import InputTypeField
from chalicelib.schemas.request_context import Context

OLDEST_FIRST = "Date asc"
DAY_LENGTH = len("2026-01-31")


def _day(value: object) -> object:
    if not isinstance(value, str):
        raise problem(Check.TYPE, "A day such as 2026-01-31 is expected.")
    try:
        day = datetime.strptime(value, "%Y-%m-%d").date()  # noqa: DTZ007  a day has no zone
    except ValueError:
        raise problem(Check.FORMAT, "A day such as 2026-01-31 is expected.") from None
    if len(value) != DAY_LENGTH or not value.isascii():
        raise problem(Check.FORMAT, "A day such as 2026-01-31 is expected.")
    return day


def _in_any_capitals(value: object) -> object:
    return value.strip().capitalize() if isinstance(value, str) else value


def _guid(text: str | None) -> str | None:
    if text is not None and not is_guid(text):
        raise problem(Check.FORMAT, "A GUID is expected.")
    return text


def _blank_is_absent(text: str) -> str | None:
    return text.strip() or None


Day = Annotated[date, BeforeValidator(_day)]
Sought = Annotated[Text, AfterValidator(_blank_is_absent)]


class PeriodModel(Request):
    """The merchant's days to list, including both ends."""

    first: Day | None = Field(None, alias="From")
    last: Day | None = Field(None, alias="To")


class ListBasicModel(Request):
    """The filter of a list. Fiscal and OfflineRequestModel are accepted but have no effect.

    The service has no fiscalization, and a list shows offline payments with the others.
    """

    search: Sought | None = None
    account_id: Identifier | None = None
    sort: Annotated[Literal["Date asc", "Date desc", "Date"], BeforeValidator(_in_any_capitals)] = "Date desc"
    id: Annotated[Sought, AfterValidator(_guid)] | None = None
    invoice: Sought | None = None
    invoice_original: Sought | None = None
    rrn: Sought | None = None
    input_type: InputTypeField | None = None
    acquirer_code: Sought | None = None
    ext_id: ExtID | None = None
    page: Identifier = 0
    fiscal: Mapping[str, Any] | None = None
    offline_request_model: Mapping[str, Any] | None = None


class ListHistory(Context):
    """The body of payment/listHistoryEx and payment/listByDaysEx."""

    PATHS: ClassVar[Mapping[str, str]] = {
        "period.first": "Period.From",
        "period.last": "Period.To",
        "account_id": "ListBasicModel.AccountID",
    }

    period: PeriodModel = PeriodModel()
    list_basic_model: ListBasicModel = ListBasicModel()
    client_product_code: Text | None = None

    def to_domain(self, agent_id: int | None) -> HistoryFilter:
        """Return the filter for the agent that the caller's role allows, or None for all agents."""
        model = self.list_basic_model
        return HistoryFilter(
            agent_id=agent_id,
            input_type=model.input_type,
            acquirer=model.acquirer_code,
            id=model.id and model.id.upper(),
            ext_id=model.ext_id or None,
            search=SearchText(model.search) if model.search else None,
            invoice=_folded(model.invoice),
            original_invoice=_folded(model.invoice_original),
            rrn=_folded(model.rrn),
            client_product_code=self.client_product_code,
        )


def _folded(text: str | None) -> str | None:
    return text and folded(text)


BY_HOUR = "hour"


class ReportTakings(Context):
    """The body of report/takings."""

    PATHS: ClassVar[Mapping[str, str]] = {"period.first": "Period.From"}

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


class TakingsAnswer(Answer):
    """The takings of a period: one row for each combination with transactions."""

    takings: list[TakingView]
    receipt_numbers: list[ReceiptNumbersView] | None

    @classmethod
    def of(
        cls, rows: Sequence[Taking], names: Mapping[int, str], day: date | None, last_numbers: Mapping[int, int]
    ) -> Self:
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
                for row in rows
            ],
        )
