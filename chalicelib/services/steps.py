"""The steps of a transaction at an acquirer: each is stored with what follows from it, on the condition of the last."""

from collections.abc import Callable
from datetime import datetime

from chalicelib.domain import outcome
from chalicelib.domain.transaction import Phase, Transaction
from chalicelib.services.receipts import receipts_for
from chalicelib.store import history, linked_cards, transactions
from chalicelib.store import outbox as outbox_store

Step = Callable[[Transaction], Transaction]

ATTEMPTS = 4  # to store an outcome while others go on with the same transaction


def advance(transaction: Transaction, step: Step, now: datetime) -> Transaction:
    """Store the next step of a transaction, from the phase it is in by then; return it as it is, whoever moved it."""
    for _ in range(ATTEMPTS):
        after = step(transaction)
        if not outcome.may_follow(transaction, after):
            return transaction
        try:
            store(transaction, after, now)
        except transactions.PhaseChangedError:
            transaction = transactions.get(transaction.id) or transaction
        else:
            return after
    return transaction


def store(before: Transaction, after: Transaction, now: datetime) -> None:
    """Store the step; with the outcome its place in the history, its linked card's count, and the receipts.

    Raise PhaseChangedError when another process has moved the transaction, or the payment that a reversal is of.
    """
    decided = before.is_pending and not after.is_pending
    receipts = receipts_for(after, now) if decided else []
    facts = history.writes_for_outcome(after, now) if decided else []

    is_done = decided and after.phase is Phase.REVERSAL_APPROVED
    original = transactions.get(after.original.id or "") if is_done else None
    released = [transactions.release(after, original)] if decided and after.is_reversal else []
    if original:
        facts += history.writes_for_reversed(original, after)
    linked = after.card_entry.linked_id if decided and after.took_money else None
    counted = [] if linked is None else [linked_cards.count_payment(linked)]

    transactions.store_step(before, after, now, *facts, *released, *counted, *map(outbox_store.put, receipts))
