"""The requests to report drawers, and their answers."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, ClassVar, Self

from pydantic import Field

from chalicelib.domain.business_days import text_of, zone_of
from chalicelib.domain.drawer import Drawer, Entry
from chalicelib.domain.money import MAX_MINOR
from chalicelib.errors import ErrorCode
from chalicelib.schemas.base import Answer, Exact, Identifier, Text, View
from chalicelib.schemas.history import Day
from chalicelib.schemas.request_context import Context

DrawerAmount = Annotated[Exact, Field(ge=0, le=MAX_MINOR)]


class ReportDrawer(Context):
    """The body of report/drawer. With Float or Counted it stores them, else it reads."""

    ZEROS: ClassVar[frozenset[str]] = frozenset({"AgentID"})
    JUDGED: ClassVar[tuple[str, ...]] = ("agent_id", "account_id")

    day: Day | None = None
    agent_id: Identifier | None = None
    account_id: Identifier | None = None
    float_amount: DrawerAmount | None = Field(None, alias="Float")
    counted: DrawerAmount | None = None
    note: Text | None = None

    @property
    def is_reading(self) -> bool:
        """Return whether it stores nothing: a note needs a float or a count."""
        return self.float_amount is None and self.counted is None

    @property
    def entered(self) -> Sequence[str]:
        """Return the names of the values that it enters."""
        names = {"float": self.float_amount, "counted": self.counted, "note": self.note}
        return [name for name, value in names.items() if value is not None]

    def to_domain(self) -> Entry:
        """Return the amounts and the note."""
        return Entry(self.float_amount, self.counted, self.note)


class ListDrawers(Context):
    """The body of report/drawer/list."""

    REFERENCES: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.AGENT_NOT_FOUND: "AccountID"}
    JUDGED: ClassVar[tuple[str, ...]] = ("account_id",)

    day: Day | None = None
    account_id: Identifier | None = None


class DrawerView(View):
    """An agent's drawer on a day."""

    day: str
    agent_id: int
    agent_name: str
    currency_id: str | None
    float_amount: Decimal | None = Field(alias="Float")
    cash: Decimal
    returned_by_others: Decimal
    expected: Decimal
    counted: Decimal | None
    difference: Decimal | None
    note: str | None
    counted_at: str | None
    counted_by: int | None

    @classmethod
    def of(cls, drawer: Drawer, gmt: int | None, merchant_gmt: int) -> Self:
        """Return the view of a drawer, with the time in the zone of the request's `gmt`."""
        latest, decimal = drawer.latest, drawer.decimal
        counted_at = latest and latest.counted_at
        return cls(
            day=drawer.day.isoformat(),
            agent_id=drawer.agent_id,
            agent_name=drawer.agent_name,
            currency_id=drawer.currency.code if drawer.currency else None,
            float_amount=decimal(latest.float_minor) if latest and latest.float_minor is not None else None,
            cash=decimal(drawer.cash_minor),
            returned_by_others=decimal(drawer.by_others_minor),
            expected=decimal(drawer.expected_minor),
            counted=decimal(latest.counted_minor) if latest and latest.counted_minor is not None else None,
            difference=None if drawer.difference_minor is None else decimal(drawer.difference_minor),
            note=latest and latest.note,
            counted_at=counted_at and text_of(counted_at, zone_of(gmt, merchant_gmt)),
            counted_by=latest and latest.counted_by,
        )


class DrawerAnswer(Answer):
    """The answer with a drawer."""

    drawer: DrawerView


class DrawersAnswer(Answer):
    """The answer with the drawers of a day, by agent."""

    drawers: list[DrawerView]
