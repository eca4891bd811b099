"""The terminal, printer, branch and group that a request names, found or refused; the search over agents."""

from collections.abc import Mapping
from dataclasses import dataclass

from chalicelib.domain.agent import Agent, Login, PrinterSettings
from chalicelib.domain.merchant import DEFAULT_GROUP, Merchant, TerminalGroup
from chalicelib.domain.secret import Secret
from chalicelib.domain.sessions import RememberedSession
from chalicelib.domain.terminal import Terminal
from chalicelib.errors import Check, ErrorCode, Finding, missing

Findings = list[Finding]


def resolve_terminal(
    client_id: int, by_id: tuple[int | None, Terminal | None], by_tid: tuple[str | None, int | None]
) -> tuple[int | None, Findings]:
    """Return the ID of the terminal that a request names by ID, by name (TID) or by both, and the findings.

    `by_id` is the requested ID and the terminal found for it. `by_tid` is the requested name and the ID of the
    merchant's terminal with this name.
    """
    (requested_id, terminal), (requested_tid, id_of_tid) = by_id, by_tid
    findings = []
    if requested_id is not None and (terminal is None or terminal.client_id != client_id):
        findings.append(missing("terminal_id", ErrorCode.TERMINAL_NOT_FOUND))
    if requested_tid is not None and id_of_tid is None:
        findings.append(missing("tid", ErrorCode.TERMINAL_NOT_FOUND))
    if not findings and requested_id is not None and id_of_tid not in (None, requested_id):
        findings.append(Finding("tid", Check.CONTRADICTION, "TerminalID and TID name different terminals."))
    return (requested_id if requested_id is not None else id_of_tid), findings


def resolve_printer(
    printer_id: int | None, printer_code: str | None, catalogue: Mapping[int, str]
) -> tuple[PrinterSettings | None, Findings]:
    """Return the printer of the stage's catalogue with this ID, code or both, and the findings.

    The printer is None when neither is requested. The catalogue holds the code of each printer by its ID.
    """
    if printer_id is None and printer_code is None:
        return None, []
    for number, code in catalogue.items():
        if printer_id in (None, number) and printer_code in (None, code):
            return PrinterSettings(number, code), []
    if printer_id is not None and printer_id not in catalogue:
        return None, [missing("printer.printer_id", ErrorCode.PRINTER_NOT_FOUND)]
    if printer_code not in catalogue.values():
        return None, [missing("printer.printer_code", ErrorCode.PRINTER_NOT_FOUND)]
    message = "PrinterID and PrinterCode name different printers."
    return None, [Finding("printer.printer_code", Check.CONTRADICTION, message)]


def check_branches(client_id: int, requested: Mapping[str, int]) -> Findings:
    """Return a finding for each field (name: branch) that names another branch than the merchant itself.

    The interface has no other branches.
    """
    return [missing(name, ErrorCode.BRANCH_NOT_FOUND) for name, branch in requested.items() if branch != client_id]


def resolve_group(
    merchant: Merchant, group_id: int | None, group_code: str | None
) -> tuple[TerminalGroup | None, list[Finding]]:
    """Return the merchant's terminal group with this ID, code or both, else the group DEFAULT, with the findings."""
    by_id = next((group for group in merchant.groups if group.id == group_id), None)
    code = DEFAULT_GROUP if group_id is None and group_code is None else group_code
    by_code = next((group for group in merchant.groups if group.code == code), None)
    findings = []
    if group_id is not None and by_id is None:
        findings.append(missing("group.id", ErrorCode.GROUP_NOT_FOUND))
    if group_code is not None and by_code is None:
        findings.append(missing("group.code", ErrorCode.GROUP_NOT_FOUND))
    if by_id and by_code and by_id != by_code:
        text = "TerminalGroupID and TerminalGroupCode name different groups."
        findings.append(Finding("group.code", Check.CONTRADICTION, text))
    return by_id or by_code, findings


@dataclass(frozen=True)
class Profile:
    """An agent, its merchant and login, the name of its terminal, and the signed URL of its picture.

    The secret key and the remembered sessions are set only where they may be shown.
    """

    agent: Agent
    merchant: Merchant
    login: Login | None = None
    tid: str | None = None
    avatar_url: str | None = None
    secret_key: Secret | None = None
    sessions: tuple[RememberedSession, ...] | None = None


def matches_search(agent: Agent, text: str, tid: str | None) -> bool:
    """Return whether an agent matches a search text.

    The text is a part of the agent's name, e-mail or terminal name, in any case, or its digits are a part of the
    telephone number. Leading zeros are ignored, because no stored number has them.
    """
    texts = (agent.name, agent.email, tid or "")
    return any(text.casefold() in part.casefold() for part in texts) or is_part_of_phone(text, agent.phone)


def is_part_of_phone(text: str, phone: str) -> bool:
    """Return whether a text looks like a telephone number, and its digits are a part of this one."""
    digits = "".join(filter(str.isdecimal, text))
    digits = digits.lstrip("0") or digits
    is_number = bool(digits) and not set(text) - set("0123456789+-() ")
    return is_number and digits in "".join(filter(str.isdecimal, phone))
