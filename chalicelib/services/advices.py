"""Advices: at a host that cannot be inquired, what has no usable answer is reversed until the host acknowledges it.

Nothing else ends such a transaction, not even its Deadline. A cancel of a till's is an advice, too, and is repeated.
"""

from datetime import datetime
from functools import partial

from chalicelib.domain import host, outcome
from chalicelib.domain.acquirer import AcquirerError
from chalicelib.domain.transaction import Phase, Transaction
from chalicelib.services import acquirer_requests
from chalicelib.services.acquirer_requests import RESOLVE_SECONDS
from chalicelib.services.steps import advance, store
from chalicelib.store import transactions


def resolve(transaction: Transaction, now: datetime) -> Transaction:
    """Take a transaction whose outcome is unknown as far as it goes now: one message, or none."""
    if transaction.phase is Phase.CANCELLING:
        return _repeat_cancel(transaction, now)
    if transaction.phase is Phase.AUTO_CANCELLING:
        return _advise(transaction, now, is_repeat=True)
    return _begin(transaction, now)


def _begin(transaction: Transaction, now: datetime) -> Transaction:
    """Decide that a transaction is reversed automatically, and send the advice for the first time.

    When another process has decided it meanwhile, the advice is that one's to send, or a later look's to repeat.
    """
    after = outcome.auto_cancelling(transaction, now)
    try:
        store(transaction, after, now)
    except transactions.PhaseChangedError:
        return transactions.get(transaction.id) or transaction
    return _advise(after, now, is_repeat=False)


def reverse_partial_approval(transaction: Transaction, now: datetime) -> Transaction:
    """Reverse what was approved for less than was requested; declined if that is acknowledged at once."""
    after = outcome.auto_cancelling(outcome.unusable(transaction), now)
    try:
        store(transaction, after, now)
    except transactions.PhaseChangedError:
        return transactions.get(transaction.id) or transaction
    if not _is_acknowledged(after, is_repeat=False):
        return after
    return advance(after, outcome.partly_approved, now)


def _advise(transaction: Transaction, now: datetime, *, is_repeat: bool) -> Transaction:
    """Send the advice, and end the transaction when it is acknowledged."""
    if not _is_acknowledged(transaction, is_repeat=is_repeat):
        return transaction
    return advance(transaction, outcome.auto_cancelled, now)


def _is_acknowledged(transaction: Transaction, *, is_repeat: bool) -> bool:
    request = host.automatic_request(transaction, is_repeat=is_repeat)
    return acquirer_requests.is_acknowledged(transaction, request, attempts=1)


def _repeat_cancel(cancel: Transaction, now: datetime) -> Transaction:
    request = host.reversal_request(cancel, is_repeat=True)
    try:
        answer = acquirer_requests.reverse(cancel, request, RESOLVE_SECONDS)
    except AcquirerError:
        return cancel
    return advance(cancel, partial(outcome.reversal_with_answer, answer=answer), now)
