"""Books: the takings of days that are over, as a journal for a bookkeeper's program."""

from datetime import date, datetime, timedelta
from io import BytesIO

from chalicelib.domain.agent import Caller
from chalicelib.domain.books import TAX, entries_of
from chalicelib.domain.business_days import business_day
from chalicelib.domain.periods import Period, period_of
from chalicelib.errors import Check, Finding, invalid
from chalicelib.gateways import files
from chalicelib.gateways.ids import new_guid
from chalicelib.schemas.books import FORMATS, findings_in
from chalicelib.schemas.history_export import CSV, ExportHistory
from chalicelib.services.caller_check import admit
from chalicelib.services.history import scope_of
from chalicelib.services.takings import CountedPages
from chalicelib.store import agents, takings

MOST_PAGES = 100  # of counters: two seconds


def export(body: ExportHistory, caller: Caller, now: datetime, most_pages: int = MOST_PAGES) -> str:
    """Write the takings of a period to a journal, and return its address."""
    account_id = body.list_basic_model.account_id
    account_key = [agents.key(account_id)] if account_id is not None else []
    admitted = admit(caller, *account_key, current_account_id=body.current_account_id)
    scope = scope_of(admitted, account_id)

    form = FORMATS[body.format]
    findings = findings_in(form, body.accounts)
    period = _period(body, business_day(now, scope.gmt), findings)
    body.check_readable()
    pages = CountedPages(takings.by_day(scope.client_id, period, scope.agent_id), most_pages)
    entries = entries_of(pages, splits_tax=TAX in body.accounts.given)
    content = form.write(entries, body.accounts.given).encode()

    name = f"exports/{scope.client_id}/{new_guid()}.{form.suffix}"
    file_name = f"takings-{period.first}-{period.last}.{form.suffix}"
    files.put_export(name, BytesIO(content), file_name, files.CSV if form.suffix == CSV else files.PLAIN_TEXT)
    return files.signed_url(name)


def _period(body: ExportHistory, today: date, findings: list[Finding]) -> Period:
    """Return the period of a journal. Raise VALIDATION_FAILED for `findings`, no period, and days that are not over."""
    if body.has_wrong_period:
        raise invalid(*findings)
    first, last = body.period.first, body.period.last
    if first is None and last is None:
        message = "A journal needs a period of days that are over."
        raise invalid(*findings, Finding("period", Check.REQUIRED, message))
    period = period_of(first, last, today)
    if period.last >= today:
        message = f"A journal holds days that are over: the last one is {today - timedelta(days=1)}."
        findings = [*findings, Finding("period.last", Check.OUT_OF_RANGE, message)]
    if findings:
        raise invalid(*findings)
    return period
