"""Requests with one fault each, and the finding that a client must get for it (contract, sections 2, 3, 7 and 8)."""

from typing import Any, NamedTuple


class Edge(NamedTuple):
    """One fault in a request that is right otherwise: a field, its content, and the Code of the finding about it.

    `error` is the ErrorCode; a finding has the path of the field, unless `about` says another.
    """

    field: str
    content: Any
    code: int
    is_reversal: bool = False
    error: int = 202
    about: str = ""

    @property
    def property(self) -> str:
        """The path that the finding names."""
        return self.about or self.field


REQUIRED, TYPE, FORMAT, TOO_LONG, RANGE, UNKNOWN, DECIMALS, CHECK_DIGIT, EXPIRED, TOGETHER, CAPITALS = (
    *(1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13),
)
EDGES = (
    Edge("BasicTran.Amount", "10.001", DECIMALS),
    Edge("BasicTran.Amount", 10.005, DECIMALS),
    Edge("BasicTran.Amount", "0", RANGE),
    Edge("BasicTran.Amount", "0.00", RANGE),
    Edge("BasicTran.Amount", -1, RANGE),
    Edge("BasicTran.Amount", "10000000000.01", RANGE),
    Edge("BasicTran.Amount", None, REQUIRED),
    Edge("BasicTran.Amount", [], TYPE),
    Edge("BasicTran.amount", "10.00", CAPITALS),
    Edge("BasicTran.CurrencyID", "XYZ", TOGETHER),
    Edge("BasicTran.InputType", "10", TYPE),
    Edge("BasicTran.InputType", 6, UNKNOWN),
    Edge("BasicTran.AmountCashGot", "9.99", TOGETHER),
    Edge("BasicTran.ID", "not a GUID", FORMAT),
    Edge("BasicTran.ExtID", "x" * 129, TOO_LONG),
    Edge("Receipt", {"Email": "nobody"}, FORMAT, about="Receipt.Email"),
    Edge(
        "Card",
        {"CardInputMode": 1, "CardDataInput": {"PAN": "4111111111111112", "EXP": "1230"}},
        CHECK_DIGIT,
        about="Card.CardDataInput.PAN",
    ),
    Edge(
        "Card",
        {"CardInputMode": 1, "CardDataInput": {"PAN": "4111111111111111", "EXP": "0226"}},
        EXPIRED,
        about="Card.CardDataInput.EXP",
    ),
    Edge("BasicReverseTran.Amount", "1.001", DECIMALS, is_reversal=True),
    Edge("BasicReverseTran.Amount", "0", RANGE, is_reversal=True),
    Edge("BasicReverseTran.Amount", "-1.00", RANGE, is_reversal=True),
    Edge("BasicReverseTran.ReverseMode", 7, UNKNOWN, is_reversal=True),
    Edge("BasicReverseTran.PartialReverse", bool(1), REQUIRED, is_reversal=True, about="BasicReverseTran.Amount"),
    Edge("BasicReverseTran.CurrencyID", "USD", TOGETHER, is_reversal=True),
)


def with_edge(body: dict[str, Any], edge: Edge) -> dict[str, Any]:
    """Return a request with the fault."""
    group, _, name = edge.field.partition(".")
    if not name:
        return {**body, group: edge.content}
    return {**body, group: {**body[group], name: edge.content}}
