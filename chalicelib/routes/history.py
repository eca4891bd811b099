"""History: listing what was paid and given back."""

from collections.abc import Callable
from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.domain.history import Page
from chalicelib.schemas.history import ListHistory, list_answer
from chalicelib.schemas.transactions import TransactionList
from chalicelib.services import history, pictures


def list_history(body: ListHistory, caller: Caller) -> TransactionList:
    """A page of the operations of a period; ListBasicModel.ExtID alone finds by external ID."""
    return _answer(history.by_history, body, caller)


def list_by_days(body: ListHistory, caller: Caller) -> TransactionList:
    """The operations of a day, filled up to 100 with those of the days before it."""
    return _answer(history.by_days, body, caller)


def _answer(
    listed: Callable[[ListHistory, Caller, datetime], Page], body: ListHistory, caller: Caller
) -> TransactionList:
    now = datetime.now(UTC)
    return list_answer(listed(body, caller, now), now, body.gmt, pictures.signed_url)
