"""The changes of agents: an agent and its login change in one store transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chalicelib.domain.agent import Agent, Login
from chalicelib.domain.deletions import Deletion
from chalicelib.domain.second_factor import Factor
from chalicelib.domain.sign_in import canonical
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store import audit, table
from chalicelib.store.agents import LOGINS, TABLE, key, login_key
from chalicelib.store.audit import Act, filled_fields
from chalicelib.store.retries import ChangedMeanwhileError


@dataclass(frozen=True)
class LoginChange:
    """The changes of a login besides the fields copied from its agent. `moved` is the login of the old e-mail.

    `end_sessions`: the new credential version ends all its sessions, or other writes end some. `factor` is the second
    factor from now on. The login must meet `condition`, in which `compared` are the values.
    """

    password_hash: str | None = None
    key_digest: str | None = None
    unlock: bool = False
    end_sessions: bool = False
    moved: Login | None = None
    factor: Factor | None = None
    condition: str = ""
    compared: Mapping[str, Any] = field(default_factory=dict)


def create_login(login: Login) -> table.Write:
    """Store a new login; raise 307 when an agent already has its e-mail."""
    return table.put_new(
        LOGINS, replace(login, email=canonical(login.email)), "email", ServiceError(ErrorCode.EMAIL_TAKEN)
    )


def create(agent: Agent, login: Login, act: Act, *also: table.Write) -> None:
    """Store the writes in `also`, a new agent and its login; raise 307 when the e-mail already has a login."""
    entry = audit.write(f"agent#{agent.id}", act, filled_fields(agent))
    table.commit(*also, table.put_new(TABLE, agent, "id"), create_login(login), entry)


def check_unchanged(agent: Agent) -> table.Write:
    """Return a check, for a transaction with other writes, that an agent is still as it was read."""
    return table.check(key(agent.id), "#version = :version", {"version": agent.version}, ChangedMeanwhileError())


def change(before: Agent, after: Agent, login: LoginChange, act: Act, *also: table.Write) -> None:
    """Store the next version of an agent and its login and the writes in `also`, all or nothing.

    Raise ChangedMeanwhileError when `before` is no longer the stored version, 307 when the new e-mail is taken.
    """
    names = (
        *(["password"] if login.password_hash else []),
        *(["unlock"] * login.unlock),
        *(["sessions"] * login.end_sessions),
        *(["second_factor"] if login.factor else []),
    )
    table.commit(
        table.replace_record(key(after.id), after, ChangedMeanwhileError()),
        audit.change(f"agent#{after.id}", act, before, after, names),
        *(_move_login(login.moved, after, login) if login.moved else [_update_login(after, login)]),
        *also,
    )


def delete(before: Agent, last: Agent, act: Act, *also: table.Write) -> None:
    """Store the last version of an agent, delete its login and execute the writes in `also`, all or nothing.

    The agent's ID and name stay readable. Raise ChangedMeanwhileError when `before` is no longer the stored version.
    """
    table.commit(
        table.replace_record(key(last.id), last, ChangedMeanwhileError()),
        audit.change(f"agent#{last.id}", act, before, last),
        _delete_login(Deletion.LOGIN_OF_DELETED_AGENT, before.email, "#agent_id = :agent_id", {"agent_id": last.id}),
        *also,
    )


def _update_login(agent: Agent, change: LoginChange) -> table.Write:
    """Change single fields of the login, so that a failure counted at the same time is kept."""
    removed = ["locked_until", "counted_until", "sources"] if change.unlock else []
    removed += ["terminal_id"] if agent.terminal_id is None else []
    fields = _login_fields(agent, change)
    removed += [name for name in _factor_fields(change.factor) if name not in fields]
    return table.update(
        login_key(agent.email),
        fields,
        remove=removed,
        condition=" AND ".join(filter(None, ("#agent_id = :agent_id", change.condition))),
        compared={"agent_id": agent.id, **change.compared},
        otherwise=ChangedMeanwhileError(),
    )


def _move_login(login: Login, agent: Agent, change: LoginChange) -> list[table.Write]:
    copied = _login_fields(agent, change) | _factor_fields(change.factor) | {"terminal_id": agent.terminal_id}
    after = replace(login, **copied, email=canonical(agent.email))
    unlocked = replace(after, locked_until=None) if change.unlock else after
    # As it was read: a code that was used meanwhile is used at the new login too.
    is_same = {"version": login.version}
    former = _delete_login(Deletion.LOGIN_OF_FORMER_EMAIL, login.email, "#version = :version", is_same)
    return [create_login(unlocked), former]


def _delete_login(reason: Deletion, email: str, condition: str, values: Mapping[str, Any]) -> table.Write:
    """Return the deletion of an agent's login, after which another agent may have its e-mail."""
    return table.delete(reason, login_key(email), condition, values, ChangedMeanwhileError())


def _factor_fields(factor: Factor | None) -> dict[str, Any]:
    """Return all fields of a login about a second factor, if it changes."""
    if factor is None:
        return {}
    return {
        "totp_sealed": factor.sealed,
        "totp_begun": None,
        "totp_step": factor.step,
        "recovery_codes": factor.recovery_codes,
        "used_codes": frozenset(),
    }


def _login_fields(agent: Agent, change: LoginChange) -> dict[str, Any]:
    values = {
        "agent_version": agent.version,
        "credential_version": agent.credential_version,
        "state": agent.state,
        "terminal_id": agent.terminal_id,
        "password_hash": change.password_hash,
        "key_digest": change.key_digest,
        "failed_attempts": 0 if change.unlock else None,
        **_factor_fields(change.factor),
    }
    return {name: value for name, value in values.items() if value not in (None, frozenset())}
