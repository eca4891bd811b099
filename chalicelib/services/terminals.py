"""Create and list terminals."""

from datetime import datetime

from chalicelib.domain import permissions
from chalicelib.domain.agent import Caller
from chalicelib.domain.history_page import page_of
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.terminal import Terminal, resolve_group
from chalicelib.errors import ErrorCode, invalid_references, missing
from chalicelib.schemas.terminals import CreateTerminal, ListTerminals
from chalicelib.services.caller_check import Admitted, admit
from chalicelib.services.merchants import require_merchant
from chalicelib.store import merchants, sequences, terminals
from chalicelib.store.audit import Act

SEARCHED = ("tid", "title", "back_retailer_id", "city", "description")  # of a terminal


def list_page(body: ListTerminals, caller: Caller, merchant_id: int) -> tuple[list[Terminal], int]:
    """Return a page of the matching terminals of a merchant, the newest first, and the number of all matches."""
    admitted = admit(caller, merchants.key(merchant_id), current_account_id=body.current_account_id)
    permissions.check_can_manage(admitted.agent, merchant_id)
    require_merchant(admitted, merchant_id)

    searched = (body.search or "").casefold()
    found = [
        terminal
        for terminal in terminals.of_merchant(merchant_id)
        if body.state in (None, terminal.state)
        and searched in "\n".join(filter(None, (getattr(terminal, name) for name in SEARCHED))).casefold()
    ]
    newest_first = sorted(found, key=lambda one: (one.created_at, one.id), reverse=True)
    return page_of(newest_first, body.page), len(found)


def create(body: CreateTerminal, caller: Caller, now: datetime) -> Terminal:
    """Create a terminal of the merchant that the BranchID names.

    Its number at the bank (BackRetailerID) belongs to the merchant that first has it. Only a system user moves it:
    otherwise a merchant could take payments into the account of another one.
    """
    admitted = admit(caller, merchants.key(body.branch_id), current_account_id=body.current_account_id)
    merchant = _merchant_of_branch(admitted, body.branch_id)
    group, findings = resolve_group(merchant, body.terminal_group_id, body.terminal_group_code)
    if findings or group is None:
        raise invalid_references(*findings)

    terminal = Terminal(
        id=sequences.next_id(terminals.TABLE),
        client_id=merchant.id,
        group_id=group.id,
        created_at=now,
        financial_institution_id=merchant.financial_institution_id,
        branch_name=merchant.name,
        **body.record_fields(),
    )

    terminals.create(terminal, Act("create", caller.agent_id, now), moves_mid=admitted.agent.is_system_user)
    return terminal


def _merchant_of_branch(admitted: Admitted, branch_id: int) -> Merchant:
    """Return the merchant that the branch names. Another merchant's branch is refused like a missing one."""
    agent = admitted.agent
    permissions.check_can_manage(agent, branch_id if agent.is_system_user else agent.client_id)
    merchant = admitted.read(merchants.key(branch_id))
    foreign = not agent.is_system_user and agent.client_id != branch_id
    if merchant is None or merchant.deleted or foreign:
        raise invalid_references(missing("branch_id", ErrorCode.BRANCH_NOT_FOUND))
    return merchant
