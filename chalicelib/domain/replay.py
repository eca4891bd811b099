"""Replay: which reversal request repeats an earlier one, and is answered with it instead of being carried out."""

from datetime import datetime, timedelta

from chalicelib.domain.local_time import instant_of, to_local, zone_of
from chalicelib.domain.money import canonical, from_minor
from chalicelib.domain.reversal import ReversalOrder
from chalicelib.domain.transaction import Phase, Transaction

REPEAT_WINDOW = timedelta(seconds=120)  # in which an equal request without a key is taken for a repeated one
NO_TIME = "0001-01-01"  # how a client's time begins that was never set
FAILED = frozenset({Phase.DECLINED, Phase.REJECTED})


def content_identity(order: ReversalOrder, original: Transaction, agent_id: int) -> tuple[object, ...] | None:
    """Return what makes a request without a key the same reversal: its content and its own time; None without a time.

    The service derives its ID from it (contract, section 8).
    """
    time = (order.client_date_time or "").strip()
    if not time or time.startswith(NO_TIME):
        return None
    amount = "" if order.amount is None else canonical(order.amount)
    return ("content", agent_id, order.original_id, int(order.mode), amount, _one_writing(time, order, original))


def _one_writing(time: str, order: ReversalOrder, original: Transaction) -> str:
    """Return the one writing, in the merchant's zone, of a client's time; the text itself when it is no time."""
    try:
        return to_local(instant_of(time, zone_of(order.gmt, original.gmt)), original.gmt).isoformat()
    except (ValueError, OverflowError):
        return time


def is_repeated(order: ReversalOrder, original: Transaction, latest: Transaction, agent_id: int, now: datetime) -> bool:
    """Return whether a request without a key repeats the latest reversal of the payment, which then is its answer.

    A lost answer is far likelier than a second equal reversal within two minutes, and as long as the outcome of the
    first is unknown. One that failed gave nothing back, so repeating it is a new attempt.
    """
    if latest.phase in FAILED or latest.agent.id != agent_id:
        return False
    if not latest.is_pending and now >= latest.created_at + REPEAT_WINDOW:
        return False
    if latest.original.mode != order.mode or order.currency not in (None, latest.currency.code):
        return False
    if order.input_type not in (None, latest.input_type) or order.acquirer not in (None, latest.acquirer):
        return False
    if order.amount is None:
        return original.remaining_minor == 0
    return order.amount == from_minor(latest.amount_minor, latest.currency)
