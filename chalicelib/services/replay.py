"""Replay: the answer to a request whose ID was used before, for payments and reversals alike."""

from dataclasses import replace
from datetime import datetime

from chalicelib.domain import outcome
from chalicelib.domain.payment import PaymentOrder, minor
from chalicelib.domain.reversal import ReversalOrder
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import ErrorCode, Finding, ServiceError, invalid
from chalicelib.services import outcomes
from chalicelib.store import transactions

NO_SUCH_AMOUNT = "No payment can have this amount."


def replay(stored: Transaction, order: PaymentOrder | ReversalOrder, fingerprint: str, now: datetime) -> Transaction:
    """Return the stored transaction of a repeated request, as its acquirer knows it by now.

    With other content raise ID_REUSED, or 202 for an amount that no payment can have. Its message names no currency:
    the ID may be another merchant's.
    """
    if stored.fingerprint != fingerprint:
        findings: list[Finding] = []
        if order.amount is not None:
            minor("amount", order.amount, stored.currency, findings)
        if findings:
            raise invalid(*(replace(one, message=NO_SUCH_AMOUNT) for one in findings))
        raise ServiceError(ErrorCode.ID_REUSED)
    return answer_again(stored, now)


def answer_again(stored: Transaction, now: datetime) -> Transaction:
    """Return a stored transaction, resolved if it is pending; 301 while the request that stored it is in progress."""
    if outcome.is_in_progress(stored, now):
        raise ServiceError(ErrorCode.IN_PROGRESS)
    return outcomes.require_attempted(outcomes.refresh(stored, now), replayed=True)


def replay_first(
    transaction_id: str, order: PaymentOrder | ReversalOrder, fingerprint: str, now: datetime
) -> Transaction:
    """Return what an equal request stored first, at the same moment; 301 when it cannot be read yet."""
    first = transactions.get(transaction_id)
    if first is None:
        raise ServiceError(ErrorCode.IN_PROGRESS)
    return replay(first, order, fingerprint, now)
