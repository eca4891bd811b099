"""A transaction as the interface shows it: from the record to its views."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any

from chalicelib.domain import money
from chalicelib.domain.reversal import CANCELS, offers
from chalicelib.domain.transaction import InputType, Phase, Shelf, Transaction, status_of
from chalicelib.schemas.transactions import (
    CardView,
    Counters,
    EmvView,
    FormatView,
    PublicStatus,
    ResultView,
    StatusAnswer,
    TransactionList,
    TransactionView,
    TransPosView,
    moment,
)

OPERATIONS = {"payment": 1, "cancel": 2, "return": 3}
KIND_TEXTS = {
    InputType.MANUAL_ENTRY: "Card, keyed in",
    InputType.MAGNETIC_STRIPE: "Card, magnetic stripe",
    InputType.CHIP: "Card, chip",
    InputType.CONTACTLESS: "Card, contactless",
    InputType.LINKED_CARD: "Linked card",
    InputType.EXTERNAL_TERMINAL: "External terminal",
    InputType.PREPAYMENT: "Prepayment",
    InputType.POSTPAID: "Postpaid",
    InputType.CASH: "Cash",
}
STATE_TEXTS = {
    Phase.SENT: "In process",
    Phase.UNKNOWN: "Outcome not known yet",
    Phase.REJECTED: "Rejected",
    Phase.OWED: "Signature or second step owed",
    Phase.APPROVED: "Paid",
    Phase.DECLINED: "Declined",
    Phase.AUTO_CANCELLING: "Being cancelled automatically",
    Phase.AUTO_CANCELLED: "Cancelled automatically",
    Phase.REVERSED: "Reversed in full",
    Phase.CANCELLING: "Cancel in process",
    Phase.RETURNING: "Return in process",
    Phase.GIVEN_BACK: "Given back",
}
SignUrl = Callable[[str], str | None]  # the expiring address of an object in the bucket


def transaction_view(
    transaction: Transaction, now: datetime, gmt: int | None, sign: SignUrl = lambda key: key
) -> TransactionView:
    """The Transaction object; times are shifted by `gmt` hours, UTC when None."""
    shown = {
        "id": transaction.id,
        "date": moment(transaction.date or transaction.created_at, gmt),
        "deadline": moment(transaction.deadline, gmt),
        "pos_id": transaction.taker.id,
        "client_id": transaction.client_id,
        "branch_id": transaction.client_id,
        "trans_pos": TransPosView(**asdict(transaction.taker)),
        "photo_url": transaction.photo_key and sign(transaction.photo_key),
        "signature_url": transaction.signature_key and sign(transaction.signature_key),
        **_copied(transaction),
        **_amounts(transaction),
        **_currency(transaction.currency),
        **_acquirer(transaction),
        **_card(transaction),
        **_state(transaction, now),
        **_texts(transaction),
    }
    return TransactionView(**shown)


def _copied(transaction: Transaction) -> dict[str, Any]:
    """The fields that are shown as they are kept."""
    names = (
        "description invoice client_product_code terminal_name latitude longitude pin_mode "
        "signature_required reverse_mode ext_tran_data ext_id receipt_email receipt_phone rrn"
    )
    return {name: getattr(transaction, name) for name in names.split()}


def _amounts(transaction: Transaction) -> dict[str, Any]:
    def amount(minor: int) -> Decimal:
        return money.from_minor(minor, transaction.currency)

    got = transaction.amount_cash_got_minor
    return {
        "amount_orig": amount(transaction.amount_minor),
        "amount": amount(transaction.amount_minor),
        "amount_cash_got": None if got is None else amount(got),
        "fee_total": amount(0),
        "amount_netto": amount(transaction.amount_minor),
        "amount_eff": amount(transaction.remaining_minor),
        "amount_rvs": amount(transaction.reversed_minor),
        "fee_total_eff": amount(0),
        "fee_total_rvs": amount(0),
        "count_rvs": transaction.reversals,
        "partial_reverse": transaction.partial or 0 < transaction.reversed_minor < transaction.amount_minor,
    }


def _currency(currency: money.Currency) -> dict[str, Any]:
    digits = f"{{0:N{currency.digits}}}"
    facts = {
        "currency_sign": currency.sign,
        "currency_sign_safe": currency.sign if currency.sign.isascii() else currency.code,
        "amount_format": f"{currency.sign} {digits}",
        "amount_format_without_currency": digits,
    }
    return {**facts, "currency_id": currency.code, "format": FormatView(**facts, currency_e=currency.digits)}


def _acquirer(transaction: Transaction) -> dict[str, Any]:
    return {
        "merchant_tran_id": transaction.id,
        "acquirer_id": transaction.acquirer,
        "acquirer_tran_id": transaction.acquirer_tran_id,
        "acquirer_approval_code": transaction.approval_code,
        "approval_code": transaction.approval_code,
        "single_step_auth": transaction.single_step,
        "emv_data": EmvView(**asdict(transaction.emv)) if transaction.emv else None,
    }


def _card(transaction: Transaction) -> dict[str, Any]:
    card = transaction.card
    if card is None:
        return {"card": CardView(iin=transaction.acquirer), "linked_card": None, "cardholder_name": None}
    view = CardView(iin=card.brand, bin=card.bin, exp=card.exp, pan_masked=card.masked, pan_ending=card.last4)
    linked = transaction.linked_card_id and {"ID": transaction.linked_card_id, "PANMasked": card.masked}
    return {"card": view, "linked_card": linked or None, "cardholder_name": card.cardholder}


def _state(transaction: Transaction, now: datetime) -> dict[str, Any]:
    face = transaction.face
    result = None
    if transaction.result_code is not None:
        result = ResultView(code=transaction.result_code, message=transaction.result_message)
    operation = operation_of(transaction)
    return {
        "state": face.state,
        "substate": face.substate,
        "display_mode": face.display_mode,
        "status": status_of(transaction, now),
        "operation": operation.capitalize(),
        "operation_id": OPERATIONS[operation],
        "input_type": transaction.input_type,
        "is_not_finished": face.shelf is not Shelf.TRANSACTIONS,
        "signature_required_effective": transaction.signature_required and transaction.signature_key is None,
        "has_photo": transaction.photo_key is not None,
        "has_signature": transaction.signature_key is not None,
        "result": result,
        **asdict(offers(transaction, now)),
    }


def operation_of(transaction: Transaction) -> str:
    """Payment, cancel or return."""
    if not transaction.is_reversal:
        return "payment"
    return "cancel" if transaction.reverse_mode in CANCELS else "return"


def _texts(transaction: Transaction) -> dict[str, Any]:
    kind = KIND_TEXTS[transaction.input_type]
    masked = transaction.card.masked if transaction.card else None
    return {
        "smart_description": transaction.description or kind,
        "state_display": STATE_TEXTS[transaction.stands],
        "line1": money.text(transaction.amount_minor, transaction.currency),
        "reverse_id": transaction.original_id or transaction.reverse_id,
        "reverse_invoice": transaction.original_invoice or transaction.reverse_invoice,
        "line2": masked or transaction.description or kind,
    }


def one(transaction: Transaction, view: TransactionView) -> TransactionList:
    """The answer by ID: the transaction in Transactions and, while pending, in InProcess too."""
    return TransactionList(
        not_finished_actual_trans=[view] if transaction.face.shelf is Shelf.NOT_FINISHED else [],
        in_process=[view] if transaction.is_pending else [],
        transactions=[view],
        transactions_counters=Counters(amount_cvt=view.amount, item_count_page=1, item_count_ttl=1, page_count=1),
    )


def public_status(transaction: Transaction, now: datetime) -> StatusAnswer:
    """What anybody who knows the ID may see."""
    return StatusAnswer(
        transaction=PublicStatus(
            id=transaction.id,
            state=transaction.face.state,
            substate=transaction.face.substate,
            result_code=transaction.result_code,
            result_message=transaction.result_message,
            status=status_of(transaction, now),
        )
    )
