"""What a caller sends to take a payment, and the answer to it."""

import json
from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from chalicelib import exact_json
from chalicelib.domain import emv
from chalicelib.domain.card import CardInput
from chalicelib.domain.secret import Secret
from chalicelib.domain.transaction import NOT_SUPPORTED, InputType, Transaction
from chalicelib.errors import Check
from chalicelib.schemas.base import Answer, Exact, Identifier, LongText, Request, Text, problem
from chalicelib.schemas.files import Files
from chalicelib.schemas.receipts import Receipt
from chalicelib.schemas.request_context import Context, Location
from chalicelib.schemas.transactions import EmvView, TransactionView, outcome_of

GUID = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
MAX_ITEMS = 100  # of any list in a payment
MAX_EXT_TRAN_DATA = 8 * 1024
MAX_DETAILS = 64 * 1024
DETAILS_TOO_LONG = "The parts of the request that are kept exceed 64 KB."


def _is_json(text: str) -> str:
    if len(text.encode()) > MAX_EXT_TRAN_DATA:
        raise problem(Check.TOO_LONG, "At most 8 KB are kept.")
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise problem(Check.FORMAT, "The text is not valid JSON.") from None
    return text


def _input_type(value: int) -> int:
    if value not in {*InputType, *NOT_SUPPORTED}:
        raise problem(Check.NOT_IN_DICTIONARY, "InputType is 1 to 5 or 7 to 10.")
    return value


def _quantity(value: Decimal) -> Decimal:
    if value <= 0:
        raise problem(Check.OUT_OF_RANGE, "The quantity is above zero.")
    return value


InputTypeField = Annotated[int, AfterValidator(_input_type)]
Bounded = Annotated[Exact, Field(ge=0, lt=10**15, max_digits=20)]


class Purchase(Request):
    """One line of what was bought."""

    title: Text
    price: Bounded
    quantity: Annotated[Bounded, AfterValidator(_quantity)]
    tax_code: Annotated[list[Text], Field(max_length=MAX_ITEMS)] | None = None
    tags: Annotated[list[Any], Field(max_length=MAX_ITEMS)] | None = None  # fiscal tags: kept as they are


class AuxData(Request):
    """What was bought."""

    purchases: Annotated[list[Purchase], Field(max_length=MAX_ITEMS, default_factory=list)]


class AuxDataInput(Request):
    """The wrapper the interface puts around AuxData."""

    aux_data: AuxData = AuxData()


class CustomField(Request):
    """One field of a product's form."""

    field_desc_id: Identifier | None = None
    field_code: Text | None = None
    text_select: Text | None = None


class ProductCustomFields(Request):
    """The fields of one product."""

    product_desc_id: Identifier | None = None
    product_code: Text | None = None
    fields: Annotated[list[CustomField], Field(max_length=MAX_ITEMS)] | None = None


class CPFData(Request):
    """The products' form fields of a payment."""

    products_custom_fields: Annotated[list[ProductCustomFields], Field(max_length=MAX_ITEMS)] | None = None


class OfflineTran(Request):
    """A payment taken while the till had no connection."""

    offline_mode: bool | None = None
    invoice: Text | None = None
    paid: Text | None = None
    offline_location: Location | None = None


class BasicTran(Request):
    """The payment itself."""

    SPELLINGS: ClassVar[Mapping[str, str]] = {"ExtTranData": "ExtTransData", "CurrencyId": "CurrencyID"}

    input_type: InputTypeField
    amount: Exact
    currency_id: Annotated[str, Field(pattern="^[A-Z]{3}$")] | None = None
    service_id: Text | None = None
    description: LongText | None = None
    ext_id: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    amount_cash_got: Bounded | None = None
    client_date_time: Text | None = None
    ext_trans_data: Annotated[str, AfterValidator(_is_json)] | None = None
    id: Annotated[str, Field(pattern=GUID)] | None = None
    aux_data_input: AuxDataInput = AuxDataInput()
    cpf_data: CPFData | None = None
    offline_tran: OfflineTran = OfflineTran()

    @property
    def purchases(self) -> list[Purchase]:
        """The lines of the purchase, none when nothing was listed."""
        return self.aux_data_input.aux_data.purchases


class AcqTran(Request):
    """What concerns the acquirer."""

    acquirer_code: Text | None = None
    single_step_auth_mode: bool | None = None
    external_terminal_id: Text | None = None
    allow_swipe_over_chip: bool | None = None
    force_signature_requirement: bool | None = None
    additional_acquiring_fields: LongText | None = None


