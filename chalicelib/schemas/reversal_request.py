"""What a caller sends to give money back, and the answer to it."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field

from chalicelib.domain.reversal import ReverseMode
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import Check
from chalicelib.schemas.base import Exact, Request, Text, problem
from chalicelib.schemas.payment_request import GUID, AcqTran, AuxDataInput, Card, KeptRequest, PaymentAnswer, told
from chalicelib.schemas.receipts import Receipt
from chalicelib.schemas.transactions import TransactionView

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


class ReversePayment(KeptRequest):
    """The body of payment/reverse and payment/reversecnp."""

    PATHS: ClassVar[Mapping[str, str]] = {
        "amount": "BasicReverseTran.Amount",
        "currency": "BasicReverseTran.CurrencyID",
        "input_type": "BasicReverseTran.InputType",
    }

    basic_reverse_tran: BasicReverseTran
    acq_tran: AcqTran = AcqTran()
    receipt: Receipt = Receipt()
    card: Card | None = None


class ReversalAnswer(PaymentAnswer):
    """What a reversal answers; `Transaction` is the reversal itself, TransactionID the payment."""

    transaction_reverse_id: str | None = None


def reversal_answer(reversal: Transaction, view: TransactionView, *, replayed: bool) -> ReversalAnswer:
    """The answer to a reversal."""
    return ReversalAnswer(transaction_reverse_id=reversal.id, **told(reversal, view, replayed=replayed))
