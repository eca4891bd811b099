"""The request to reverse a payment, and its answer."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, Field

from chalicelib.domain.card import CardInput
from chalicelib.domain.reversal import ReversalOrder
from chalicelib.domain.reversal_card import SentCard, sent_card
from chalicelib.domain.reversibility import ReverseMode, known_mode
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import Check, ErrorCode
from chalicelib.schemas.base import Exact, Identifier, LongText, Request, RuledRequest, Text, checked
from chalicelib.schemas.card import CARD_PATHS, Card
from chalicelib.schemas.payments import CURRENCY_FIELD, AcqTran, AuxDataInput, OwnId, PaymentFields, Receipt, fields_of
from chalicelib.schemas.request_context import Context
from chalicelib.schemas.transaction_view import TransactionView

ALIASES = {
    "Cancel": ReverseMode.CANCEL,
    "Return": ReverseMode.RETURN,
    "CancelCNP": ReverseMode.CANCEL_CNP,
    "ReturnCNP": ReverseMode.RETURN_CNP,
}


def _alias(value: object) -> object:
    return int(ALIASES[value]) if isinstance(value, str) and value in ALIASES else value


MODE = checked(set(ReverseMode).__contains__, Check.NOT_IN_DICTIONARY, "ReverseMode is 1, 2, 3 or 5.")


class BasicReverseTran(Request):
    """The reversal itself."""

    SPELLINGS: ClassVar[Mapping[str, str]] = {"CurrencyId": "CurrencyID"}

    transaction_id: Annotated[str, Field(max_length=64)]
    reverse_mode: Annotated[int, BeforeValidator(_alias), MODE]
    id: OwnId | None = None
    input_type: Identifier | None = None
    currency_id: Annotated[str, CURRENCY_FIELD] | None = None
    service_id: Text | None = None
    amount: Exact | None = None
    partial_reverse: bool | None = None
    client_date_time: Text | None = None
    description: LongText | None = None
    aux_data_input: AuxDataInput | None = None


def reversal_card(sent: Card) -> SentCard | None:
    """Return the card of a reversal; None if the till sent only placeholders."""
    data = sent.card_data_input.to_domain() if sent.card_data_input else CardInput()
    return sent_card(data, sent.card_input_mode, sent.linked_card_id)


class ReversePayment(Context, RuledRequest):
    """The body of payment/reverse and payment/reversecnp."""

    PATHS: ClassVar[Mapping[str, str]] = {
        "amount": "BasicReverseTran.Amount",
        "currency": "BasicReverseTran.CurrencyID",
        "description": "BasicReverseTran.Description",
        "input_type": "BasicReverseTran.InputType",
        "acquirer": "AcqTran.AcquirerCode",
        **CARD_PATHS,
    }
    REFERENCES: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.TRANSACTION_NOT_FOUND: "BasicReverseTran.TransactionID"}
    JUDGED: ClassVar[tuple[str, ...]] = ("basic_reverse_tran.transaction_id",)

    basic_reverse_tran: BasicReverseTran
    acq_tran: AcqTran = AcqTran()
    receipt: Receipt = Receipt()
    card: Card | None = None

    @property
    def own_id(self) -> str | None:
        """Return the reversal's ID that the caller chose, in upper case."""
        return self.basic_reverse_tran.id and self.basic_reverse_tran.id.upper()

    @property
    def original_id(self) -> str:
        """Return the ID of the payment to reverse, in upper case."""
        return self.basic_reverse_tran.transaction_id.upper()

    def to_domain(self, endpoint: str) -> ReversalOrder:
        """Return the reversal as a domain order, requested at this endpoint."""
        basic, acquirer, place = self.basic_reverse_tran, self.acq_tran, self.location
        return ReversalOrder(
            original_id=self.original_id,
            mode=known_mode(basic.reverse_mode or ReverseMode.RETURN),  # a part of a request may lack it
            amount=basic.amount,
            currency=basic.currency_id,
            input_type=basic.input_type,
            partial=basic.partial_reverse,
            client_date_time=basic.client_date_time,
            description=basic.description,
            gmt=self.gmt,
            receipt_email=self.receipt.email,
            receipt_phone=self.receipt.phone,
            receipt=self.receipt.to_domain(),
            language=self.lang,
            purchases=basic.aux_data_input.to_domain() if basic.aux_data_input else (),
            endpoint=endpoint,
            acquirer=acquirer.acquirer_code,
            card=reversal_card(self.card) if self.card else None,
            external_terminal_id=acquirer.external_terminal_id,
            additional_fields=acquirer.additional_acquiring_fields,
            force_signature=bool(acquirer.force_signature_requirement),
            latitude=place.latitude if place else None,
            longitude=place.longitude if place else None,
        )


class ReversalAnswer(PaymentFields):
    """The answer of a reversal; `Transaction` is the reversal itself, TransactionID the payment."""

    transaction_reverse_id: str | None = None

    @classmethod
    def of(cls, transaction: Transaction, view: TransactionView, *, replayed: bool) -> Self:
        """Return the answer to a reversal. `replayed`: it is the stored result of an earlier request."""
        return cls(transaction_reverse_id=transaction.id, **fields_of(transaction, view, replayed=replayed))
