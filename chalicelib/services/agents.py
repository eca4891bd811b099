"""Create, read, update and search agents, one by one and in batches."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from chalicelib.domain import agent_assignments, permissions
from chalicelib.domain.agent import BLOCKED, Agent, Caller, Login, PrinterSettings
from chalicelib.domain.agent_assignments import Profile, matches_search
from chalicelib.domain.effective_settings import merge_settings
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.paging import page_of
from chalicelib.domain.second_factor import Factor
from chalicelib.domain.secret import Secret
from chalicelib.domain.sign_in import canonical
from chalicelib.domain.welcome import welcome_agent
from chalicelib.errors import Check, ErrorCode, Finding, ServiceError, Validation, invalid, invalid_references, missing
from chalicelib.gateways.secrets import keyed_digest, seal, unseal
from chalicelib.schemas.agents import (
    BulkUpdate,
    CreateAgent,
    ListAgents,
    ReadableItem,
    UpdateAgent,
    branches_of,
    in_order,
    rights_fields,
)
from chalicelib.schemas.field_types import is_email
from chalicelib.schemas.request_context import Context
from chalicelib.services import message_limits, pictures
from chalicelib.services.authentication import new_secret_key
from chalicelib.services.caller_check import Admitted, admit
from chalicelib.services.creations import Created, Once, may_show, require_created
from chalicelib.services.merchants import check_same_as_path, require_merchant
from chalicelib.services.passwords import hash_password, is_documented, verify, weakness_of
from chalicelib.settings import settings
from chalicelib.store import agent_changes, agent_sessions, agents, audit, merchants, sequences, terminals, unique_names
from chalicelib.store.agent_changes import LoginChange
from chalicelib.store.audit import Act, changed_fields
from chalicelib.store.creations import Creation
from chalicelib.store.retries import ChangedMeanwhileError, retry_on_change
from chalicelib.store.table import Key, Write, read, read_all


def create(
    body: CreateAgent, caller: Caller, merchant_id: int, now: datetime, *, key: str | None = None
) -> Created[Profile]:
    """Create an agent of the merchant, with the secret key in the request or a random one.

    Return the agent with this key. `key` is the Idempotency-Key header: raise ID_REUSED when it was used with other
    content.
    """
    once = Once.of("agent", key, caller, body, Context.model_fields, merchant_id)

    def attempt() -> Created[Profile]:
        keys = _keys_of_references(body, merchant_id)
        admitted = admit(
            caller, merchants.key(merchant_id), *once.keys, *keys, current_account_id=body.current_account_id
        )
        permissions.check_can_manage(admitted.agent, merchant_id)
        merchant = require_merchant(admitted, merchant_id)
        if first := once.first(admitted):
            return _created_first(first, merchant, caller, now)
        differs = check_same_as_path("client_id", body.readable("client_id"), merchant_id)
        resolved = _resolve_references(body, merchant, admitted, differs)

        secret_key = body.secret_key or new_secret_key()
        agent, login = _new_agent(body, merchant_id, resolved, secret_key, now)
        welcome = welcome_agent(secrets.token_hex(16), merchant_id, agent.name, agent.email, now)
        shown = Act("show", caller.agent_id, now + timedelta(microseconds=1))  # after the creation
        entry = audit.write(f"agent#{agent.id}", shown, SHOWN)

        def store(*message: Write) -> None:
            result = {"password_hash": login.password_hash, "withheld": bool(body.send_welcome_email and not message)}
            first = once.writes(agent.id, now, agent.secret_key_sealed, **result)
            agent_changes.create(agent, login, Act("create", caller.agent_id, now), *first, *message, entry)

        withheld = message_limits.store_welcomed(store, welcome if body.send_welcome_email else None, caller.agent_id)
        return Created(replace(_profile(agent, merchant), secret_key=secret_key), withheld)

    return retry_on_change(attempt)


def _created_first(first: Creation, merchant: Merchant, caller: Caller, now: datetime) -> Created[Profile]:
    """Return the agent that the first request with a key created, for a day with the key of its answer."""
    agent = require_created(agents.key(first.id), ErrorCode.AGENT_NOT_FOUND)
    shows_key = may_show(first, agent.secret_key_sealed, now)
    secret_key = secret_key_of(agent, Act("show", caller.agent_id, now)) if shows_key else None
    return Created(replace(_profile(agent, merchant), secret_key=secret_key), first.withheld, replayed=True)


def get(caller: Caller, merchant_id: int, pos_id: int, now: datetime) -> Profile:
    """Return an agent with its remembered sessions, and with its secret key if the caller may see it."""
    admitted = admit(caller, merchants.key(merchant_id), agents.key(pos_id))
    permissions.check_can_see_agent(admitted.agent, merchant_id, pos_id)
    merchant, agent = require_merchant(admitted, merchant_id), _agent_of_merchant(merchant_id, admitted, pos_id)
    sessions = agent_sessions.remembered(agent, now) if permissions.may_be_remembered(agent, merchant) else []
    shows_key = permissions.can_see_secret_key(admitted.agent, by_session=caller.session is not None)
    secret_key = secret_key_of(agent, Act("show", caller.agent_id, now)) if shows_key else None
    return replace(_profile(agent, merchant), secret_key=secret_key, sessions=tuple(sessions))


SHOWN = ("secret_key",)  # the field of an act that shows an agent's secret key


def secret_key_of(agent: Agent, act: Act) -> Secret | None:
    """Return the secret key of an agent, if it has one, and record in the audit who sees it. Each call calls KMS."""
    if agent.secret_key_sealed is None:
        return None
    secret_key = unseal(agent.secret_key_sealed, agent.id)
    audit.store(f"agent#{agent.id}", act, SHOWN)
    return secret_key


def update(body: UpdateAgent, caller: Caller, merchant_id: int, pos_id: int, now: datetime) -> Profile:
    """Update the fields that the request sets. Concurrent changes of other fields are kept."""

    def attempt() -> Profile:
        keys = _keys_of_references(body, merchant_id)
        admitted = admit(
            caller,
            merchants.key(merchant_id),
            agents.key(pos_id),
            *keys,
            current_account_id=body.current_account_id,
        )
        permissions.check_can_manage(admitted.agent, merchant_id)
        if body.branches_actions is not None:
            permissions.check_can_change_rights(admitted.agent, pos_id)
        if body.readable("totp_off"):
            permissions.check_can_change_rights(admitted.agent, pos_id, "totp_off", "second factor here")
        merchant, before = require_merchant(admitted, merchant_id), _agent_of_merchant(merchant_id, admitted, pos_id)
        differs = check_same_as_path("id", body.readable("id"), pos_id)
        resolved = _resolve_references(body, merchant, admitted, differs, before)

        after = _next_version(before, body, resolved)
        login = _login_change(body, before, after)
        checks = _checks_of_administrator(admitted.agent, before, after, {pos_id})
        ended = _ended_sessions(body, before, after, merchant, now)
        if len(ended) > MOST_ENDED:
            after, ended = replace(after, credential_version=before.credential_version + 1), []
        login = replace(login, end_sessions=bool(ended) or login.end_sessions)

        if body.password:
            _check_new_password(body.password, before, after)
        if changed_fields(before, after) or login != LoginChange():
            agent_changes.change(before, after, login, Act("update", caller.agent_id, now), *checks, *ended)
        return _profile(after, merchant)

    return retry_on_change(attempt)


def _check_new_password(password: Secret, before: Agent, after: Agent) -> None:
    """Refuse the present password, last: beside another fault, a guess that changes nothing could try passwords."""
    login = read(agents.login_key(before.email))
    moved = read(agents.login_key(after.email)) if canonical(after.email) != canonical(before.email) else None
    if moved is None and login and login.password_hash and verify(login.password_hash, password):
        message = "It is the present password. Choose another password."
        raise invalid_references(Finding("password", Check.FORMAT, message))


LAST_ADMINISTRATOR = "The last active administrator of a merchant may not block itself."


def _checks_of_administrator(caller: Agent, before: Agent, after: Agent, ended: set[int]) -> list[Write]:
    """Return the check, for the transaction of a change, that another administrator of the merchant stays one.

    `ended` are the agents that the request blocks or takes the right from. Raise 202 when no other is left. Only a
    change that ends an administrator has a check; a system user has no merchant and may end any.
    """
    if caller.is_system_user or not _is_active_administrator(before) or _is_active_administrator(after):
        return []
    stays = caller.id not in ended and _is_active_administrator(caller)
    staying = caller if stays else _other_administrator(caller.client_id, ended)
    if staying is None:
        raise invalid(Finding("state", Check.CONTRADICTION, LAST_ADMINISTRATOR))
    return [agent_changes.check_unchanged(staying)]


def _is_active_administrator(agent: Agent) -> bool:
    return permissions.is_administrator(agent) and agent.is_active


def _other_administrator(client_id: int, ended: set[int]) -> Agent | None:
    others = [one for one in agents.of_merchant(client_id) if one.id not in ended and permissions.is_administrator(one)]
    current: list[Agent | None] = read_all([agents.key(one.id) for one in others])
    return next((one for one in current if one is not None and _is_active_administrator(one)), None)


def _new_agent(
    body: CreateAgent, merchant_id: int, resolved: dict[str, Any], secret_key: Secret, now: datetime
) -> tuple[Agent, Login]:
    agent_id = sequences.next_id(agents.TABLE)
    agent = Agent(
        id=agent_id,
        client_id=merchant_id,
        created_at=now,
        secret_key_sealed=seal(secret_key, agent_id),
        **body.record_fields(),
        **resolved,
        **pictures.store_picture(body.image_avatar, f"agents/{agent_id}"),
    )
    login = Login(
        email=canonical(agent.email),
        agent_id=agent_id,
        client_id=merchant_id,
        state=agent.state,
        terminal_id=agent.terminal_id,
        password_hash=hash_password(body.password) if body.password else None,
        key_digest=keyed_digest(secret_key),
    )
    return agent, login


def _agent_of_merchant(merchant_id: int, admitted: Admitted, pos_id: int) -> Agent:
    """Return the agent of the path, or raise AGENT_NOT_FOUND when it is missing or another merchant's."""
    agent = admitted.read(agents.key(pos_id))
    if agent is None or agent.client_id != merchant_id:
        raise ServiceError(ErrorCode.AGENT_NOT_FOUND)
    return agent


