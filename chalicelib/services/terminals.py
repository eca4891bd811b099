"""Create and list terminals."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from chalicelib.domain import permissions
from chalicelib.domain.agent import Caller
from chalicelib.domain.agent_assignments import resolve_group
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.paging import page_of
from chalicelib.domain.terminal import Terminal
from chalicelib.errors import ErrorCode, Finding, invalid_references, missing
from chalicelib.schemas.terminals import CreateTerminal, ListTerminals, check_shown
from chalicelib.services.caller_check import Admitted, admit
from chalicelib.services.merchants import require_merchant
from chalicelib.store import merchants, sequences, terminals, unique_names
from chalicelib.store.audit import Act
from chalicelib.store.retries import retry_on_change
from chalicelib.store.table import Key, Write, read
from chalicelib.store.unique_names import UniqueName

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


def create(body: CreateTerminal, caller: Caller, now: datetime) -> tuple[Terminal, Merchant | None]:
    """Create a terminal of the merchant that the BranchID names. Return it, and the merchant that lost its number.

    Its number at the bank (BackRetailerID) belongs to the merchant that first has it. Only a system user moves it:
    otherwise a merchant could take payments into the account of another one.
    """

    def attempt() -> tuple[Terminal, Merchant | None]:
        branch_id, names = body.readable("branch_id"), _names(body)
        keys: list[Key[Any]] = [*([] if branch_id is None else [merchants.key(branch_id)]), *names.values()]
        admitted = admit(caller, *keys, current_account_id=body.current_account_id)
        merchant = _merchant_of_branch(admitted, body)
        group, findings = resolve_group(merchant, body.terminal_group_id, body.terminal_group_code)
        findings += _taken(names, admitted, merchant)
        if findings or group is None:
            raise invalid_references(*findings)
        body.check_readable()

        act = Act("create", caller.agent_id, now)
        terminal = Terminal(
            id=sequences.next_id(terminals.TABLE),
            client_id=merchant.id,
            group_id=group.id,
            created_at=now,
            financial_institution_id=merchant.financial_institution_id,
            branch_name=merchant.name,
            **body.record_fields(),
        )
        check_shown(terminal, body)
        loser, registered = _register_mid(terminal, merchant, admitted, act)

        tid = unique_names.register_tid(merchant.id, terminal.tid, terminal.id)
        terminals.create(terminal, act, tid, *registered)
        return terminal, loser

    return retry_on_change(attempt)


def _register_mid(
    terminal: Terminal, merchant: Merchant, admitted: Admitted, act: Act
) -> tuple[Merchant | None, list[Write]]:
    """Return the merchant from which a system user moves the number at the bank, if any, and the writes."""
    mid = terminal.back_retailer_id
    if not mid:
        return None, []
    held = admitted.read(unique_names.mid_key(mid)) if admitted.agent.is_system_user else None
    loser = read(merchants.key(held.holder)) if held and held.holder != merchant.id else None
    if loser is None:
        return None, [unique_names.register_mid(mid, merchant.id)]
    return loser, unique_names.move_mid(mid, loser, merchant, act)


def _names(body: CreateTerminal) -> dict[str, Key[UniqueName]]:
    """Return the keys of the unique names of a request with faults, by field. The store checks any other request's."""
    branch_id, tid, mid = map(body.readable, ("branch_id", "name", "back_retailer_id"))
    if not body.faults or branch_id is None:
        return {}
    of_tid = {"name": unique_names.tid_key(branch_id, tid)} if tid else {}
    return of_tid | ({"back_retailer_id": unique_names.mid_key(mid)} if mid else {})


def _taken(names: Mapping[str, Key[UniqueName]], admitted: Admitted, merchant: Merchant) -> list[Finding]:
    found = {field: name for field, key in names.items() if (name := admitted.read(key))}
    mid = found.pop("back_retailer_id", None)
    is_foreign = mid and mid.holder != merchant.id and not admitted.agent.is_system_user
    return [missing(field, ErrorCode.TID_TAKEN) for field in found] + ([unique_names.MID_TAKEN] if is_foreign else [])


def _merchant_of_branch(admitted: Admitted, body: CreateTerminal) -> Merchant:
    """Return the merchant that the branch names. Another merchant's branch is refused like a missing one."""
    agent = admitted.agent
    permissions.check_can_manage(agent, agent.client_id)
    branch_id = body.branch_id
    merchant = admitted.read(merchants.key(branch_id))
    foreign = not agent.is_system_user and agent.client_id != branch_id
    if merchant is None or merchant.deleted or foreign:
        raise invalid_references(missing("branch_id", ErrorCode.BRANCH_NOT_FOUND))
    return merchant
