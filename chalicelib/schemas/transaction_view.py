"""The Transaction object of the interface: its parts, its amounts, and lists of it."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import Field, WithJsonSchema

from chalicelib.domain import money
from chalicelib.domain.business_days import text_of, zone_of
from chalicelib.domain.card import LINK_TYPE, last_second
from chalicelib.domain.kinds import KINDS
from chalicelib.domain.money import Currency
from chalicelib.domain.paging import PAGE_SIZE, Page, page_count
from chalicelib.domain.phases import FAILED, Section
from chalicelib.domain.reversibility import CANCELS, offers
from chalicelib.domain.taxes import TaxAmount
from chalicelib.domain.transaction import AgentSnapshot, EmvData, Transaction
from chalicelib.errors import ErrorCode
from chalicelib.schemas.base import Answer, View, views_of


class CardView(View):
    """The parts of a card that may be shown. For cash it has only IIN."""

    iin: str
    bin: str | None = None
    exp: str | None = None
    pan_masked: str | None = None
    pan_ending: str | None = None
    bank_name: str | None = None
    bank_country_id: str | None = None

    @classmethod
    def of(cls, transaction: Transaction) -> Self:
        """Return the card of a transaction; without a card, the acquirer code."""
        card = transaction.card
        if card is None:
            return cls(iin=transaction.acquirer)
        return cls(iin=card.brand, bin=card.bin, exp=card.exp, pan_masked=card.masked, pan_ending=card.last4)


class PaidCardView(View):
    """The linked card of a payment, as it was when it paid. Its token and its later state are not in it."""

    id: int
    link_type: int = LINK_TYPE
    cardholder_name: str | None
    pan_ending: str | None
    pan_masked: str | None
    payment_type: str
    card_exp: str | None = Field(alias="CardExp")

    @classmethod
    def of(cls, transaction: Transaction, zone: int) -> Self | None:
        """Return the linked card of a transaction, with times in a zone; None without a linked card."""
        card, linked_id = transaction.card, transaction.card_entry.linked_id
        if card is None or linked_id is None:
            return None
        return cls(
            id=linked_id,
            cardholder_name=card.cardholder,
            pan_ending=card.last4,
            pan_masked=card.masked,
            payment_type=card.brand,
            card_exp=text_of(last_second(card.exp, transaction.gmt), zone) if card.exp else None,
        )


class EmvView(View):
    """The EMV tags on a receipt."""

    aid: str | None = None
    apn: str | None = None
    tsi: str | None = None
    tvr: str | None = None

    @classmethod
    def of(cls, emv: EmvData | None) -> Self | None:
        """Return the tags of a chip; None without a chip."""
        return cls(**asdict(emv)) if emv else None


class FormatView(View):
    """The format of the currency's amounts. CurrencyE is its number of decimals."""

    currency_sign: str
    currency_sign_safe: str
    amount_format: str
    amount_format_without_currency: str
    currency_e: int

    @classmethod
    def of(cls, currency: Currency) -> Self:
        """Return the format of a currency's amounts."""
        sign, digits = currency.sign, f"{{0:N{currency.digits}}}"
        return cls(
            currency_sign=sign,
            currency_sign_safe=sign if sign.isascii() else currency.code,
            amount_format=f"{sign} {digits}",
            amount_format_without_currency=digits,
            currency_e=currency.digits,
        )


class FiscalView(View):
    """Fiscalization, which the service does not have: always empty and without error."""

    fiscal_status: int = 0
    fiscal_error: int = 0
    fiscal_message: str | None = None


class ResultView(View):
    """The outcome: 0 approved, otherwise the ISO 8583 response code."""

    code: int | None
    message: str | None

    @classmethod
    def of(cls, transaction: Transaction) -> Self | None:
        """Return the result of a transaction; None while it has none, or while its automatic reversal is pending."""
        if transaction.result.code is None or transaction.is_pending:
            return None
        return cls(code=transaction.result.code, message=transaction.result.message)


class TaxAmountView(View):
    """A tax in the amount: Gross is the part of the amount that has it, and contains Tax. Rate is a percentage."""

    code: str
    name: str
    rate: Decimal
    gross: Decimal
    tax: Decimal

    @classmethod
    def of(cls, amount: TaxAmount, currency: Currency) -> Self:
        """Return the view of a tax in an amount."""
        gross, tax = (money.from_minor(minor, currency) for minor in (amount.gross_minor, amount.tax_minor))
        return cls.carried(amount, gross=gross, tax=tax)


class TransPosView(View):
    """The agent that made the transaction."""

    id: int
    email: str
    name: str
    phone: str

    @classmethod
    def of(cls, agent: AgentSnapshot) -> Self:
        """Return the agent at the time of the transaction."""
        return cls(**asdict(agent))