class TaxesModel(Request):
    """Taxes of the whole payment."""

    taxes: Annotated[list[Text], Field(max_length=MAX_ITEMS)] | None = None
    code: Text | None = None


Unprintable = Annotated[SecretStr, Field(strict=False, max_length=4096)]


CARD_PATHS: Mapping[str, str] = {
    "card.pan": "Card.CardDataInput.PAN",
    "card.exp": "Card.CardDataInput.EXP",
    "card.cvv2": "Card.CardDataInput.CVV2",
    "card.reader_data": "Card.CardDataInput.ReaderData",
}


class CardDataInput(Request):
    """A card, in memory only: none of it can be printed, and none of it is kept."""

    exp: Unprintable | None = None
    cvv2: Unprintable | None = Field(None, alias="CVV2")
    pan: Unprintable | None = None
    reader_type: Text | None = None
    reader_data: Unprintable | None = None

    def sent(self) -> CardInput:
        """The same in the domain's terms."""
        texts = {"pan": self.pan, "exp": self.exp, "cvv2": self.cvv2, "reader_data": self.reader_data}
        return CardInput(**{name: Secret(text.get_secret_value()) for name, text in texts.items() if text is not None})


class Card(Request):
    """The card of a payment: its data, or the ID of a linked one."""

    SPELLINGS: ClassVar[Mapping[str, str]] = {"LinkedCardID": "LinkedCardId"}

    card_input_mode: Annotated[int, Field(ge=1, le=2)] | None = None
    card_data_input: CardDataInput | None = None
    linked_card_id: Identifier | None = Field(None, alias="LinkedCardId")


class KeptRequest(Context):
    """A request of which a record is made: what has no field of its own there is kept beside it."""

    @cached_property
    def details(self) -> str:
        """All of it but the card and the files, as JSON text."""
        return exact_json.text(self.model_dump(by_alias=True, exclude_unset=True, exclude={"card", "files"}))

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if len(self.details.encode()) > MAX_DETAILS:
            raise problem(Check.TOO_LONG, DETAILS_TOO_LONG)
        return self


class SubmitPayment(KeptRequest):
    """The body of payment/submit."""

    PATHS: ClassVar[Mapping[str, str]] = {
        "amount": "BasicTran.Amount",
        "amount_cash_got": "BasicTran.AmountCashGot",
        "currency": "BasicTran.CurrencyID",
        "offline": "BasicTran.OfflineTran.OfflineMode",
        "offline_paid": "BasicTran.OfflineTran.Paid",
        "acquirer": "AcqTran.AcquirerCode",
        "card_input_mode": "Card.CardInputMode",
        "linked_card_id": "Card.LinkedCardId",
        **CARD_PATHS,
    }

    basic_tran: BasicTran
    acq_tran: AcqTran = AcqTran()
    taxes_model: TaxesModel | None = None
    receipt: Receipt = Receipt()
    card: Card | None = None
    files: Files = Field(default_factory=list)
    terminal_group_id: Identifier | None = None
    terminal_group_code: Text | None = None
    skip_fiscalization: bool | None = None
    fiscal_route_profile_code: Text | None = None
    client_product_code: Text | None = None
    server_build_number: Text | None = None
    user_agent: Text | None = None


class PaymentAnswer(Answer):
    """What payment/submit answers."""

    transaction_id: str | None = None
    emv_online_processing_result: str | None = Field(None, alias="EMVOnlineProcessingResult")
    additional_acquiring_fields: str | None = None
    additional_acquiring_fields_title: str | None = None
    terminal_name: str | None = None
    emv_data: EmvView | None = None
    require_signature: bool = False
    transaction: TransactionView | None = None


def payment_answer(transaction: Transaction, view: TransactionView, *, replayed: bool) -> PaymentAnswer:
    """The answer to a payment."""
    answered_online = transaction.emv is not None and transaction.result_code is not None
    result = emv.online_result(transaction.result_code or 0) if answered_online else None
    return PaymentAnswer(emv_online_processing_result=result, **told(transaction, view, replayed=replayed))


def told(transaction: Transaction, view: TransactionView, *, replayed: bool) -> dict[str, Any]:
    """What the answers to payments and reversals have in common.

    `ErrorCode` tells a decline and an outcome that is not known yet.
    """
    code, message = outcome_of(transaction)
    return {
        "error_code": code,
        "error_message": message,
        "headers": {"Idempotent-Replayed": "true"} if replayed else {},
        "transaction_id": transaction.original_id or transaction.id,
        "terminal_name": transaction.terminal_name,
        "emv_data": view.emv_data,
        "require_signature": transaction.signature_required,
        "transaction": view,
    }
