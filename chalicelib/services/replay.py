"""Replay: the answer to a request whose ID was used before, for payments and reversals alike."""

from datetime import datetime

from chalicelib.domain import outcome
from chalicelib.domain.transaction import Transaction
from chalicelib.errors import RETRY, ErrorCode, ServiceError
from chalicelib.services import outcomes
from chalicelib.store import transactions


def replay(stored: Transaction, fingerprint: str, now: datetime) -> Transaction:
    """Return the stored transaction of a repeated request, as its acquirer knows it by now.

    302 when the ID was used with other content, 301 while the first request is in progress.
    """
    if stored.fingerprint != fingerprint:
        raise ServiceError(ErrorCode.ID_REUSED)
    if outcome.is_in_progress(stored, now):
        raise ServiceError(ErrorCode.IN_PROGRESS, headers=RETRY)
    return outcomes.require_attempted(outcomes.refresh(stored, now), replayed=True)


def replay_first(transaction_id: str, fingerprint: str, now: datetime) -> Transaction:
    """Return what an equal request stored first, at the same moment; 301 when it cannot be read yet."""
    first = transactions.get(transaction_id)
    if first is None:
        raise ServiceError(ErrorCode.IN_PROGRESS, headers=RETRY)
    return replay(first, fingerprint, now)
