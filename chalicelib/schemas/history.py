"""The request to list transactions: its period, and its filter."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from chalicelib.domain.guid import is_guid
from chalicelib.domain.history_entry import folded
from chalicelib.domain.history_filter import HistoryFilter, SearchText
from chalicelib.errors import Check, ErrorCode
from chalicelib.schemas.base import Identifier, Request, Rule, RuledRequest, Text, checked, contradiction, problem
from chalicelib.schemas.field_types import ExtID, one_of
from chalicelib.schemas.payments import InputTypeField
from chalicelib.schemas.request_context import Context

OLDEST_FIRST = "Date asc"
PAYMENTS, REVERSALS = 1, 2  # Operation
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


Day = Annotated[date, BeforeValidator(_day)]
GUID = checked(lambda text: text is None or is_guid(text), Check.FORMAT, "A GUID is expected.")
Sought = Annotated[Text, AfterValidator(lambda text: text.strip() or None)]


class PeriodModel(RuledRequest):
    """The merchant's days to list, including both ends."""

    RULES: ClassVar[Sequence[Rule]] = (
        contradiction(
            ("first", "last"),
            "first",
            "The period ends before it begins.",
            lambda period: period.first and period.last and period.first > period.last,
        ),
    )

    PATHS: ClassVar[Mapping[str, str]] = {"first": "From"}

    first: Day | None = Field(None, alias="From")
    last: Day | None = Field(None, alias="To")


class ListBasicModel(Request):
    """The filter of a list. Fiscal and OfflineRequestModel are accepted but have no effect.

    The service has no fiscalization, and a list shows offline payments with the others.
    """

    search: Sought | None = None
    account_id: Identifier | None = None
    sort: Annotated[Literal["Date asc", "Date desc", "Date"], BeforeValidator(_in_any_capitals)] = "Date desc"
    id: Annotated[Sought, GUID] | None = None
    invoice: Sought | None = None
    invoice_original: Sought | None = None
    rrn: Sought | None = None
    input_type: InputTypeField | None = None
    acquirer_code: Sought | None = None
    ext_id: ExtID | None = None
    page: Identifier = 0
    operation: Annotated[int, one_of((PAYMENTS, REVERSALS))] | None = None
    late: bool | None = None
    fiscal: Mapping[str, Any] | None = None
    offline_request_model: Mapping[str, Any] | None = None


class ListHistory(Context):
    """The body of payment/listHistoryEx and payment/listByDaysEx."""

    PATHS: ClassVar[Mapping[str, str]] = {
        "period.first": "Period.From",
        "period.last": "Period.To",
        "account_id": "ListBasicModel.AccountID",
    }
    REFERENCES: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.AGENT_NOT_FOUND: "ListBasicModel.AccountID"}
    JUDGED: ClassVar[tuple[str, ...]] = ("list_basic_model.account_id",)

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
            is_reversal=None if model.operation is None else model.operation == REVERSALS,
            late=bool(model.late),
        )


def _folded(text: str | None) -> str | None:
    return text and folded(text)
