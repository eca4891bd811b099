"""The Transaction object of the interface and the list it comes in."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from pydantic import Field

from chalicelib.domain.transaction import Phase, Transaction
from chalicelib.errors import ErrorCode
from chalicelib.schemas.base import Answer, View

DECLINED = 1000  # + the ISO 8583 response code: the ErrorCode of a decline
PAGE_SIZE = 100


def moment(at: datetime, gmt: int | None) -> str:
    """An instant on the wire: without a zone, three fraction digits, shifted by the request's GMT."""
    return (at + timedelta(hours=gmt or 0)).replace(tzinfo=None).isoformat(timespec="milliseconds")


class CardView(View):
    """What may be shown of a card; a cash payment carries only IIN."""

    iin: str
    bin: str | None = None
    exp: str | None = None
    pan_masked: str | None = None
    pan_ending: str | None = None
    bank_name: str | None = None
    bank_country_id: str | None = None


class EmvView(View):
    """The EMV tags a receipt prints."""

    aid: str | None = None
    apn: str | None = None
    tsi: str | None = None
    tvr: str | None = None


class FormatView(View):
    """How amounts of the currency are written; CurrencyE is its number of decimals."""

    currency_sign: str
    currency_sign_safe: str
    amount_format: str
    amount_format_without_currency: str
    currency_e: int


class FiscalView(View):
    """Fiscalization is outside the service: always nothing, no error."""

    fiscal_status: int = 0
    fiscal_error: int = 0
    fiscal_message: str | None = None


class ResultView(View):
    """The outcome: 0 approved, otherwise the ISO 8583 response code."""

    code: int | None
    message: str | None


class TransPosView(View):
    """The agent that made the operation."""

    id: int
    email: str
    name: str
    phone: str


class TransactionView(View):
    """The Transaction object, every field of the specification."""

    id: str
    date: str
    deadline: str
    description: str | None
    smart_description: str
    invoice: str
    reverse_invoice: str | None
    schedule_id: int | None = None
    merchant_tran_id: str
    acquirer_id: str
    acquirer_tran_id: str | None
    acquirer_approval_code: str | None
    approval_code: str | None
    status: str
    rrn: str | None
    terminal_name: str
    linked_card: dict[str, Any] | None
    client_product_code: str | None
    amount_orig: Decimal
    amount: Decimal
    amount_cash_got: Decimal | None
    fee_total: Decimal
    amount_netto: Decimal
    balance: Decimal | None = None
    amount_eff: Decimal
    amount_rvs: Decimal
    fee_total_eff: Decimal
    fee_total_rvs: Decimal
    count_rvs: int
    partial_reverse: bool
    latitude: Decimal | None
    longitude: Decimal | None
    has_photo: bool
    has_signature: bool
    signature_required: bool
    signature_required_effective: bool
    photo_url: str | None = None
    signature_url: str | None = None
    pin_mode: int | None = Field(alias="PINMode")
    currency_id: str
    currency_sign: str
    currency_sign_safe: str
    amount_format: str
    amount_format_without_currency: str
    format: FormatView
    pos_id: int
    client_id: int
    branch_id: int
    state_display: str
    line1: str
    line2: str
    display_mode: int
    operation: str
    operation_id: int
    state: int
    substate: int
    single_step_auth: bool
    input_type: int
    reverse_mode: int | None
    reverse_id: str | None
    card: CardView
    ext_tran_data: str | None
    ext_id: str | None
    cardholder_name: str | None
    receipt_email: str | None
    receipt_phone: str | None
    can_cancel: bool
    can_cancel_partial: bool
    can_return: bool
    can_return_partial: bool
    can_cancel_cnp: bool
    can_cancel_cnp_partial: bool = Field(alias="CanCancelCNPpartial")
    can_return_cnp: bool
    can_return_cnp_partial: bool = Field(alias="CanReturnCNPpartial")
    reverse_cp_input_types: list[int] = Field(alias="ReverseCPInputTypes")
    fiscal_info: FiscalView = FiscalView()
    is_not_finished: bool
    is_archive: bool = False
    emv_data: EmvView | None
    external_payment: None = None
    attachments: None = None
    offline_queue_id: None = Field(None, alias="OfflineQueueId")
    pan_tags: None = Field(None, alias="PANTags")
    can_server_fiscalize_for_cnp_reverse: bool = False
    can_fiscal_remote_correction: bool = False
    result: ResultView | None
    trans_pos: TransPosView


class Counters(View):
    """Paging information; AmountCvt is the sum of the amounts of everything the filter matches."""

    amount_cvt: Decimal
    pagesize: int = PAGE_SIZE
    item_count_page: int
    item_count_ttl: int
    page_count: int


class TransactionList(Answer):
    """The list wrapper of history, by-ID and external-ID queries."""

    days: None = None
    not_finished_actual_trans: list[TransactionView]
    in_process: list[TransactionView]
    transactions: list[TransactionView]
    transactions_counters: Counters


class PublicStatus(View):
    """The seven fields anybody who knows the ID may see."""

    id: str
    state: int
    substate: int
    result_code: int | None
    result_message: str | None
    status: str
    is_archive: bool = False


class StatusAnswer(Answer):
    """What statusPublic answers; an unknown ID is no error, it is null."""

    transaction: PublicStatus | None = None


def outcome_of(transaction: Transaction) -> tuple[int, str | None]:
    """`ErrorCode` and `ErrorMessage` of the answer that carries a transaction."""
    if transaction.is_pending:
        return ErrorCode.OUTCOME_UNKNOWN.code, ErrorCode.OUTCOME_UNKNOWN.message
    if transaction.phase in (Phase.DECLINED, Phase.REJECTED, Phase.AUTO_CANCELLED):
        return DECLINED + (transaction.result_code or 0), transaction.result_message
    return 0, None