def _profile(agent: Agent, merchant: Merchant) -> Profile:
    keys: list[Key[Any]] = [agents.login_key(agent.email)]
    keys += [terminals.key(agent.terminal_id)] if agent.terminal_id is not None else []
    login, *at = read_all(keys)
    return Profile(agent, merchant, login, at[0].tid if at and at[0] else None, pictures.signed_url(agent.avatar_key))


def _keys_of_references(body: CreateAgent | UpdateAgent, merchant_id: int) -> list[Key[Any]]:
    keys: list[Key[Any]] = []
    if body.terminal_id is not None:
        keys.append(terminals.key(body.terminal_id))
    if body.tid is not None:
        keys.append(unique_names.tid_key(merchant_id, body.tid))
    if body.faults and (email := body.readable("email")):
        keys.append(agents.login_key(email))
    return keys


def _resolve_references(
    body: CreateAgent | UpdateAgent,
    merchant: Merchant,
    admitted: Admitted,
    differs: list[Finding],
    before: Agent | None = None,
) -> dict[str, Any]:
    """Return the fields of the agent's record that follow from the body's references.

    Raise all findings together, after those in `differs`, when references lead to no record, or the credentials are
    easy to guess. The store refuses a taken e-mail, so it is only looked up for a request with faults, which is not
    stored.
    """
    merchant_id = merchant.id
    terminal = None if body.terminal_id is None else admitted.read(terminals.key(body.terminal_id))
    claim = None if body.tid is None else admitted.read(unique_names.tid_key(merchant_id, body.tid))
    by_id, by_tid = (body.terminal_id, terminal), (body.tid, (claim and claim.holder) or None)
    terminal_id, of_terminal = agent_assignments.resolve_terminal(merchant_id, by_id, by_tid)
    requested = body.printer_and_tax_settings
    names = (requested.printer_id, requested.printer_code) if requested else (None, None)
    printer, of_printer = agent_assignments.resolve_printer(*names, settings().printers)
    own_branch = {} if (branch_id := body.readable("branch_id")) is None else {"branch_id": branch_id}
    of_rights = branches_of(body.branches_actions, "branches_actions")
    of_branches = agent_assignments.check_branches(merchant_id, {**own_branch, **of_rights})
    findings = [*differs, *of_branches, *of_terminal, *of_printer]
    findings += _check_credentials(body, merchant, before)
    if body.faults and (email := body.readable("email")):
        login = admitted.read(agents.login_key(email))
        findings += (
            [missing("email", ErrorCode.EMAIL_TAKEN)] if login and login.agent_id != (before and before.id) else []
        )
    if findings:
        raise invalid_references(*findings)
    body.check_readable()
    return {name: value for name, value in (("terminal_id", terminal_id), ("printer", printer)) if value is not None}


