"""The sweep of payments: it resolves the due payments and reversals. Two sweeps at the same time share the work.

A run takes the transactions that are due when it begins: a lane for those without an acquirer, and one for each
acquirer, side by side. The next run takes the rest and begins with the longest due.
"""

from datetime import datetime

from chalicelib import outside
from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.gateways import acquirers
from chalicelib.log import log
from chalicelib.services import outcomes
from chalicelib.services.acquirer_calls import Calls
from chalicelib.services.lane_runner import Done, Lane, Run, Swept
from chalicelib.settings import settings
from chalicelib.store import transactions
from chalicelib.store.due_index import NO_ACQUIRER
from chalicelib.store.due_records import Due

SECONDS = 42  # for beginning attempts: the last may wait for three answers of 5 s, and a run has 58


def run(now: datetime, seconds: float = SECONDS) -> Swept:
    """Resolve due transactions, the longest due first, beginning none after `seconds`."""
    threads = settings().sweep_concurrency
    own = Lane(NO_ACQUIRER, transactions.TABLE, _attempt, threads)
    sweep = Run("transaction", now, seconds)
    sweep.drain(
        [own, *(Lane(code, transactions.TABLE, _attempt, threads, _is_spared) for code in outside.current.acquirers)]
    )
    swept = sweep.swept()
    for code in swept.silent:
        log("acquirer_silent", acquirer=code)
    return swept


def _is_spared(code: str) -> bool:
    """Return whether to spare a silent acquirer: not a host that takes advices.

    Each advice must leave within 90 s and then every minute, so a silent host receives all due advices.
    """
    return acquirers.named(code).can_inquire


def _attempt(entry: Due, now: datetime) -> Done:
    transaction = transactions.get_due(entry.id, now)
    if transaction is None:
        return Done()
    after, done = _resolve(transaction, now)
    if after.phase is Phase.AUTO_CANCELLING:
        log("reversal_outstanding", acquirer=after.acquirer, **after.named)
    if after.is_pending and now >= after.deadline:
        log("overdue", phase=after.phase, **after.named)
    return done


def _resolve(transaction: Transaction, now: datetime) -> tuple[Transaction, Done]:
    """Return the transaction after the step, and the result. The answers count also when a later line fails."""
    calls = Calls(transaction)
    try:
        after = outcomes.resolve(transaction, now, calls)
    except Exception as defect:  # noqa: BLE001  the runner logs it
        return transaction, Done(was_due=True, answers=tuple(calls.answers), defect=defect)
    return after, Done(was_due=True, answers=tuple(calls.answers))
