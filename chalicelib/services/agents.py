"""Creating, showing and changing agents."""

import secrets
from dataclasses import replace
from datetime import datetime
from typing import Any

from chalicelib.domain import outbox as messages
from chalicelib.domain import permissions, references
from chalicelib.domain.agent import ACCOUNT_AGENT, Agent, Caller, Login
from chalicelib.domain.agent_profile import Profile
from chalicelib.domain.audit import Act, changed
from chalicelib.domain.credential import canonical
from chalicelib.domain.effective_settings import merged
from chalicelib.domain.merchant import ACTIVE, Merchant
from chalicelib.errors import ErrorCode, ServiceError, invalid_references
from chalicelib.gateways.secrets import keyed_digest, seal, unseal
from chalicelib.schemas.agents import CreateAgent, UpdateAgent
from chalicelib.services import outbox, pictures
from chalicelib.services.admission import admit
from chalicelib.services.authentication import hash_password, new_secret_key
from chalicelib.services.merchants import existing, same_as_path
from chalicelib.settings import settings
from chalicelib.store import agents, logins, merchants, sequences, terminals
from chalicelib.store import outbox as outbox_store
from chalicelib.store.agents import LoginChange
from chalicelib.store.optimistic import ChangedMeanwhileError, retry_on_change
from chalicelib.store.table import Key, read


def create(body: CreateAgent, caller: Caller, merchant_id: int, now: datetime) -> Profile:
    """A new agent of the merchant, with a secret key: the one sent, else a random one."""
    keys = [merchants.key(merchant_id), *_terminal_keys(body, merchant_id)]
    admitted = admit(caller, *keys, current_account_id=body.current_account_id)
    permissions.manage(admitted.agent, merchant_id)
    merchant = existing(admitted.others[0])
    same_as_path("client_id", body.client_id, merchant_id)
    values = _references(body, merchant_id, admitted.others[1:], _branches(body))

    agent, login = _new(body, merchant_id, values, now)
    welcome = messages.welcome(secrets.token_hex(16), merchant_id, agent.name, agent.email, now)
    mail = [welcome] if body.send_welcome_email else []

    agents.create(agent, login, Act("create", caller.agent_id, now), *map(outbox_store.put, mail))
    outbox.send(mail, now)
    return _profile(agent, merchant, login)


def get(caller: Caller, merchant_id: int, pos_id: int) -> Profile:
    """An agent with its secret key, which nothing else shows."""
    admitted = admit(caller, merchants.key(merchant_id), agents.key(pos_id))
    permissions.see_agent(admitted.agent, merchant_id, pos_id)
    merchant, agent = existing(admitted.others[0]), _of(merchant_id, admitted.others[1])
    secret_key = unseal(agent.secret_key_sealed, agent.id) if agent.secret_key_sealed else None
    return replace(_profile(agent, merchant, read(logins.key(agent.email))), secret_key=secret_key)


def update(body: UpdateAgent, caller: Caller, merchant_id: int, pos_id: int, now: datetime) -> Profile:
    """The agent with what was sent over it; somebody else's change at the same time is kept too."""

    def attempt() -> Profile:
        keys = _terminal_keys(body, merchant_id)
        admitted = admit(
            caller,
            merchants.key(merchant_id),
            agents.key(pos_id),
            *keys,
            current_account_id=body.current_account_id,
        )
        permissions.manage(admitted.agent, merchant_id)
        merchant, before = existing(admitted.others[0]), _of(merchant_id, admitted.others[1])
        same_as_path("id", body.id, pos_id)
        references = _references(body, merchant_id, admitted.others[2:], {})

        after = _changed(before, body, references)
        login = _login_change(body, before, after)

        if changed(before, after) or login != LoginChange():
            agents.change(before, after, login, Act("update", caller.agent_id, now))
        return _profile(after, merchant, read(logins.key(after.email)))

    return retry_on_change(attempt)


def _new(body: CreateAgent, merchant_id: int, references: dict[str, Any], now: datetime) -> tuple[Agent, Login]:
    """The agent and its login, with a secret key: the one sent, else a random one."""
    agent_id = sequences.next_id(agents.TABLE)
    secret_key = body.secret_key or new_secret_key()
    agent = Agent(
        id=agent_id,
        client_id=merchant_id,
        created_at=now,
        account_type_id=ACCOUNT_AGENT if body.account_type is None else body.account_type,
        branches_actions=tuple(item.kept() for item in body.branches_actions or ()),
        mobile_settings=merged(None, body.mobile_settings.sent()) if body.mobile_settings else None,
        secret_key_sealed=seal(secret_key, agent_id),
        **body.values(),
        **references,
        **pictures.keep(body.image_avatar, f"agents/{agent_id}"),
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


def _of(merchant_id: int, agent: Agent | None) -> Agent:
    """The agent of a path, or 563: one of another merchant is as good as none."""
    if agent is None or agent.client_id != merchant_id:
        raise ServiceError(ErrorCode.AGENT_NOT_FOUND)
    return agent


def _profile(agent: Agent, merchant: Merchant, login: Login | None) -> Profile:
    return Profile(agent, merchant, login, pictures.address(agent.avatar_key))


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


def _references(
    body: CreateAgent | UpdateAgent, merchant_id: int, found: tuple[Any, ...], branches: dict[str, int]
) -> dict[str, Any]:
    """What the body refers to, under the names of the record; refuses what leads nowhere, all of it listed."""
    records = list(found)
    terminal = records.pop(0) if body.terminal_id is not None else None
    claim = records.pop(0) if body.tid is not None else None
    holder = claim.holder if claim else None
    terminal_id, wrong = references.terminal_id(merchant_id, (body.terminal_id, terminal), (body.tid, holder))
    asked = body.printer_and_tax_settings
    names = (asked.printer_id, asked.printer_code) if asked else (None, None)
    printer, unknown = references.printer(*names, settings().printers)
    if findings := [*references.branches(merchant_id, branches), *wrong, *unknown]:
        raise invalid_references(*findings)
    return {name: value for name, value in (("terminal_id", terminal_id), ("printer", printer)) if value is not None}


def _changed(before: Agent, body: UpdateAgent, references: dict[str, Any]) -> Agent:
    """The next version; its credential version is the next too when a credential or the state changes."""
    values = body.values() | references | pictures.keep(body.image, f"agents/{before.id}")
    if body.unlock:
        values["state"] = ACTIVE
    if body.secret_key:
        values["secret_key_sealed"] = seal(body.secret_key, before.id)
    if sent := body.mobile_settings:
        values["mobile_settings"] = merged(before.mobile_settings, sent.sent(), sent.cleared())
    after = replace(before, version=before.version + 1, **values)
    taken_back = body.password or body.secret_key or after.state != before.state
    return replace(after, credential_version=before.credential_version + bool(taken_back))


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
