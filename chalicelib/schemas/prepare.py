"""The request to prepare a payment, and its answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from chalicelib.domain.partner import PartnerRequest, PreparedField
from chalicelib.errors import Check, ErrorCode, Finding
from chalicelib.schemas.base import Request, Rule, RuledRequest, Text, View
from chalicelib.schemas.names import Name
from chalicelib.schemas.payments import MAX_ITEMS, PaymentFields
from chalicelib.schemas.request_context import Context


class PrepareField(Request):
    """A field of the product. The partner fills in a Value that is absent."""

    name: Name
    value: Text | None = None


def _names_once(prepare: "PreparePayment", _: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding for a name that stands twice: the partner could not know which value counts."""
    names = [field and field.name for field in prepare.prepare_fields]
    for number, name in enumerate(names):
        if name is not None and name in names[:number]:
            yield Finding(f"prepare_fields[{number}].name", Check.TWICE, "The field is given twice.")


class PreparePayment(Context, RuledRequest):
    """The body of payment/prepare."""

    RULES: ClassVar[Sequence[Rule]] = (Rule(("prepare_fields*.name",), _names_once),)
    REFERENCES: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.PRODUCT_NOT_FOUND: "ProductDescCode"}
    JUDGED: ClassVar[tuple[str, ...]] = ("product_desc_code",)

    prepare_fields: Annotated[list[PrepareField], Field(max_length=MAX_ITEMS)] = Field(default_factory=list)
    product_desc_code: Annotated[str, Field(min_length=1, max_length=256)]
    client_product_code: Text | None = None

    def to_domain(self) -> PartnerRequest:
        """Return the request to the product's partner."""
        fields = tuple((field.name, field.value) for field in self.prepare_fields)
        return PartnerRequest(self.product_desc_code, self.client_product_code, fields)


class PreparedFieldView(View):
    """A field that the partner filled in. Code and value are texts, as in the specification's sample."""

    code: str
    value: str


class PrepareAnswer(PaymentFields):
    """The answer to payment/prepare: the filled-in fields, and a payment answer's fields, all null."""

    require_signature: bool | None = None  # type: ignore[assignment]  # unknown: there is no payment yet
    prepared_fields: list[PreparedFieldView]

    @classmethod
    def of(cls, fields: tuple[PreparedField, ...]) -> Self:
        """Return the answer with the fields that the partner filled in."""
        return cls(prepared_fields=[PreparedFieldView(code=field.code, value=field.value) for field in fields])