def _check_credentials(body: CreateAgent | UpdateAgent, merchant: Merchant, before: Agent | None) -> list[Finding]:
    """Return the findings about a new password and a new secret key that are easy to guess."""
    password, secret_key, email = map(body.readable, ("password", "secret_key", "email"))
    findings = []
    if secret_key and is_documented(secret_key):
        findings.append(Finding("secret_key", Check.FORMAT, "It stands in the documents of the service."))
    if password:
        stored = before.branches_actions if before else ()
        rights = rights_fields(None if body.faults else body.branches_actions).get("branches_actions", stored)
        weakness = weakness_of(
            password,
            email or (before.email if before else ""),
            shop=merchant.name,
            is_manager=any(permissions.Right.ADMINISTRATOR in one.actions for one in rights),
        )
        findings += [weakness] if weakness else []
    return findings


def _next_version(before: Agent, body: UpdateAgent, resolved: dict[str, Any]) -> Agent:
    """Return the next version of the agent, with a new credential version if a credential or the state changes."""
    fields = body.record_fields() | resolved | pictures.store_picture(body.image, f"agents/{before.id}")
    if body.secret_key:
        fields["secret_key_sealed"] = seal(body.secret_key, before.id)
    if requested := body.mobile_settings:
        stored = before.mobile_settings
        fields["mobile_settings"] = merge_settings(stored, requested.to_domain(), requested.reset_fields())
    after = replace(before, **fields)
    ends_all = body.end_sessions is True
    ends_credentials = body.password or body.secret_key or ends_all or after.state != before.state
    return replace(after, credential_version=before.credential_version + bool(ends_credentials))


