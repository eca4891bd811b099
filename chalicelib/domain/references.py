"""What a management request refers to: terminal, terminal group, printer, branch. Each is there or a finding."""

from collections.abc import Mapping

from chalicelib.domain.agent import PrinterSettings
from chalicelib.domain.merchant import Merchant, TerminalGroup
from chalicelib.domain.terminal import Terminal
from chalicelib.errors import Check, ErrorCode, Finding

DEFAULT_GROUP = "DEFAULT"
Findings = list[Finding]


def missing(field: str, error: ErrorCode) -> Finding:
    """The finding that a field refers to nothing."""
    return Finding(field, error.code, error.message)


def terminal_id(
    client_id: int, terminal: tuple[int | None, Terminal | None], tid: tuple[str | None, int | None]
) -> tuple[int | None, Findings]:
    """The terminal of the merchant an agent is given, by TerminalID, by TID or by both.

    Each argument is what was asked for and what was found: the terminal of an ID, the ID of a name.
    """
    (asked, found), (name, holder) = terminal, tid
    findings = []
    if asked is not None and (found is None or found.client_id != client_id):
        findings.append(missing("terminal_id", ErrorCode.TERMINAL_NOT_FOUND))
    if name is not None and holder is None:
        findings.append(missing("tid", ErrorCode.TERMINAL_NOT_FOUND))
    if not findings and asked is not None and holder not in (None, asked):
        findings.append(Finding("tid", Check.CONTRADICTION, "TerminalID and TID name different terminals."))
    return (asked if asked is not None else holder), findings


def printer(
    asked_id: int | None, asked_code: str | None, catalogue: Mapping[int, str]
) -> tuple[PrinterSettings | None, Findings]:
    """The printer of the stage's catalogue that was asked for by its ID, its code or both; None when by neither."""
    if asked_id is None and asked_code is None:
        return None, []
    for number, code in catalogue.items():
        if asked_id in (None, number) and asked_code in (None, code):
            return PrinterSettings(number, code), []
    name = "printer_id" if asked_id is not None and catalogue.get(asked_id) is None else "printer_code"
    return None, [missing(f"printer_and_tax_settings.{name}", ErrorCode.PRINTER_NOT_FOUND)]


def group(merchant: Merchant, asked_id: int | None, asked_code: str | None) -> tuple[TerminalGroup | None, Findings]:
    """The group of the merchant a terminal joins: the one asked for by ID, by code or by both, else DEFAULT."""
    by_id = next((group for group in merchant.groups if group.id == asked_id), None)
    code = DEFAULT_GROUP if asked_id is None and asked_code is None else asked_code
    by_code = next((group for group in merchant.groups if group.code == code), None)
    findings = []
    if asked_id is not None and by_id is None:
        findings.append(missing("terminal_group_id", ErrorCode.GROUP_NOT_FOUND))
    if asked_code is not None and by_code is None:
        findings.append(missing("terminal_group_code", ErrorCode.GROUP_NOT_FOUND))
    if by_id and by_code and by_id != by_code:
        text = "TerminalGroupID and TerminalGroupCode name different groups."
        findings.append(Finding("terminal_group_code", Check.CONTRADICTION, text))
    return by_id or by_code, findings


def branches(client_id: int, asked: Mapping[str, int]) -> Findings:
    """The fields (name: value) that name another branch than the merchant itself: there are no others."""
    return [missing(name, ErrorCode.BRANCH_NOT_FOUND) for name, branch in asked.items() if branch != client_id]
