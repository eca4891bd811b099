"""Creating terminals."""

from datetime import datetime

from chalicelib.domain import permissions, references
from chalicelib.domain.agent import Caller
from chalicelib.domain.audit import Act
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.terminal import Terminal
from chalicelib.errors import ErrorCode, invalid_references
from chalicelib.iso import currency
from chalicelib.schemas.field_types import context_text
from chalicelib.schemas.terminals import CreateTerminal
from chalicelib.services.admission import Admitted, admit
from chalicelib.store import merchants, sequences, terminals


def create(body: CreateTerminal, caller: Caller, now: datetime) -> Terminal:
    """A new terminal of the merchant its BranchID names."""
    admitted = admit(caller, merchants.key(body.branch_id), current_account_id=body.current_account_id)
    merchant = _merchant(admitted, body.branch_id)
    group, findings = references.group(merchant, body.terminal_group_id, body.terminal_group_code)
    money = currency(body.currency)
    if findings or group is None or money is None:
        raise invalid_references(*findings)

    values = {"alias": body.name} | body.values()
    terminal = Terminal(
        id=sequences.next_id(terminals.TABLE),
        client_id=merchant.id,
        tid=body.name,
        currency=money,
        group_id=group.id,
        created_at=now,
        financial_institution_id=merchant.financial_institution_id,
        branch_name=merchant.name,
        request_context=context_text(body),
        **values,
    )

    terminals.create(terminal, Act("create", caller.agent_id, now))
    return terminal


def _merchant(admitted: Admitted, branch_id: int) -> Merchant:
    """The merchant the branch is. Another merchant's is answered as one that is nobody's."""
    agent = admitted.agent
    permissions.manage(agent, branch_id if agent.is_system_user else agent.client_id)
    merchant: Merchant | None = admitted.others[0]
    foreign = not agent.is_system_user and agent.client_id != branch_id
    if merchant is None or merchant.deleted or foreign:
        raise invalid_references(references.missing("branch_id", ErrorCode.BRANCH_NOT_FOUND))
    return merchant
