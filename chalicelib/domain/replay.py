"""Replay: which reversal request repeats an earlier one, and is answered with it instead of being carried out."""

from datetime import datetime, timedelta

from chalicelib.domain.money import canonical, from_minor
from chalicelib.domain.reversal import ReversalOrder
from chalicelib.domain.transaction import Phase, Transaction

REPEAT_WINDOW = timedelta(seconds=120)  # in which an equal request without a key is taken for a repeated one
NO_TIME = "0001-01-01"  # how a client's time begins that was never set
FAILED = frozenset({Phase.DECLINED, Phase.REJECTED})


def identity(order: ReversalOrder, agent_id: int) -> tuple[object, ...] | None:
    """Return what makes a repeated request the same reversal, for the service to derive its ID from.

    The Idempotency-Key of the caller; else, unless it chose an ID, its content and its own time. None when there is
    nothing of the kind (contract, section 8).
    """
    if order.idempotency_key:
        return ("key", agent_id, order.idempotency_key)
    time = (order.client_date_time or "").strip()
    if order.id is None and time and not time.startswith(NO_TIME):
        amount = "" if order.amount is None else canonical(order.amount)
        return ("content", agent_id, order.original_id, int(order.mode), amount, time)
    return None


def is_repeated(order: ReversalOrder, original: Transaction, latest: Transaction, agent_id: int, now: datetime) -> bool:
    """Return whether a request without a key repeats the latest reversal of the payment, which then is its answer.

    A lost answer is far likelier than a second equal reversal within two minutes, and as long as the outcome of the
    first is unknown. One that failed gave nothing back, so repeating it is a new attempt.
    """
    if latest.phase in FAILED or latest.agent.id != agent_id:
        return False
    if not latest.is_pending and now >= latest.created_at + REPEAT_WINDOW:
        return False
    if latest.reverse_mode != order.mode or order.currency not in (None, latest.currency.code):
        return False
    if order.input_type not in (None, latest.input_type) or order.acquirer not in (None, latest.acquirer):
        return False
    if order.amount is None:
        return original.remaining_minor == 0
    return order.amount == from_minor(latest.amount_minor, latest.currency)
