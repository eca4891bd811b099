"""Updating several agents: each one completely or not at all, with findings about those that were not updated."""

from dataclasses import replace
from datetime import datetime

from chalicelib.domain import permissions, references
from chalicelib.domain.agent import Agent, Caller, Login, PrinterSettings
from chalicelib.domain.audit import Act, changed_fields
from chalicelib.domain.credential import canonical
from chalicelib.errors import Check, ErrorCode, ServiceError, Validation
from chalicelib.schemas.agents import BulkItem, BulkUpdate
from chalicelib.services.admission import admit
from chalicelib.services.merchants import require_merchant
from chalicelib.settings import settings
from chalicelib.store import agents, logins, merchants
from chalicelib.store.agents import LoginChange
from chalicelib.store.optimistic import retry_on_change
from chalicelib.store.table import read, read_all

MAX_ITEMS = 100


def update(body: BulkUpdate, caller: Caller, merchant_id: int, now: datetime) -> list[Validation]:
    """Update the agents of the valid items, and return the findings about the others.

    As the contract requires, the Property of a finding is the e-mail or the printer that it is about.
    """
    if len(body.pos_bulk) > MAX_ITEMS:
        raise ServiceError(ErrorCode.BATCH_TOO_LONG, f"A batch has at most {MAX_ITEMS} items.")
    admitted = admit(caller, merchants.key(merchant_id), current_account_id=body.current_account_id)
    permissions.check_can_manage(admitted.agent, merchant_id)
    require_merchant(admitted.others[0])

    items, findings = body.parse_items()
    found: list[Login | None] = read_all([logins.key(item.email) for item in items])
    seen: set[str] = set()
    for item, login in zip(items, found, strict=True):
        printer, problems = _check(item, login, merchant_id, seen)
        seen.add(canonical(item.email))
        if problems or login is None:
            findings += problems
            continue
        if not _apply(item, login, printer, Act("bulk", caller.agent_id, now)):
            findings.append(_agent_not_found(item))
    return findings


def _check(
    item: BulkItem, login: Login | None, merchant_id: int, seen: set[str]
) -> tuple[PrinterSettings | None, list[Validation]]:
    if canonical(item.email) in seen:
        return None, [Validation(item.email, Check.TWICE, "The e-mail is in the batch already.")]
    if login is None or login.client_id != merchant_id:
        return None, [_agent_not_found(item)]
    requested = item.printer_and_tax_settings
    if requested is None:
        return None, []
    printer, missing = references.resolve_printer(requested.printer_id, requested.printer_code, settings().printers)
    sent = {"printer.printer_id": requested.printer_id, "printer.printer_code": requested.printer_code}
    return printer, [Validation(str(sent[finding.field]), finding.code, finding.message) for finding in missing]


def _agent_not_found(item: BulkItem) -> Validation:
    error = ErrorCode.AGENT_NOT_FOUND
    return Validation(item.email, error.code, error.message)


def _apply(item: BulkItem, login: Login, printer: PrinterSettings | None, act: Act) -> bool:
    """Update the agent, and return whether the e-mail still belongs to it."""

    def attempt() -> bool:
        before = read(agents.key(login.agent_id))
        if before is None or canonical(before.email) != canonical(item.email):
            return False

        after = _next_version(before, item, printer)

        if changed_fields(before, after):
            agents.change(before, after, LoginChange(), act)
        return True

    return retry_on_change(attempt)


def _next_version(before: Agent, item: BulkItem, printer: PrinterSettings | None) -> Agent:
    state = before.state if item.state is None else item.state
    return replace(
        before,
        state=state,
        printer=printer or before.printer,
        version=before.version + 1,
        credential_version=before.credential_version + (state != before.state),
    )
