"""Agents by ID, each with its login: the two change in one store transaction."""

from dataclasses import dataclass, replace
from typing import Any

from chalicelib.domain.agent import Agent, Login
from chalicelib.domain.audit import Act, changed_fields, filled_fields
from chalicelib.domain.credential import canonical
from chalicelib.store import audit, logins
from chalicelib.store.optimistic import ChangedMeanwhileError
from chalicelib.store.query import all_of
from chalicelib.store.table import Key, Write, commit, put_new, replace_record, table_name, update

TABLE = "agents"


@dataclass(frozen=True)
class LoginChange:
    """What an update does to a login beyond what it mirrors of its agent. `moved` is the login under the old e-mail."""

    password_hash: str | None = None
    key_digest: str | None = None
    unlock: bool = False
    moved: Login | None = None


def key(agent_id: int) -> Key[Agent]:
    """Where the agent is kept."""
    return Key(TABLE, Agent, {"id": agent_id})


def create(agent: Agent, login: Login, act: Act, *also: Write) -> None:
    """Keep a new agent and its login, and `also` what goes with them; 307 when the e-mail has a login already."""
    entry = audit.write(f"agent#{agent.id}", act, filled_fields(agent))
    commit(put_new(TABLE, agent, "id"), logins.create(login), entry, *also)


def change(before: Agent, after: Agent, login: LoginChange, act: Act) -> None:
    """Keep the next version of an agent and its login, all or nothing.

    ChangedMeanwhileError when `before` is no longer the version kept; 307 when the new e-mail is taken.
    """
    names = (
        *changed_fields(before, after),
        *(["password"] if login.password_hash else []),
        *(["unlock"] * login.unlock),
    )
    commit(
        replace_record(TABLE, after, version=before.version, otherwise=ChangedMeanwhileError()),
        audit.write(f"agent#{after.id}", act, names),
        *(_moved(login.moved, after, login) if login.moved else [_login_update(after, login)]),
    )


def of_merchant(client_id: int) -> list[Agent]:
    """The merchant's agents, by ID."""
    return all_of(TABLE, Agent, ("client_id", client_id), "by_client")


def _login_update(agent: Agent, change: LoginChange) -> Write:
    """Bring the login up to date field by field: failed attempts may be counted in it at this very moment."""
    values = {name: value for name, value in _mirrored(agent, change).items() if value is not None}
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in values)
    return update(
        logins.key(agent.email),
        expression + (" REMOVE #locked_until" if change.unlock else ""),
        {**values, "agent_id": agent.id},
        condition="#agent_id = :agent_id",
        otherwise=ChangedMeanwhileError(),
    )


def _moved(login: Login, agent: Agent, change: LoginChange) -> list[Write]:
    """The login under its new e-mail, and no longer under the old one."""
    sent: dict[str, Any] = {name: value for name, value in _mirrored(agent, change).items() if value is not None}
    after = replace(login, **sent, email=canonical(agent.email))
    key = logins.key(login.email)
    gone = {
        "TableName": table_name(key.table),
        "Key": key.wire(),
        "ConditionExpression": "#agent_id = :agent_id",
        "ExpressionAttributeNames": {"#agent_id": "agent_id"},
        "ExpressionAttributeValues": {":agent_id": {"N": str(agent.id)}},
    }
    unlocked = replace(after, locked_until=None) if change.unlock else after
    return [logins.create(unlocked), Write("Delete", gone, ChangedMeanwhileError())]


def _mirrored(agent: Agent, change: LoginChange) -> dict[str, int | str | None]:
    return {
        "credential_version": agent.credential_version,
        "state": agent.state,
        "terminal_id": agent.terminal_id,
        "password_hash": change.password_hash,
        "key_digest": change.key_digest,
        "failed_attempts": 0 if change.unlock else None,
    }