DECLINED = 1000  # the ErrorCode of a decline is this + the ISO 8583 response code


def error_of(transaction: Transaction) -> tuple[int, str | None]:
    """Return `ErrorCode` and `ErrorMessage` for an answer with a transaction."""
    if transaction.is_pending:
        return ErrorCode.OUTCOME_UNKNOWN.code, ErrorCode.OUTCOME_UNKNOWN.message
    if transaction.phase in FAILED:
        return DECLINED + (transaction.result.code or 0), transaction.result.message
    return 0, None


OF_EITHER_TYPE = WithJsonSchema({})  # generated clients have no type for "text or number"
OPERATIONS = {"payment": 1, "cancel": 2, "return": 3}
SignUrl = Callable[[str], str | None]  # makes the expiring address of a file in the bucket


class TransactionView(View):
    """The Transaction object with every field of the specification."""

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
    linked_card: PaidCardView | None
    client_product_code: str | None
    amount_orig: Decimal
    amount: Decimal
    amount_cash_got: Decimal | None
    fee_total: Decimal
    amount_netto: Decimal
    tax_amounts: list[TaxAmountView] | None
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
    external_payment: dict[str, Any] | None = None
    attachments: list[dict[str, Any]] | None = None
    offline_queue_id: Annotated[str | int | None, OF_EITHER_TYPE] = Field(alias="OfflineQueueId")
    received: str | None
    pan_tags: dict[str, Any] | None = Field(None, alias="PANTags")
    can_server_fiscalize_for_cnp_reverse: bool = False
    can_fiscal_remote_correction: bool = False
    result: ResultView | None
    trans_pos: TransPosView

    @classmethod
    def of(cls, transaction: Transaction, now: datetime, gmt: int | None, sign: SignUrl = lambda key: key) -> Self:
        """Return the view of the transaction at `now`, with times in the zone of the request's `gmt`."""
        zone = zone_of(gmt, transaction.gmt)
        return cls(
            date=text_of(transaction.date or transaction.created_at, zone),
            deadline=text_of(transaction.deadline, zone),
            received=transaction.received_at and text_of(transaction.received_at, zone),
            pos_id=transaction.agent.id,
            branch_id=transaction.client_id,
            trans_pos=TransPosView.of(transaction.agent),
            linked_card=PaidCardView.of(transaction, zone),
            photo_url=transaction.pictures.photo_key and sign(transaction.pictures.photo_key),
            signature_url=transaction.pictures.signature_key and sign(transaction.pictures.signature_key),
            **asdict(transaction.particulars),
            **_same_named(transaction),
            **_amounts(transaction),
            **_acquirer(transaction),
            **_state(transaction, now),
            **_texts(transaction),
        )


def _same_named(transaction: Transaction) -> dict[str, Any]:
    """Return the fields with the same name in the record and on the wire."""
    names = "id client_id invoice terminal_name input_type"
    of_result = "pin_mode rrn acquirer_tran_id approval_code"
    return {name: getattr(transaction, name) for name in names.split()} | {
        name: getattr(transaction.result, name) for name in of_result.split()
    }


def _amounts(transaction: Transaction) -> dict[str, Any]:
    unit = money.minor_unit(transaction.currency)
    got, reversed_minor = transaction.amount_cash_got_minor, transaction.reversals.amount_minor
    paid, nothing = transaction.amount_minor * unit, 0 * unit
    written = FormatView.of(transaction.currency)
    gave_nothing = transaction.is_reversal and transaction.phase in FAILED
    taxes = () if gave_nothing else transaction.tax_amounts
    return {
        **dict.fromkeys(("amount_orig", "amount", "amount_netto"), paid),
        **dict.fromkeys(("fee_total", "fee_total_eff", "fee_total_rvs"), nothing),
        "amount_cash_got": None if got is None else got * unit,
        "amount_eff": nothing if transaction.phase in FAILED else transaction.remaining_minor * unit,
        "amount_rvs": reversed_minor * unit,
        "count_rvs": transaction.reversals.count,
        "partial_reverse": transaction.original.partial or 0 < reversed_minor < transaction.amount_minor,
        "currency_id": transaction.currency.code,
        "format": written,
        "tax_amounts": [TaxAmountView.of(one, transaction.currency) for one in taxes] or None,
        **written.model_dump(exclude={"currency_e"}),
    }


def _acquirer(transaction: Transaction) -> dict[str, Any]:
    return {
        "merchant_tran_id": transaction.id,
        "acquirer_id": transaction.acquirer,
        "acquirer_approval_code": transaction.result.approval_code,
        "single_step_auth": transaction.completion.single_step,
        "emv_data": EmvView.of(transaction.card_entry.emv),
        "card": CardView.of(transaction),
        "cardholder_name": transaction.card and transaction.card.cardholder,
    }


