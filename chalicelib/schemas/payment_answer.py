"""The answers to a payment and to a reversal."""

from typing import Any, Self

from pydantic import Field

from chalicelib.domain import emv
from chalicelib.domain.transaction import Transaction
from chalicelib.schemas.base import Answer
from chalicelib.schemas.transaction_parts import EmvView
from chalicelib.schemas.transaction_states import error_of
from chalicelib.schemas.transaction_view import TransactionView


class PaymentFields(Answer):
    """The fields that the answers of payments, reversals and prepare have in common."""

    transaction_id: str | None = None
    emv_online_processing_result: str | None = Field(None, alias="EMVOnlineProcessingResult")
    additional_acquiring_fields: str | None = None
    additional_acquiring_fields_title: str | None = None
    terminal_name: str | None = None
    emv_data: EmvView | None = None
    require_signature: bool = False
    transaction: TransactionView | None = None


class PaymentAnswer(PaymentFields):
    """The answer of payment/submit."""

    @classmethod
    def of(cls, transaction: Transaction, view: TransactionView, *, replayed: bool) -> Self:
        """Return the answer to a payment; `replayed` when it is the stored one of an earlier request."""
        fields = _fields(transaction, view, replayed=replayed)
        code = view.result.code if view.result else None
        if transaction.card_entry.emv and code is not None and not transaction.result.emv_result:
            fields["emv_online_processing_result"] = emv.online_result(code)
        return cls(**fields)


class ReversalAnswer(PaymentFields):
    """The answer of a reversal; `Transaction` is the reversal itself, TransactionID the payment."""

    transaction_reverse_id: str | None = None

    @classmethod
    def of(cls, transaction: Transaction, view: TransactionView, *, replayed: bool) -> Self:
        """Return the answer to a reversal; `replayed` when it is the stored one of an earlier request."""
        return cls(transaction_reverse_id=transaction.id, **_fields(transaction, view, replayed=replayed))


def _fields(transaction: Transaction, view: TransactionView, *, replayed: bool) -> dict[str, Any]:
    """Return the fields both answers have; `ErrorCode` tells a decline and an unknown outcome."""
    code, message = error_of(transaction)
    return {
        "error_code": code,
        "error_message": message,
        "headers": {"Idempotent-Replayed": "true"} if replayed else {},
        "transaction_id": transaction.original.id or transaction.id,
        "emv_online_processing_result": transaction.result.emv_result,
        "additional_acquiring_fields": transaction.result.additional_fields,
        "additional_acquiring_fields_title": transaction.result.additional_fields_title,
        "terminal_name": transaction.terminal_name,
        "emv_data": view.emv_data,
        "require_signature": transaction.owes_signature,
        "transaction": view,
    }
