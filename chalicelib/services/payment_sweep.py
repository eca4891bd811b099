"""The sweep of payments: what is due is resolved. Two sweeps at once share the work, they do not repeat it.

A run takes what was due when it began: first what needs no acquirer, then the lanes of the acquirers side by side. What
it does not reach is for the next run, which begins with what has been due for longest.
"""

from datetime import datetime
from functools import partial

from chalicelib.domain.phases import Phase
from chalicelib.gateways import acquirers
from chalicelib.log import log
from chalicelib.services import lane_runner, outcomes
from chalicelib.services.lane_runner import Lane, Limits, Swept
from chalicelib.settings import settings
from chalicelib.store import due_index, transactions
from chalicelib.store.due_index import NO_ACQUIRER, Due

SECONDS = 42  # after which a run begins no other: the last may wait for three answers of 5 s, and a run has 58
FIRST_SECONDS = 20  # of them at most before the acquirers' turn


def run(now: datetime, limit: int | None = None, seconds: float = SECONDS) -> Swept:
    """Resolve what is due, longest due first: at most `limit`, and none begun after so many seconds."""
    limits = Limits(seconds, settings().sweep_concurrency, most=limit)
    with lane_runner.running("transaction", now, limits) as sweep:
        sweep.add(_lane(NO_ACQUIRER)).only_count()
        sweep.drain(FIRST_SECONDS)
        for code in acquirers.KNOWN:
            lane = sweep.add(_lane(code))
            # An advice has to leave within 90 s and each minute: a host that is silent gets all that are due.
            if lane.head and not acquirers.named(code).can_inquire:  # without work the acquirer is not loaded
                lane.only_count()
        sweep.drain()
    swept = sweep.swept()
    for code in swept.silent:
        log("acquirer_silent", acquirer=code)
    return swept


def _lane(name: str) -> Lane:
    return Lane(name, partial(due_index.of_lane, transactions.TABLE, name), _resolve)


def _resolve(entry: Due, now: datetime, answers: list[bool]) -> bool:
    """Resolve one transaction; return False when it is no longer due."""
    transaction = transactions.get_due(entry.id, now)
    if transaction is None:
        return False
    with outcomes.noted(answers):
        after = outcomes.resolve(transaction, now)
    if after.phase is Phase.AUTO_CANCELLING:
        log("reversal_outstanding", transaction=after.id, acquirer=after.acquirer)
    if after.is_pending and now >= after.deadline:
        log("overdue", transaction=after.id, phase=after.phase)
    return True
