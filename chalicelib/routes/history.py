"""Lists of payments and reversals, their export, and takings."""

from collections.abc import Callable
from datetime import datetime

from chalicelib import outside
from chalicelib.domain.agent import Caller
from chalicelib.domain.paging import Page
from chalicelib.schemas.history import ListHistory
from chalicelib.schemas.history_export import CSV, ExportAnswer, ExportHistory
from chalicelib.schemas.takings import ReportTakings, TakingsAnswer
from chalicelib.schemas.transaction_view import TransactionList
from chalicelib.services import books, history, history_export, pictures
from chalicelib.services import takings as takings_service


def list_history(body: ListHistory, caller: Caller) -> TransactionList:
    """List the payments and reversals of a period, 100 per page."""
    return _answer(history.by_history, body, caller)


def list_by_days(body: ListHistory, caller: Caller) -> TransactionList:
    """List the payments and reversals of a day and of the days before it, 100 per page."""
    return _answer(history.by_days, body, caller)


def export(body: ExportHistory, caller: Caller) -> ExportAnswer:
    """Export all pages of a history list as a CSV file, or the takings of days as a journal."""
    made = history_export.export if body.format == CSV else books.export
    return ExportAnswer(url=made(body, caller, outside.now()))


def _answer(
    listed: Callable[[ListHistory, Caller, datetime], Page], body: ListHistory, caller: Caller
) -> TransactionList:
    now = outside.now()
    return TransactionList.of(listed(body, caller, now), now, body.gmt, pictures.signed_url)


def takings(body: ReportTakings, caller: Caller) -> TakingsAnswer:
    """Report the money taken and given back, by day or hour, for each agent and kind of payment."""
    found = takings_service.report(body, caller, outside.now())
    return TakingsAnswer.of(found.takings, found.names, found.day, found.last_numbers)
