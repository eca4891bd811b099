"""The requests to act on drawers and to report them, and their answers."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field

from chalicelib.domain import drawer as domain
from chalicelib.domain.business_days import text_of
from chalicelib.domain.drawer import AMOUNTS, CLOSE, Drawer, Entry, Movement, Shown
from chalicelib.domain.money import MAX_MINOR, from_minor
from chalicelib.domain.printed_text import one_line
from chalicelib.errors import Check, ErrorCode
from chalicelib.schemas.base import Answer, Exact, Identifier, Rule, RuledRequest, Text, View, contradiction
from chalicelib.schemas.history import GUID, PeriodModel, Sought
from chalicelib.schemas.request_context import Context

FromZero = Annotated[Exact, Field(ge=0, le=MAX_MINOR)]
AboveZero = Annotated[Exact, Field(gt=0, le=MAX_MINOR)]
Note = Annotated[Text, AfterValidator(lambda note: one_line(note).strip() or None)]
VALUES = ("float_amount", "amount", "counted", "note")  # each is stored by an action
NEEDED = [  # each action with a field that it needs
    *((action, "float_amount" if name == "float" else name) for action, name in AMOUNTS.items()),
    *((domain.NOTE, name) for name in ("drawer_id", "note")),
]


def _needs(action: str, name: str) -> Rule:
    """Return the rule that a request with this action has the field."""
    return contradiction(
        ("action", name),
        name.removesuffix("_amount"),
        "It is required for this Action.",
        lambda request: request.action == action and getattr(request, name) is None,
        check=Check.REQUIRED,
    )


def _needs_action(name: str) -> Rule:
    """Return the rule that a request with this value has an action."""
    return contradiction(
        ("action", name),
        "action",
        "Without an Action nothing is stored.",
        lambda request: request.action is None and getattr(request, name) is not None,
        check=Check.REQUIRED,
    )


class ReportDrawer(Context, RuledRequest):
    """The body of report/drawer. Without an Action it reads."""

    ZEROS: ClassVar[frozenset[str]] = frozenset({"AgentID"})
    JUDGED: ClassVar[tuple[str, ...]] = ("agent_id", "account_id", "drawer_id")
    RULES: ClassVar[Sequence[Rule]] = (
        *(_needs(action, name) for action, name in NEEDED),
        *map(_needs_action, VALUES),
    )

    action: Literal["open", "in", "out", "close", "note"] | None = None
    agent_id: Identifier | None = None
    account_id: Identifier | None = None
    drawer_id: Annotated[Sought, GUID] | None = None
    float_amount: FromZero | None = Field(None, alias="Float")
    amount: AboveZero | None = None
    counted: FromZero | None = None
    note: Note | None = None

    def to_domain(self) -> Entry:
        """Return the action with its amount and note."""
        amounts = {"float": self.float_amount, "amount": self.amount, "counted": self.counted}
        return Entry(self.action or "", amounts.get(AMOUNTS.get(self.action or "", "")), self.note)


class ListDrawers(Context):
    """The body of report/drawer/list."""

    PATHS: ClassVar[Mapping[str, str]] = {"period.first": "Period.From"}
    REFERENCES: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.AGENT_NOT_FOUND: "AccountID"}
    JUDGED: ClassVar[tuple[str, ...]] = ("account_id",)

    period: PeriodModel = PeriodModel()
    account_id: Identifier | None = None


class MovementView(View):
    """An act on a drawer."""

    at: str
    by: int
    kind: str
    amount: Decimal | None
    note: str | None

    @classmethod
    def of(cls, one: Movement, drawer: Drawer, gmt: int) -> Self:
        """Return the view of a movement."""
        amount = None if one.amount_minor is None else from_minor(one.amount_minor, drawer.currency)
        return cls(at=text_of(one.at, gmt), by=one.by, kind=one.kind, amount=amount, note=one.note)


class DrawerView(View):
    """An agent's drawer from its float to its count, or cash that was in none."""

    drawer_id: str | None
    agent_id: int
    agent_name: str | None
    currency_id: str
    opened_at: str | None
    opened_by: int | None
    last_counted: Decimal | None
    float_amount: Decimal | None = Field(alias="Float")
    cash: Decimal | None
    cash_taken: Decimal | None
    cash_given_back: Decimal | None
    paid_in: Decimal | None
    paid_out: Decimal | None
    expected: Decimal | None
    counted: Decimal | None
    difference: Decimal | None
    closed_at: str | None
    closed_by: int | None
    movements: list[MovementView] | None

    @classmethod
    def of(cls, row: Shown, gmt: int) -> Self:
        """Return the view of a drawer, with times in a zone."""
        drawer = row.drawer
        count = drawer.close if drawer else None

        def sum_of(kind: str) -> Decimal | None:
            return row.decimal(drawer.sum_of(kind)) if drawer else None

        return cls(
            drawer_id=drawer and drawer.id,
            agent_id=row.agent_id,
            agent_name=row.agent_name,
            currency_id=row.currency,
            opened_at=drawer and text_of(drawer.opened_at, gmt),
            opened_by=drawer and drawer.movements[0].by,
            last_counted=row.decimal(drawer.last_counted_minor) if drawer else None,
            float_amount=sum_of(domain.OPEN),
            cash=None if row.is_blind else row.decimal(row.cash_minor),
            cash_taken=None if row.is_blind else row.decimal(row.cash_minor + row.given_back_minor),
            cash_given_back=None if row.is_blind else row.decimal(row.given_back_minor),
            paid_in=sum_of(domain.PAID_IN),
            paid_out=sum_of(domain.PAID_OUT),
            expected=None if row.is_blind else row.decimal(row.expected_minor),
            counted=sum_of(CLOSE) if count else None,
            difference=row.decimal(row.difference_minor),
            closed_at=text_of(count.at, gmt) if count else None,
            closed_by=count and count.by,
            movements=_movements(row, gmt),
        )


def _movements(row: Shown, gmt: int) -> list[MovementView] | None:
    if not row.has_movements:
        return None
    return [MovementView.of(one, row.drawer, gmt) for one in row.drawer.movements] if row.drawer else []


class DrawerAnswer(Answer):
    """The answer with a drawer; null when the agent never had one."""

    drawer: DrawerView | None

    @classmethod
    def of(cls, view: DrawerView | None, *, replayed: bool) -> Self:
        """Return the answer. `replayed`: an earlier request with the same key was carried out."""
        return cls(drawer=view, headers={"Idempotent-Replayed": "true"} if replayed else {})


class DrawersAnswer(Answer):
    """The answer with the drawers of a period, the newest first, and after them cash that was in none, by agent."""

    drawers: list[DrawerView]
    earlier: list[DrawerView]
