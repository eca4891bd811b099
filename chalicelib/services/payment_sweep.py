"""The sweep of payments: what is due is resolved. Two sweeps at once share the work, they do not repeat it."""

import time
from datetime import datetime

from chalicelib.domain.outcome import due_at
from chalicelib.log import log, log_defect
from chalicelib.services import outcomes
from chalicelib.store import due_index, transactions

LIMIT = 100  # transactions a run
SECONDS = 12  # after which a run begins no other: the last may wait for three answers of 5 s, and a run has 29


def run(now: datetime, limit: int = LIMIT) -> int:
    """Resolve what is due, longest due first, and return how many were. The rest is for the next run."""
    until = time.monotonic() + SECONDS
    done = 0
    for transaction_id in due_index.ids(transactions.TABLE, now, limit):
        if time.monotonic() > until:
            break
        done += _resolve(transaction_id, now)
    return done


def lag_seconds(now: datetime) -> int:
    """Return for how long the oldest payment has been due."""
    return due_index.lag_seconds(transactions.TABLE, now)


def _resolve(transaction_id: str, now: datetime) -> bool:
    """Resolve one, and return whether it was due. A failure stops none of the others; it is due again later."""
    try:
        transaction = transactions.get(transaction_id)
        if transaction is None or due_at(transaction, now) is None:
            return False
        after = outcomes.resolve(transaction, now)
        if after.is_pending and now >= after.deadline:
            log("overdue", transaction=after.id, phase=after.phase)
    except Exception as defect:  # noqa: BLE001  see the docstring
        log_defect(defect, transaction=transaction_id)
    return True
