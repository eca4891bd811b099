"""The request to have the fields of a product filled in, and its answer."""

from typing import Annotated, Self

from pydantic import Field

from chalicelib.domain.partner import PartnerRequest, PreparedField
from chalicelib.schemas.base import Name, Request, Text, View
from chalicelib.schemas.payment_answer import PaymentFields
from chalicelib.schemas.purchases import MAX_ITEMS
from chalicelib.schemas.request_context import Context


class PrepareField(Request):
    """A field whose value the till knows."""

    name: Name
    value: Text


class PreparePayment(Context):
    """The body of payment/prepare."""

    prepare_fields: Annotated[list[PrepareField], Field(max_length=MAX_ITEMS)]
    product_desc_code: Name
    client_product_code: Text | None = None

    def to_domain(self) -> PartnerRequest:
        """Return the request to the product's partner."""
        fields = tuple((field.name, field.value) for field in self.prepare_fields)
        return PartnerRequest(self.product_desc_code, self.client_product_code, fields)


class PreparedFieldView(View):
    """A field that the partner filled in; code and value are text, as in the specification's sample."""

    code: str
    value: str


class PrepareAnswer(PaymentFields):
    """The answer to payment/prepare: the filled-in fields, and the fields of a payment's answer, all null."""

    require_signature: bool | None = None  # type: ignore[assignment]  # unknown: there is no payment yet
    prepared_fields: list[PreparedFieldView]

    @classmethod
    def of(cls, fields: tuple[PreparedField, ...]) -> Self:
        """Return the answer with the fields that the partner filled in."""
        return cls(prepared_fields=[PreparedFieldView(code=field.code, value=field.value) for field in fields])
