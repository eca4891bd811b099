"""Changing several agents: each whole or not at all, and what cannot be done is told."""

from dataclasses import replace
from datetime import datetime

from chalicelib.domain import permissions, references
from chalicelib.domain.agent import Agent, Caller, Login, PrinterSettings
from chalicelib.domain.audit import Act, changed
from chalicelib.domain.credential import canonical
from chalicelib.errors import Check, ErrorCode, ServiceError, Validation
from chalicelib.schemas.agents import BulkItem, BulkUpdate
from chalicelib.services.admission import admit
from chalicelib.services.merchants import existing
from chalicelib.settings import settings
from chalicelib.store import agents, logins, merchants
from chalicelib.store.agents import LoginChange
from chalicelib.store.optimistic import retry_on_change
from chalicelib.store.table import read, read_all

MAX_ITEMS = 100


def update(body: BulkUpdate, caller: Caller, merchant_id: int, now: datetime) -> list[Validation]:
    """Do whatever is right; the findings say what was not done, under the e-mail or the printer it failed for."""
    if len(body.pos_bulk) > MAX_ITEMS:
        raise ServiceError(ErrorCode.BATCH_TOO_LONG, f"A batch has at most {MAX_ITEMS} items.")
    admitted = admit(caller, merchants.key(merchant_id), current_account_id=body.current_account_id)
    permissions.manage(admitted.agent, merchant_id)
    existing(admitted.others[0])

    items, findings = body.items()
    found: list[Login | None] = read_all([logins.key(item.email) for item in items])
    seen: set[str] = set()
    for item, login in zip(items, found, strict=True):
        printer, wrong = _checked(item, login, merchant_id, seen)
        seen.add(canonical(item.email))
        if wrong or login is None:
            findings += wrong
            continue
        if not _apply(item, login, printer, Act("bulk", caller.agent_id, now)):
            findings.append(_unknown(item))
    return findings


def _checked(
    item: BulkItem, login: Login | None, merchant_id: int, seen: set[str]
) -> tuple[PrinterSettings | None, list[Validation]]:
    if canonical(item.email) in seen:
        return None, [Validation(item.email, Check.TWICE, "The e-mail is in the batch already.")]
    if login is None or login.client_id != merchant_id:
        return None, [_unknown(item)]
    asked = item.printer_and_tax_settings
    if asked is None:
        return None, []
    printer, unknown = references.printer(asked.printer_id, asked.printer_code, settings().printers)
    name = str(asked.printer_code if asked.printer_id is None else asked.printer_id)
    return printer, [Validation(name, finding.code, finding.message) for finding in unknown]


def _unknown(item: BulkItem) -> Validation:
    error = ErrorCode.AGENT_NOT_FOUND
    return Validation(item.email, error.code, error.message)


def _apply(item: BulkItem, login: Login, printer: PrinterSettings | None, act: Act) -> bool:
    """Whether the agent is still there to be changed."""

    def attempt() -> bool:
        before = read(agents.key(login.agent_id))
        if before is None or canonical(before.email) != canonical(item.email):
            return False

        after = _changed(before, item, printer)

        if changed(before, after):
            agents.change(before, after, LoginChange(), act)
        return True

    return retry_on_change(attempt)


def _changed(before: Agent, item: BulkItem, printer: PrinterSettings | None) -> Agent:
    state = before.state if item.state is None else item.state
    return replace(
        before,
        state=state,
        printer=printer or before.printer,
        version=before.version + 1,
        credential_version=before.credential_version + (state != before.state),
    )