def _state(transaction: Transaction, now: datetime) -> dict[str, Any]:
    """Return State, Substate and the flags. `SHOWN` of domain/phases says how each phase is shown."""
    shown = transaction.shown
    operation = operation_of(transaction)
    return {
        "state": shown.state,
        "substate": shown.substate,
        "display_mode": shown.display_mode,
        "state_display": shown.text,
        "status": transaction.status_at(now),
        "operation": operation.capitalize(),
        "operation_id": OPERATIONS[operation],
        "is_not_finished": shown.section is not Section.TRANSACTIONS,
        "signature_required_effective": transaction.owes_signature,
        "has_photo": transaction.pictures.photo_key is not None,
        "has_signature": transaction.pictures.signature_key is not None,
        "signature_required": transaction.completion.signature_required,
        "reverse_mode": transaction.original.mode,
        "result": ResultView.of(transaction),
        **asdict(offers(transaction, now)),
    }


def operation_of(transaction: Transaction) -> str:
    """Return payment, cancel or return."""
    if not transaction.is_reversal:
        return "payment"
    return "cancel" if transaction.original.mode in CANCELS else "return"


def _texts(transaction: Transaction) -> dict[str, Any]:
    description = transaction.particulars.description or KINDS[transaction.input_type].name
    masked = transaction.card.masked if transaction.card else None
    return {
        "smart_description": description,
        "line1": money.text(transaction.amount_minor, transaction.currency),
        "line2": masked or description,
        "reverse_id": transaction.original.id or transaction.reversals.latest_id,
        "reverse_invoice": transaction.original.invoice or transaction.reversals.latest_invoice,
    }


class Counters(View):
    """Paging information. AmountCvt is the sum of the amounts of all matches."""

    amount_cvt: Decimal
    pagesize: int = PAGE_SIZE
    item_count_page: int
    item_count_ttl: int
    page_count: int


class TransactionList(Answer):
    """The list wrapper of queries by history, ID and external ID."""

    days: list[dict[str, Any]] | None = None
    not_finished_actual_trans: list[TransactionView]
    in_process: list[TransactionView]
    transactions: list[TransactionView]
    transactions_counters: Counters

    @classmethod
    def of(cls, page: Page, now: datetime, gmt: int | None, sign: SignUrl) -> Self:
        """Return a page with each transaction in its section: pending, awaiting completion, or others."""
        sections = _sections(views_of(lambda one: _in_section(one, now, gmt, sign), page.transactions))
        return cls(
            not_finished_actual_trans=sections[Section.NOT_FINISHED],
            in_process=sections[Section.IN_PROCESS],
            transactions=sections[Section.TRANSACTIONS],
            transactions_counters=Counters(
                amount_cvt=page.amount,
                item_count_page=len(page.transactions),
                item_count_ttl=page.total,
                page_count=page_count(page.total),
            ),
        )

    @classmethod
    def of_one(cls, page: Page, now: datetime, gmt: int | None, sign: SignUrl) -> Self:
        """Return the answer by ID: the transaction in Transactions, and while unfinished also in its own section."""
        pairs = [_in_section(one, now, gmt, sign) for one in page.transactions]
        sections = _sections(pairs)
        return cls(
            not_finished_actual_trans=sections[Section.NOT_FINISHED],
            in_process=sections[Section.IN_PROCESS],
            transactions=[view for _, view in pairs],
            transactions_counters=Counters(amount_cvt=page.amount, item_count_page=1, item_count_ttl=1, page_count=1),
        )


def _in_section(
    transaction: Transaction, now: datetime, gmt: int | None, sign: SignUrl
) -> tuple[Section, TransactionView]:
    return transaction.shown.section, TransactionView.of(transaction, now, gmt, sign)


def _sections(views: Iterable[tuple[Section, TransactionView]]) -> dict[Section, list[TransactionView]]:
    sections: dict[Section, list[TransactionView]] = {section: [] for section in Section}
    for section, view in views:
        sections[section].append(view)
    return sections


class PublicStatus(View):
    """The seven fields that anyone with the ID may see."""

    id: str
    state: int
    substate: int
    result_code: int | None
    result_message: str | None
    status: str
    is_archive: bool = False


class StatusAnswer(Answer):
    """The answer of statusPublic. For an unknown ID the transaction is null, without an error."""

    transaction: PublicStatus | None = None

    @classmethod
    def of(cls, transaction: Transaction | None, now: datetime) -> Self:
        """Return the public fields of the transaction at `now`; null for an unknown transaction."""
        if transaction is None:
            return cls()
        shown, result = transaction.shown, ResultView.of(transaction)
        status = PublicStatus(
            id=transaction.id,
            state=shown.state,
            substate=shown.substate,
            result_code=result.code if result else None,
            result_message=result.message if result else None,
            status=transaction.status_at(now),
        )
        return cls(transaction=status)
