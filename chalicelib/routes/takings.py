"""Takings: what was taken and given back."""

from datetime import UTC, datetime

from chalicelib.domain.agent import Caller
from chalicelib.schemas.reports import ReportTakings, TakingsAnswer
from chalicelib.services import reports


def report(body: ReportTakings, caller: Caller) -> TakingsAnswer:
    """Report what was taken and given back, by day or by hour, for each agent and kind of payment."""
    return TakingsAnswer.of(*reports.report(body, caller, datetime.now(UTC)))