MOST_ENDED = 90  # sessions one by one: a transaction has 100 writes


def _ended_sessions(body: UpdateAgent, before: Agent, after: Agent, merchant: Merchant, now: datetime) -> list[Write]:
    """Return the writes that end the sessions of the request's list; all remembered ones if the agent's may be no more.

    One that has ended already is left out. Without these writes, the feature's return would revive them.
    """
    was, is_still = (permissions.may_be_remembered(one, merchant) for one in (before, after))
    named = body.end_sessions if isinstance(body.end_sessions, tuple) else ()
    if not named and is_still >= was:
        return []
    remembered = agent_sessions.remembered(before, now)
    return agent_sessions.end_remembered(one for one in remembered if was > is_still or one.name in named)


def _login_change(body: UpdateAgent, before: Agent, after: Agent) -> LoginChange:
    moved = None
    if canonical(after.email) != canonical(before.email):
        moved = read(agents.login_key(before.email))
        if moved is None:
            raise ChangedMeanwhileError
    return LoginChange(
        password_hash=hash_password(body.password) if body.password else None,
        key_digest=keyed_digest(body.secret_key) if body.secret_key else None,
        unlock=bool(body.unlock or body.password),
        end_sessions=body.end_sessions is True,
        moved=moved,
        factor=Factor() if before.totp_on > after.totp_on else None,
    )


