"""What a caller sends to have a product's fields filled in, and the answer to it."""

from typing import Annotated

from pydantic import Field

from chalicelib.domain.partner import PreparedField
from chalicelib.schemas.base import Name, Request, Text, View
from chalicelib.schemas.payment_answer import PaymentAnswer
from chalicelib.schemas.purchases import MAX_ITEMS
from chalicelib.schemas.request_context import Context


class PrepareField(Request):
    """One field the till knows the value of."""

    name: Name
    value: Text


class PreparePayment(Context):
    """The body of payment/prepare."""

    prepare_fields: Annotated[list[PrepareField], Field(max_length=MAX_ITEMS)]
    product_desc_code: Name
    client_product_code: Text | None = None


class PreparedFieldView(View):
    """One field the partner filled in; both are text, as in the specification's sample."""

    code: str
    value: str


class PrepareAnswer(PaymentAnswer):
    """What payment/prepare answers: the fields, and those of a payment's answer, all null."""

    require_signature: None = None  # type: ignore[assignment]  # of no payment yet nobody knows
    prepared_fields: list[PreparedFieldView]


def prepare_answer(fields: tuple[PreparedField, ...]) -> PrepareAnswer:
    """The answer with what the partner filled in."""
    return PrepareAnswer(prepared_fields=[PreparedFieldView(code=field.code, value=field.value) for field in fields])
