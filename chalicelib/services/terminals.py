"""Create, update and list terminals."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from chalicelib.domain import permissions
from chalicelib.domain.agent import Caller
from chalicelib.domain.agent_assignments import Profile, resolve_group
from chalicelib.domain.merchant import Merchant, TerminalGroup
from chalicelib.domain.paging import page_of
from chalicelib.domain.terminal import Terminal, canonical_mid
from chalicelib.errors import ErrorCode, Finding, ServiceError, invalid_references, missing
from chalicelib.schemas.shown_size import check_shown
from chalicelib.schemas.terminals import CreateTerminal, ListTerminals, TerminalView, UpdateTerminal, check_region
from chalicelib.services import agents
from chalicelib.services.caller_check import Admitted, admit
from chalicelib.services.creations import Created, Once, require_created
from chalicelib.services.merchants import check_same_as_path, require_merchant
from chalicelib.store import agents as agents_store
from chalicelib.store import merchant_changes, merchants, sequences, terminals, unique_names
from chalicelib.store.audit import Act, changed_fields
from chalicelib.store.retries import retry_on_change
from chalicelib.store.table import Key, Write, read
from chalicelib.store.unique_names import FREE, UniqueName

MOST_ACCOUNTS = 100  # on a page, as pos/list has
TOO_MANY = (
    f"The terminals of this page have more than {MOST_ACCOUNTS} agents, or too much text: search for fewer, "
    "or leave out WithAccounts."
)
SEARCHED = ("tid", "title", "back_retailer_id", "city", "description")  # of a terminal


@dataclass(frozen=True)
class AgentsAt:
    """The agents of some terminals."""

    agents: Counter[int]  # their number, by terminal
    shown: Mapping[int, list[Profile]] | None  # by terminal; None: none are shown


@dataclass(frozen=True)
class Listed:
    """A page of terminals, the number of all matches, and the agents of each terminal of the page."""

    page: Sequence[Terminal]
    total: int
    at: AgentsAt


def list_page(body: ListTerminals, caller: Caller, merchant_id: int) -> Listed:
    """Return a page of the matching terminals of a merchant, the newest first, with their agents of now."""
    admitted = admit(caller, merchants.key(merchant_id), current_account_id=body.current_account_id)
    permissions.check_can_manage(admitted.agent, merchant_id)
    merchant = require_merchant(admitted, merchant_id)
    body.check_readable()

    stored = terminals.of_merchant(merchant_id)
    searched = (body.search or "").casefold()
    found = [
        terminal
        for terminal in stored
        if body.state in (None, terminal.state)
        and searched in "\n".join(filter(None, (getattr(terminal, name) for name in SEARCHED))).casefold()
    ]
    newest_first = sorted(found, key=lambda one: (one.created_at, one.id), reverse=True)
    page = page_of(newest_first, body.page)

    return Listed(page, len(found), _agents_at(page, merchant, with_accounts=body.with_accounts))


def _agents_at(page: Sequence[Terminal], merchant: Merchant, *, with_accounts: bool | None) -> AgentsAt:
    """Return the agents of terminals of a merchant. Raise PERIOD_TOO_LONG for more than an answer shows."""
    of_page = {terminal.id for terminal in page}
    assigned = [one for one in agents_store.of_merchant(merchant.id) if one.terminal_id in of_page and not one.deleted]
    numbers = Counter(one.terminal_id or 0 for one in assigned)
    if not with_accounts:
        return AgentsAt(numbers, None)
    if len(assigned) > MOST_ACCOUNTS:
        raise ServiceError(ErrorCode.PERIOD_TOO_LONG, TOO_MANY)
    shown: dict[int, list[Profile]] = {terminal.id: [] for terminal in page}
    for one in agents.profiles_of(assigned, merchant, {terminal.id: terminal.tid for terminal in page}):
        shown[one.agent.terminal_id or 0].append(one)
    return AgentsAt(numbers, shown)


# Country and Location are the terminal's.
CONTEXT = ("country_code", "device_info", "gmt", "app_framework", "ip", "lang", "current_account_id")


def create(body: CreateTerminal, caller: Caller, now: datetime, *, key: str | None = None) -> Created[Terminal]:
    """Create a terminal of the merchant that the BranchID names. Return it, and the merchant that lost its number.

    Its number at the bank (BackRetailerID) belongs to the merchant that first has it. Only a system user moves it:
    otherwise a merchant could take payments into the account of another one. `key` is the Idempotency-Key header: raise
    ID_REUSED when it was used with other content.
    """
    once = Once.of("terminal", key, caller, body, CONTEXT)

    def attempt() -> Created[Terminal]:
        branch_id = body.readable("branch_id")
        names = _names(body, branch_id)
        keys: list[Key[Any]] = [*([] if branch_id is None else [merchants.key(branch_id)]), *names.values()]
        admitted = admit(caller, *once.keys, *keys, current_account_id=body.current_account_id)
        merchant = _merchant_of_branch(admitted, body)
        if first := once.first(admitted):
            terminal = require_created(terminals.key(first.id), ErrorCode.TERMINAL_NOT_FOUND)
            return Created(terminal, loser=read(merchants.key(first.loser)) if first.loser else None, replayed=True)
        group = _group(body, merchant, _taken(names, admitted, merchant))
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
        check_shown(TerminalView.of(terminal), body)
        loser, registered = _register_mid(terminal, merchant, admitted, act)

        first_request = once.writes(terminal.id, now, loser=loser and loser.id)
        tid = unique_names.register_tid(merchant.id, terminal.tid, terminal.id)
        merchant_changes.create_terminal(terminal, act, *first_request, tid, *registered)
        return Created(terminal, loser=loser)

    return retry_on_change(attempt)


def update(
    body: UpdateTerminal, caller: Caller, path: tuple[int, int], now: datetime
) -> tuple[Terminal, AgentsAt, Merchant | None]:
    """Update the fields of a terminal that the request sets. `path` has its merchant and its own ID.

    Return it, its agents, and the merchant that lost its number at the bank, which has the same rules as at its
    creation. A new name frees the old one.
    """
    merchant_id, terminal_id = path

    def attempt() -> tuple[Terminal, AgentsAt, Merchant | None]:
        names = _names(body, merchant_id)
        keys: list[Key[Any]] = [merchants.key(merchant_id), terminals.key(terminal_id), *names.values()]
        admitted = admit(caller, *keys, current_account_id=body.current_account_id)
        permissions.check_can_manage(admitted.agent, merchant_id)
        merchant, before = require_merchant(admitted, merchant_id), admitted.read(terminals.key(terminal_id))
        if before is None or before.client_id != merchant_id:
            raise ServiceError(ErrorCode.TERMINAL_NOT_FOUND)
        findings = check_same_as_path("id", body.readable("id"), terminal_id)
        findings += _taken(names, admitted, merchant, terminal_id)
        findings += check_region(before.country, body.readable("region_code"))
        is_moved = (body.terminal_group_id, body.terminal_group_code) != (None, None)
        group_id = _group(body, merchant, findings).id if findings or is_moved else before.group_id
        body.check_readable()

        after = replace(before, group_id=group_id, **body.record_fields())
        at = _agents_at([after], merchant, with_accounts=body.with_accounts)
        if not changed_fields(before, after):
            return before, at, None
        check_shown(TerminalView.of(after), body)
        act = Act("update", caller.agent_id, now)
        has_same_mid = canonical_mid(after.back_retailer_id) == canonical_mid(before.back_retailer_id)
        loser, of_mid = (None, []) if has_same_mid else _register_mid(after, merchant, admitted, act)

        unique_names.change_terminal(before, after, act, *of_mid)
        return after, at, loser

    return retry_on_change(attempt)


def _group(body: CreateTerminal | UpdateTerminal, merchant: Merchant, findings: list[Finding]) -> TerminalGroup:
    """Return the group of the request. Raise what is wrong with it, and the other findings."""
    group, of_group = resolve_group(merchant, body.terminal_group_id, body.terminal_group_code)
    if group is None or findings or of_group:
        raise invalid_references(*of_group, *findings)
    return group


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


def _names(body: CreateTerminal | UpdateTerminal, client_id: int | None) -> dict[str, Key[UniqueName]]:
    """Return the keys of the unique names of a request with faults, by field. The store checks any other request's."""
    tid, mid = map(body.readable, ("name", "back_retailer_id"))
    if not body.faults or client_id is None:
        return {}
    of_tid = {"name": unique_names.tid_key(client_id, tid)} if tid else {}
    return of_tid | ({"back_retailer_id": unique_names.mid_key(mid)} if mid else {})


def _taken(
    names: Mapping[str, Key[UniqueName]], admitted: Admitted, merchant: Merchant, own: int = FREE
) -> list[Finding]:
    """Return a finding for each name that another terminal than `own`, or another merchant, has."""
    found = {field: name for field, key in names.items() if (name := admitted.read(key))}
    if "name" in found and found["name"].holder in (FREE, own):
        del found["name"]
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
