"""Creating, getting and updating agents."""

import secrets
from dataclasses import replace
from datetime import datetime
from typing import Any

from chalicelib.domain import outbox as messages
from chalicelib.domain import permissions, references
from chalicelib.domain.agent import Agent, Caller, Login
from chalicelib.domain.agent_profile import Profile
from chalicelib.domain.audit import Act, changed_fields
from chalicelib.domain.credential import canonical
from chalicelib.domain.effective_settings import merge_settings
from chalicelib.domain.merchant import Merchant
from chalicelib.domain.secret import Secret
from chalicelib.errors import ErrorCode, ServiceError, invalid_references
from chalicelib.gateways.secrets import keyed_digest, seal, unseal
from chalicelib.schemas.agents import CreateAgent, UpdateAgent
from chalicelib.services import pictures
from chalicelib.services.admission import admit
from chalicelib.services.authentication import new_secret_key
from chalicelib.services.merchants import check_same_as_path, require_merchant
from chalicelib.services.passwords import hash_password
from chalicelib.settings import settings
from chalicelib.store import agents, logins, merchants, sequences, terminals
from chalicelib.store import outbox as outbox_store
from chalicelib.store.agents import LoginChange
from chalicelib.store.optimistic import ChangedMeanwhileError, retry_on_change
from chalicelib.store.table import Key, read, read_all


def create(body: CreateAgent, caller: Caller, merchant_id: int, now: datetime) -> Profile:
    """Create an agent of the merchant, with the secret key of the request, else a random one."""
    keys = [merchants.key(merchant_id), *_terminal_keys(body, merchant_id)]
    admitted = admit(caller, *keys, current_account_id=body.current_account_id)
    permissions.check_can_manage(admitted.agent, merchant_id)
    merchant = require_merchant(admitted.others[0])
    check_same_as_path("client_id", body.client_id, merchant_id)
    resolved = _resolve_references(body, merchant_id, admitted.others[1:], _branches(body))

    agent, login = _new_agent(body, merchant_id, resolved, now)
    welcome = messages.welcome(secrets.token_hex(16), merchant_id, agent.name, agent.email, now)
    mail = [welcome] if body.send_welcome_email else []

    agents.create(agent, login, Act("create", caller.agent_id, now), *map(outbox_store.put, mail))
    return _profile(agent, merchant)


def get(caller: Caller, merchant_id: int, pos_id: int) -> Profile:
    """Return an agent with its secret key."""
    admitted = admit(caller, merchants.key(merchant_id), agents.key(pos_id))
    permissions.check_can_see_agent(admitted.agent, merchant_id, pos_id)
    merchant, agent = require_merchant(admitted.others[0]), _agent_of_merchant(merchant_id, admitted.others[1])
    return replace(_profile(agent, merchant), secret_key=secret_key_of(agent))


def secret_key_of(agent: Agent) -> Secret | None:
    """Return the secret key of an agent, if it has one. Each is a call of KMS."""
    return unseal(agent.secret_key_sealed, agent.id) if agent.secret_key_sealed else None


def update(body: UpdateAgent, caller: Caller, merchant_id: int, pos_id: int, now: datetime) -> Profile:
    """Update the fields of an agent that the request sets; concurrent changes of other fields are not lost."""

    def attempt() -> Profile:
        keys = _terminal_keys(body, merchant_id)
        admitted = admit(
            caller,
            merchants.key(merchant_id),
            agents.key(pos_id),
            *keys,
            current_account_id=body.current_account_id,
        )
        permissions.check_can_manage(admitted.agent, merchant_id)
        merchant, before = require_merchant(admitted.others[0]), _agent_of_merchant(merchant_id, admitted.others[1])
        check_same_as_path("id", body.id, pos_id)
        resolved = _resolve_references(body, merchant_id, admitted.others[2:], {})

        after = _next_version(before, body, resolved)
        login = _login_change(body, before, after)

        if changed_fields(before, after) or login != LoginChange():
            agents.change(before, after, login, Act("update", caller.agent_id, now))
        return _profile(after, merchant)

    return retry_on_change(attempt)