MAX_ITEMS = 100


def update_bulk(body: BulkUpdate, caller: Caller, merchant_id: int, now: datetime) -> list[list[Validation]]:
    """Update the agents of the valid items, and return the findings about each item.

    The contract requires that the Property of a finding is the e-mail or the printer with the problem.
    """
    admitted = admit(caller, merchants.key(merchant_id), current_account_id=body.current_account_id)
    permissions.check_can_manage(admitted.agent, merchant_id)
    require_merchant(admitted, merchant_id)
    if len(body.pos_bulk) > MAX_ITEMS:
        raise ServiceError(ErrorCode.BATCH_TOO_LONG, f"A batch has at most {MAX_ITEMS} items.")

    items = body.read_items()
    logins = _logins_by_email({item.email for item, _ in items})
    found = [logins.get(canonical(item.email)) for item, _ in items]
    ended = _ended(admitted.agent, [item for item, _ in items], found)
    seen: set[str] = set()
    is_spared = admitted.agent.id not in ended
    findings: list[list[Validation]] = []
    for number, ((item, unreadable), login) in enumerate(zip(items, found, strict=True)):
        of_email = _check_email(item.email, login, merchant_id, seen) if item.email else []
        if login and login.agent_id == caller.agent_id and item.state == BLOCKED and is_spared:
            of_email.append(Validation(item.email, Check.CONTRADICTION, LAST_ADMINISTRATOR))
        printer, of_printer = _resolve_printer(item)
        branches = branches_of(item.branches_actions, f"pos_bulk[{number}].branches_actions")
        of_branches = map(body.located, agent_assignments.check_branches(merchant_id, branches))
        problems = [*of_email, *unreadable, *of_printer, *of_branches]
        if not problems and login and not body.faults:
            act = Act("bulk", caller.agent_id, now)
            problems = _apply(item, login, printer, act, admitted.agent, ended)
        findings.append(problems)
    if body.faults:
        raise invalid(*in_order(findings))
    return findings


def _ended(caller: Agent, items: list[ReadableItem], logins: list[Login | None]) -> set[int]:
    """Return the IDs of the agents that a batch blocks or takes the right of an administrator from.

    The caller is spared when its merchant would have no administrator. Raise ROLE_MAY_NOT when the caller changes its
    own rights.
    """
    for number, (item, login) in enumerate(zip(items, logins, strict=True)):
        if login and item.branches_actions is not None:
            permissions.check_can_change_rights(caller, login.agent_id, f"pos_bulk[{number}].branches_actions")
    changes = [(item, login) for item, login in zip(items, logins, strict=True) if login]
    ended = {login.agent_id for item, login in changes if item.state == BLOCKED or item.takes_administration}
    if caller.is_system_user or caller.id not in ended or _other_administrator(caller.client_id, ended):
        return ended
    return ended - {caller.id}


def _logins_by_email(emails: set[str]) -> dict[str, Login]:
    """Return the logins of the texts that are e-mail addresses of agents."""
    addresses = sorted({canonical(email) for email in emails if is_email(canonical(email))})
    found: list[Login | None] = read_all([agents.login_key(address) for address in addresses])
    return {address: login for address, login in zip(addresses, found, strict=True) if login}


def _check_email(email: str, login: Login | None, merchant_id: int, seen: set[str]) -> list[Validation]:
    """Return the findings about an item's e-mail, and add it to the e-mails seen in the batch."""
    findings = [] if login and login.client_id == merchant_id else [_agent_not_found(email)]
    if canonical(email) in seen:
        findings.append(Validation(email, Check.TWICE, "The e-mail is in the batch already."))
    seen.add(canonical(email))
    return findings


