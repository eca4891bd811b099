"""Giving money back: a reversal takes from what remains of a payment, and is a transaction of its own."""

from datetime import datetime

from chalicelib.domain import outcome, permissions
from chalicelib.domain.agent import Agent, Caller
from chalicelib.domain.reversal import (
    CARD_PRESENT_MODES,
    ReversalOrder,
    ReverseMode,
    begin,
    fingerprint,
    reversal_id,
    take_back,
)
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import RETRY, ErrorCode, ServiceError
from chalicelib.schemas.receipts import wanted_by
from chalicelib.schemas.reversal_request import ReversePayment
from chalicelib.services import outbox, outcomes
from chalicelib.services.admission import admit
from chalicelib.services.payments import GUID
from chalicelib.store import outbox as outbox_store
from chalicelib.store import transactions
from chalicelib.store.table import AlreadyExistsError

ATTEMPTS = 4  # to take from what remains while others take from it too


def reverse(
    body: ReversePayment, caller: Caller, now: datetime, *, modes: frozenset[ReverseMode], key: str | None
) -> tuple[Transaction, bool]:
    """The reversal, and whether it is the stored one of an earlier request with the same key and content."""
    order = order_of(body, modes, key)
    name = reversal_id(order, caller.agent_id)
    known = [transactions.key(order.original_id)] if GUID.fullmatch(order.original_id) else []
    admitted = admit(caller, transactions.key(name), *known, current_account_id=body.current_account_id)
    stored, original = admitted.others if known else (*admitted.others, None)
    if original is None:
        raise ServiceError(ErrorCode.TRANSACTION_NOT_FOUND)
    permissions.check_can_reverse(admitted.agent, original.client_id, original.taker.id)
    if stored is not None:
        return _replay(order, admitted.agent, stored, now), True

    return _take(name, order, original, admitted.agent, now)


def order_of(body: ReversePayment, modes: frozenset[ReverseMode], key: str | None) -> ReversalOrder:
    """The request in the domain's terms; a mode that has no place at this endpoint is refused."""
    basic = body.basic_reverse_tran
    mode = ReverseMode(basic.reverse_mode)
    if mode is ReverseMode.CREDIT_VOUCHER:
        raise ServiceError(ErrorCode.KIND_NOT_SUPPORTED, "Credit vouchers are not supported.")
    if mode is ReverseMode.AUTO_CANCEL:
        raise ServiceError(ErrorCode.ROLE_MAY_NOT, "ReverseMode 4 is the system's own.")
    if mode not in modes:
        endpoint = "reverse" if mode in CARD_PRESENT_MODES else "reversecnp"
        message = f"ReverseMode {mode:d} belongs to payment/{endpoint}."
        raise ServiceError(ErrorCode.NOT_REVERSIBLE_HERE, message)
    return ReversalOrder(
        original_id=basic.transaction_id.upper(),
        mode=mode,
        details=body.details,
        amount=basic.amount,
        currency=basic.currency_id,
        input_type=basic.input_type,
        partial=basic.partial_reverse,
        id=basic.id,
        idempotency_key=key,
        client_date_time=basic.client_date_time,
        receipt_email=body.receipt.email,
        receipt_phone=body.receipt.phone,
    )


def _replay(order: ReversalOrder, agent: Agent, stored: Transaction, now: datetime) -> Transaction:
    """The stored reversal, when the request is the same; a payment's ID is never a reversal's."""
    if stored.fingerprint != fingerprint(order, agent.id):
        raise ServiceError(ErrorCode.ID_REUSED)
    if outcome.is_in_progress(stored, now):
        raise ServiceError(ErrorCode.IN_PROGRESS, headers=RETRY)
    return outcomes.require_attempted(outcomes.refresh(stored, now), replayed=True)


def _take(
    name: str, order: ReversalOrder, original: Transaction, agent: Agent, now: datetime
) -> tuple[Transaction, bool]:
    """Keep the reversal and take its amount from what remains; decided anew when others took from it meanwhile."""
    for _ in range(ATTEMPTS):
        amount_minor = take_back(order, original, now)
        reversal = begin(name, order, original, agent, amount_minor, now)
        receipts = outbox.receipts_for(reversal, None, None, wanted_by(reversal), now)
        try:
            transactions.reserve(original, reversal, *map(outbox_store.put, receipts))
        except AlreadyExistsError:
            stored = transactions.get(name)
            if stored is not None:
                return _replay(order, agent, stored, now), True
        except transactions.RemainderChangedError:
            pass
        else:
            outbox.send(receipts, now)
            return outcomes.require_attempted(
                outcomes.reverse(reversal, now) if reversal.is_pending else reversal
            ), False
        original = transactions.get(original.id) or original
    raise ServiceError(ErrorCode.IN_PROGRESS, headers=RETRY)
