"""What a caller sends to give money back, and the answer to it."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from chalicelib import exact
from chalicelib.domain.reversal import ReverseMode
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import Check
from chalicelib.schemas.common import Answer, Exact, Request, Text, problem
from chalicelib.schemas.context import Context
from chalicelib.schemas.payments import (
    DETAILS_TOO_LONG,
    GUID,
    MAX_DETAILS,
    AcqTran,
    AuxDataInput,
    Card,
)
from chalicelib.schemas.receipts import Receipt
from chalicelib.schemas.transactions import EmvView, TransactionView, outcome_of

ALIASES = {
    "Cancel": ReverseMode.CANCEL,
    "Return": ReverseMode.RETURN,
    "CancelCNP": ReverseMode.CANCEL_CNP,
    "ReturnCNP": ReverseMode.RETURN_CNP,
}


def _alias(value: object) -> object:
    return int(ALIASES[value]) if isinstance(value, str) and value in ALIASES else value


def _mode(value: int) -> int:
    if value not in set(ReverseMode):
        raise problem(Check.NOT_IN_DICTIONARY, "ReverseMode is 1, 2, 3 or 5.")
    return value


class BasicReverseTran(Request):
    """The reversal itself."""

    SPELLINGS: ClassVar[Mapping[str, str]] = {"CurrencyId": "CurrencyID"}

    transaction_id: Annotated[str, Field(max_length=64)]
    reverse_mode: Annotated[int, BeforeValidator(_alias), AfterValidator(_mode)]
    id: Annotated[str, Field(pattern=GUID)] | None = None
    input_type: int | None = None
    currency_id: Annotated[str, Field(pattern="^[A-Z]{3}$")] | None = None
    service_id: Text | None = None
    amount: Exact | None = None
    partial_reverse: bool | None = None
    client_date_time: Text | None = None
    aux_data_input: AuxDataInput | None = None


class ReversePayment(Context):
    """The body of payment/reverse and payment/reversecnp."""

    basic_reverse_tran: BasicReverseTran
    acq_tran: AcqTran = AcqTran()
    receipt: Receipt = Receipt()
    card: Card | None = None

    @model_validator(mode="after")
    def _bounded(self) -> "ReversePayment":
        if len(self.details().encode()) > MAX_DETAILS:
            raise problem(Check.TOO_LONG, DETAILS_TOO_LONG)
        return self

    def details(self) -> str:
        """What is kept of the request beside the record: all of it but the card, as JSON text."""
        kept: dict[str, Any] = self.model_dump(by_alias=True, exclude_unset=True, exclude={"card"})
        return exact.text(kept)


class ReversalAnswer(Answer):
    """What a reversal answers; `Transaction` is the reversal itself."""

    transaction_reverse_id: str | None = None
    transaction_id: str | None = None
    emv_online_processing_result: str | None = Field(None, alias="EMVOnlineProcessingResult")
    additional_acquiring_fields: str | None = None
    additional_acquiring_fields_title: str | None = None
    terminal_name: str | None = None
    emv_data: EmvView | None = None
    require_signature: bool = False
    transaction: TransactionView | None = None


def reversal_answer(reversal: Transaction, view: TransactionView, *, replayed: bool) -> ReversalAnswer:
    """The answer to a reversal; `ErrorCode` tells a decline and an outcome that is not known yet."""
    code, message = outcome_of(reversal)
    return ReversalAnswer(
        error_code=code,
        error_message=message,
        headers={"Idempotent-Replayed": "true"} if replayed else {},
        transaction_reverse_id=reversal.id,
        transaction_id=reversal.original_id,
        terminal_name=reversal.terminal_name,
        emv_data=view.emv_data,
        transaction=view,
    )