def _resolve_printer(item: ReadableItem) -> tuple[PrinterSettings | None, list[Validation]]:
    requested = item.printer_and_tax_settings
    if requested is None:
        return None, []
    printer, findings = agent_assignments.resolve_printer(
        requested.printer_id, requested.printer_code, settings().printers
    )
    sent = {"printer.printer_id": requested.printer_id, "printer.printer_code": requested.printer_code}
    return printer, [Validation(str(sent[finding.field]), finding.code, finding.message) for finding in findings]


def _agent_not_found(email: str) -> Validation:
    error = ErrorCode.AGENT_NOT_FOUND
    return Validation(email, error.code, error.message)


def _apply(  # noqa: PLR0913, PLR0917  each argument is needed and independent
    item: ReadableItem, login: Login, printer: PrinterSettings | None, act: Act, caller: Agent, ended: set[int]
) -> list[Validation]:
    """Update the agent. Return a finding when the e-mail no longer belongs to it, or no administrator would be left."""

    def attempt() -> list[Validation]:
        before = read(agents.key(login.agent_id))
        if before is None or canonical(before.email) != login.email:
            return [_agent_not_found(item.email)]

        after = _next_version_of_item(before, item, printer)
        try:
            current = read(agents.key(caller.id)) if login.agent_id in ended else None
            checks = _checks_of_administrator(current or caller, before, after, ended)
        except ServiceError as refusal:
            if refusal.error is not ErrorCode.VALIDATION_FAILED:  # an outage of the store says nothing about the item
                raise
            return [Validation(item.email, Check.CONTRADICTION, LAST_ADMINISTRATOR)]

        if changed_fields(before, after):
            agent_changes.change(before, after, LoginChange(), act, *checks)
        return []

    return retry_on_change(attempt)


def _next_version_of_item(before: Agent, item: ReadableItem, printer: PrinterSettings | None) -> Agent:
    state = before.state if item.state is None else item.state
    return replace(
        before,
        state=state,
        printer=printer or before.printer,
        credential_version=before.credential_version + (state != before.state),
        **rights_fields(item.branches_actions),
    )


def search(body: ListAgents, caller: Caller, merchant_id: int, now: datetime) -> tuple[list[Profile], int]:
    """Return a page of the matching agents, by ID, and the number of all matches.

    Only a search for an e-mail returns the secret key, because each key is a call of KMS.
    """
    admitted = admit(caller, merchants.key(merchant_id), current_account_id=body.current_account_id)
    permissions.check_can_manage(admitted.agent, merchant_id)
    merchant = require_merchant(admitted, merchant_id)

    candidates = agents.of_merchant(merchant_id) if body.email is None else _with_email(body.email, merchant_id)
    names = {terminal.id: terminal.tid for terminal in terminals.of_merchant(merchant_id)}
    found = [
        agent
        for agent in candidates
        if body.state in (None, agent.state)
        and (not body.search or matches_search(agent, body.search, names.get(agent.terminal_id or 0)))
    ]

    profiles = profiles_of(page_of(found, body.page), merchant, names)
    if body.email is not None:
        act = Act("show", caller.agent_id, now)
        profiles = [replace(one, secret_key=secret_key_of(one.agent, act)) for one in profiles]
    return profiles, len(found)


def profiles_of(listed: Sequence[Agent], merchant: Merchant, tids: Mapping[int, str]) -> list[Profile]:
    """Return the agents of a merchant for a list. `tids` are the names of the merchant's terminals, by ID."""
    logins: list[Login | None] = read_all([agents.login_key(agent.email) for agent in listed], for_list=True)
    return [
        Profile(
            agent, merchant, login, tids.get(agent.terminal_id or 0), avatar_url=pictures.signed_url(agent.avatar_key)
        )
        for agent, login in zip(listed, logins, strict=True)
    ]


def _with_email(email: str, merchant_id: int) -> list[Agent]:
    """Return the merchant's agent with this e-mail, if any. The strong read also finds an agent created just now."""
    login = read(agents.login_key(email)) if email.strip() else None
    agent = read(agents.key(login.agent_id)) if login and login.client_id == merchant_id else None
    return [agent] if agent else []
