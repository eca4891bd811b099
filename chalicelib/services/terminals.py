"""Creating terminals."""

from datetime import datetime

from chalicelib.domain import permissions, references
from chalicelib.domain.agent import Caller
from chalicelib.domain.audit import Act
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.terminal import Terminal
from chalicelib.errors import ErrorCode, invalid_references
from chalicelib.schemas.terminals import CreateTerminal
from chalicelib.services.admission import Admitted, admit
from chalicelib.store import merchants, sequences, terminals


def create(body: CreateTerminal, caller: Caller, now: datetime) -> Terminal:
    """Create a terminal of the merchant that is named by its BranchID."""
    admitted = admit(caller, merchants.key(body.branch_id), current_account_id=body.current_account_id)
    merchant = _merchant_of_branch(admitted, body.branch_id)
    group, findings = references.resolve_group(merchant, body.terminal_group_id, body.terminal_group_code)
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

    terminals.create(terminal, Act("create", caller.agent_id, now))
    return terminal


def _merchant_of_branch(admitted: Admitted, branch_id: int) -> Merchant:
    """Return the merchant that the branch is. The branch of another merchant is refused as a missing one is."""
    agent = admitted.agent
    permissions.check_can_manage(agent, branch_id if agent.is_system_user else agent.client_id)
    merchant: Merchant | None = admitted.others[0]
    foreign = not agent.is_system_user and agent.client_id != branch_id
    if merchant is None or merchant.deleted or foreign:
        raise invalid_references(references.missing("branch_id", ErrorCode.BRANCH_NOT_FOUND))
    return merchant
