"""The sweep of payments: it resolves the due payments and reversals. Two sweeps at the same time share the work.

A run takes the transactions that are due when it begins: first those without an acquirer, then one lane per acquirer,
side by side. The next run takes the rest and begins with the longest due.
"""

from datetime import datetime
from functools import partial

from chalicelib.domain.phases import Phase
from chalicelib.domain.transaction import Transaction
from chalicelib.gateways import acquirers
from chalicelib.log import log
from chalicelib.services import lane_runner, outcomes
from chalicelib.services.acquirer_calls import Calls
from chalicelib.services.lane_runner import Done, Lane, Limits, Swept
from chalicelib.settings import settings
from chalicelib.store import due_index, transactions
from chalicelib.store.due_index import NO_ACQUIRER, Due

SECONDS = 42  # for beginning attempts: the last may wait for three answers of 5 s, and a run has 58
FIRST_SECONDS = 20  # at most, for transactions without an acquirer


def run(now: datetime, limit: int | None = None, seconds: float = SECONDS) -> Swept:
    """Resolve due transactions, the longest due first: at most `limit`, beginning none after `seconds`."""
    limits = Limits(seconds, settings().sweep_concurrency, most=limit)
    with lane_runner.running("transaction", now, limits) as sweep:
        sweep.add(_lane(NO_ACQUIRER)).only_count()
        sweep.drain(FIRST_SECONDS)
        for code in acquirers.KNOWN:
            lane = sweep.add(_lane(code))
            # Each advice must leave within 90 s and then every minute, so a silent host receives all due advices.
            if lane.head and not acquirers.named(code).can_inquire:  # without work the acquirer's adapter is not loaded
                lane.only_count()
        sweep.drain()
    swept = sweep.swept()
    for code in swept.silent:
        log("acquirer_silent", acquirer=code)
    return swept


def _lane(name: str) -> Lane:
    return Lane(name, partial(due_index.of_lane, transactions.TABLE, name), _attempt)


def _attempt(entry: Due, now: datetime) -> Done:
    """Resolve one transaction, unless it is no longer due."""
    transaction = transactions.get_due(entry.id, now)
    if transaction is None:
        return Done()
    after, done = _resolve(transaction, now)
    if after.phase is Phase.AUTO_CANCELLING:
        log("reversal_outstanding", transaction=after.id, acquirer=after.acquirer)
    if after.is_pending and now >= after.deadline:
        log("overdue", transaction=after.id, phase=after.phase)
    return done


def _resolve(transaction: Transaction, now: datetime) -> tuple[Transaction, Done]:
    """Return the transaction after the step, and the result. The answers count also when a later line fails."""
    calls = Calls(transaction)
    try:
        after = outcomes.resolve(transaction, now, calls)
    except Exception as defect:  # noqa: BLE001  the runner logs it
        return transaction, Done(was_due=True, answers=tuple(calls.answers), defect=defect)
    return after, Done(was_due=True, answers=tuple(calls.answers))
