"""The same request again: return the stored result of an ID, and accept the signature that a payment owes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Protocol

from chalicelib.domain import steps
from chalicelib.domain.money import Currency
from chalicelib.domain.outbox import receipts_for
from chalicelib.domain.payment import minor
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, ServiceError, invalid
from chalicelib.schemas.payments import PictureFile
from chalicelib.services import outcomes, pictures
from chalicelib.services.message_limits import within_limits
from chalicelib.store import outbox as outbox_store
from chalicelib.store import transactions
from chalicelib.store.retries import retry_with


class Order(Protocol):
    """A requested payment or reversal."""

    @property
    def amount(self) -> Decimal | None:
        """Return the amount that it names."""

    def repeats(self, stored: Transaction, agent_id: int) -> bool:
        """Return whether it has the content of a stored transaction of this agent."""


@dataclass(frozen=True)
class Repeatable:
    """A request whose ID may be used already: its agent, and the currency that its amount would have."""

    order: Order
    agent_id: int
    currency: Currency | None  # None: its agent has no terminal


def replay(stored: Transaction, request: Repeatable, now: datetime) -> Transaction:
    """Return the stored transaction of a repeated request; a pending one is resolved first.

    Raise ID_REUSED for other content, or 202 for an amount that the request could not have under any ID.
    """
    if request.order.repeats(stored, request.agent_id):
        return answer_again(stored, now)
    amount = request.order.amount
    if amount is not None and request.currency is not None:
        _, findings = minor("amount", amount, request.currency)
        if findings:
            raise invalid(*findings)
    raise ServiceError(ErrorCode.ID_REUSED)


def answer_again(stored: Transaction, now: datetime) -> Transaction:
    """Return a stored transaction; resolve a pending one. Raise 301 while its first request is in progress."""
    if steps.is_in_progress(stored, now):
        raise ServiceError(ErrorCode.IN_PROGRESS)
    return outcomes.require_attempted(outcomes.refresh(stored, now), replayed=True)


def replay_first(transaction_id: str, request: Repeatable, now: datetime) -> Transaction:
    """Return the transaction of an equal request that stored it a moment before. Raise 301 while it is unreadable."""
    return replay(stored_first(transaction_id), request, now)


def stored_first(transaction_id: str) -> Transaction:
    """Return the transaction that another request stored under the ID. Raise 301 while it is unreadable."""
    first = transactions.get(transaction_id)
    if first is None:
        raise ServiceError(ErrorCode.IN_PROGRESS)
    return first


SIGNATURE = "SIGNATURE"
SIGNED = "signed"  # the occasion of the receipt


def add_signature(payment: Transaction, files: Sequence[PictureFile], now: datetime) -> tuple[Transaction, bool]:
    """Return the payment, and whether the request is a pure replay that changed nothing.

    The file is stored first, under a digest of its content. One conditional write then adds it to the payment. If two
    requests bring it at once, one succeeds and the other is a replay. Other files of the request change nothing. Raise
    301 while the payer's data of the payment is being erased, because the erasure deletes files.
    """
    signature = [file for file in files if file.file_type == SIGNATURE]
    # Each content counts once, so a repeated attempt counts again only after its addresses are erased.
    limited = cache(lambda content: within_limits(content, payment.client_id, payment.agent.id, now))

    def attempt(before: Transaction) -> tuple[Transaction, bool]:
        if not signature or not before.took_money or not before.owes_signature:
            return before, True
        if before.is_being_erased:
            raise ServiceError(ErrorCode.IN_PROGRESS)
        after = steps.signed(before, pictures.store_files(signature, before.id))
        is_paid_now = after.phase is not before.phase and not after.is_reversed_in_full
        if is_paid_now:
            after = replace(after, receipt=limited(after.receipt))
        receipts = receipts_for(after, now, occasion=SIGNED) if is_paid_now else []
        transactions.store_step(before, after, now, *map(outbox_store.put, receipts))
        return after, False

    return retry_with(payment, attempt, lambda: transactions.get(payment.id) or payment)