def _new_agent(body: CreateAgent, merchant_id: int, resolved: dict[str, Any], now: datetime) -> tuple[Agent, Login]:
    """Return a new agent and its login."""
    agent_id = sequences.next_id(agents.TABLE)
    secret_key = body.secret_key or new_secret_key()
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


def _agent_of_merchant(merchant_id: int, agent: Agent | None) -> Agent:
    """Return the agent of the path, or raise AGENT_NOT_FOUND when it does not exist or is another merchant's."""
    if agent is None or agent.client_id != merchant_id:
        raise ServiceError(ErrorCode.AGENT_NOT_FOUND)
    return agent


def _profile(agent: Agent, merchant: Merchant) -> Profile:
    keys: list[Key[Any]] = [logins.key(agent.email)]
    keys += [terminals.key(agent.terminal_id)] if agent.terminal_id is not None else []
    login, *at = read_all(keys)
    return Profile(agent, merchant, login, at[0].tid if at and at[0] else None, pictures.signed_url(agent.avatar_key))


def _terminal_keys(body: CreateAgent | UpdateAgent, merchant_id: int) -> list[Key[Any]]:
    keys: list[Key[Any]] = []
    if body.terminal_id is not None:
        keys.append(terminals.key(body.terminal_id))
    if body.tid is not None:
        keys.append(sequences.tid_key(merchant_id, body.tid))
    return keys


def _branches(body: CreateAgent) -> dict[str, int]:
    within = {f"branches_actions[{n}].branch_id": item.branch_id for n, item in enumerate(body.branches_actions or ())}
    return {"branch_id": body.branch_id, **within}


def _resolve_references(
    body: CreateAgent | UpdateAgent, merchant_id: int, found: tuple[Any, ...], branches: dict[str, int]
) -> dict[str, Any]:
    """Return the fields of the agent's record that the body's references give.

    `found` are the records of `_terminal_keys`. Raise all findings together when a reference leads to no record.
    """
    records = list(found)
    terminal = records.pop(0) if body.terminal_id is not None else None
    claim = records.pop(0) if body.tid is not None else None
    by_id, by_tid = (body.terminal_id, terminal), (body.tid, claim.holder if claim else None)
    terminal_id, of_terminal = references.resolve_terminal(merchant_id, by_id, by_tid)
    requested = body.printer_and_tax_settings
    names = (requested.printer_id, requested.printer_code) if requested else (None, None)
    printer, of_printer = references.resolve_printer(*names, settings().printers)
    if findings := [*references.check_branches(merchant_id, branches), *of_terminal, *of_printer]:
        raise invalid_references(*findings)
    return {name: value for name, value in (("terminal_id", terminal_id), ("printer", printer)) if value is not None}


def _next_version(before: Agent, body: UpdateAgent, resolved: dict[str, Any]) -> Agent:
    """Return the next version of the agent, with a new credential version if a credential or the state changes."""
    fields = body.record_fields() | resolved | pictures.store_picture(body.image, f"agents/{before.id}")
    if body.secret_key:
        fields["secret_key_sealed"] = seal(body.secret_key, before.id)
    if requested := body.mobile_settings:
        stored = before.mobile_settings
        fields["mobile_settings"] = merge_settings(stored, requested.to_domain(), requested.reset_fields())
    after = replace(before, version=before.version + 1, **fields)
    ends_credentials = body.password or body.secret_key or after.state != before.state
    return replace(after, credential_version=before.credential_version + bool(ends_credentials))


def _login_change(body: UpdateAgent, before: Agent, after: Agent) -> LoginChange:
    moved = None
    if canonical(after.email) != canonical(before.email):
        moved = read(logins.key(before.email))
        if moved is None:
            raise ChangedMeanwhileError
    return LoginChange(
        password_hash=hash_password(body.password) if body.password else None,
        key_digest=keyed_digest(body.secret_key) if body.secret_key else None,
        unlock=bool(body.unlock),
        moved=moved,
    )
