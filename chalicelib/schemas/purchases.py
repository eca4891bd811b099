"""The purchases of a payment or reversal: the lines of what was bought."""

from typing import Annotated, Any

from pydantic import Field

from chalicelib.domain import purchase
from chalicelib.schemas.base import Exact, Request, Text

MAX_ITEMS = 100  # of any list in a payment


Bounded = Annotated[Exact, Field(ge=0, lt=10**15, max_digits=20)]


class Purchase(Request):
    """One line of what was bought."""

    title: Text
    price: Bounded
    quantity: Annotated[Exact, Field(gt=0, lt=10**15, max_digits=20)]
    tax_code: Annotated[list[Text], Field(max_length=MAX_ITEMS)] | None = None
    tags: Annotated[list[Any], Field(max_length=MAX_ITEMS)] | None = None  # fiscal tags: stored as they are


class AuxData(Request):
    """The purchases of a payment."""

    purchases: Annotated[list[Purchase], Field(max_length=MAX_ITEMS, default_factory=list)]


class AuxDataInput(Request):
    """The wrapper the interface puts around AuxData."""

    aux_data: AuxData = AuxData()

    def to_domain(self) -> tuple[purchase.Purchase, ...]:
        """Return the lines, none when nothing was listed."""
        return tuple(
            purchase.Purchase(line.title, line.price, line.quantity, tuple(filter(None, line.tax_code or ())))
            for line in self.aux_data.purchases
        )
