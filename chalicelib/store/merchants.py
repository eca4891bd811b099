"""Merchants, their terminals and their agents by ID.

Names of terminals (TID) are registered, so each is unique. An agent and its login change in one store transaction.
"""

from dataclasses import replace
from typing import Any

from chalicelib.domain.agent import Agent, Login
from chalicelib.domain.merchant import Merchant, Terminal
from chalicelib.domain.sign_in import canonical
from chalicelib.record import Record
from chalicelib.store import audit, sequences, sign_in
from chalicelib.store.audit import Act, changed_fields, filled_fields
from chalicelib.store.table import (
    ChangedMeanwhileError,
    Key,
    Write,
    commit,
    list_records,
    put_new,
    replace_record,
    set_attributes,
    table_name,
    update,
)

TABLE = "merchants"


def key(merchant_id: int) -> Key[Merchant]:
    """Return the key of a merchant."""
    return Key(TABLE, Merchant, {"id": merchant_id})


def create(merchant: Merchant, act: Act, *also: Write) -> None:
    """Store a new merchant and the writes in `also`."""
    commit(put_new(TABLE, merchant, "id"), audit.write(f"merchant#{merchant.id}", act, filled_fields(merchant)), *also)


def change(before: Merchant, after: Merchant, act: Act) -> None:
    """Store the next version of a merchant; raise ChangedMeanwhileError when `before` is no longer the stored one."""
    commit(*next_version(before, after, act))


def next_version(before: Merchant, after: Merchant, act: Act) -> tuple[Write, Write]:
    """Return the writes of the next version, for a transaction with others."""
    return (
        replace_record(TABLE, after, version=before.version, otherwise=ChangedMeanwhileError()),
        audit.write(f"merchant#{after.id}", act, changed_fields(before, after)),
    )


TERMINALS = "terminals"


def terminal_key(terminal_id: int) -> Key[Terminal]:
    """Return the key of a terminal."""
    return Key(TERMINALS, Terminal, {"id": terminal_id})


def create_terminal(terminal: Terminal, act: Act) -> None:
    """Store a new terminal; raise 308 when the merchant has one of this name."""
    commit(
        put_new(TERMINALS, terminal, "id"),
        sequences.register_tid(terminal.client_id, terminal.tid, terminal.id),
        audit.write(f"terminal#{terminal.id}", act, filled_fields(terminal)),
    )


def terminals_of_merchant(client_id: int) -> list[Terminal]:
    """List the merchant's terminals by name."""
    return list_records(TERMINALS, Terminal, ("client_id", client_id), "by_client")


AGENTS = "agents"


class LoginChange(Record):
    """The changes of a login besides the fields it copies from its agent; `moved` is the login of the old e-mail."""

    password_hash: str | None = None
    key_digest: str | None = None
    unlock: bool = False
    moved: Login | None = None


def agent_key(agent_id: int) -> Key[Agent]:
    """Return the key of an agent."""
    return Key(AGENTS, Agent, {"id": agent_id})


def create_agent(agent: Agent, login: Login, act: Act, *also: Write) -> None:
    """Store a new agent, its login and the writes in `also`; raise 307 when the e-mail has a login already."""
    entry = audit.write(f"agent#{agent.id}", act, filled_fields(agent))
    commit(put_new(AGENTS, agent, "id"), sign_in.create(login), entry, *also)


def change_agent(before: Agent, after: Agent, login: LoginChange, act: Act) -> None:
    """Store the next version of an agent and its login, all or nothing.

    Raise ChangedMeanwhileError when `before` is no longer the stored version, 307 when the new e-mail is taken.
    """
    names = (
        *changed_fields(before, after),
        *(["password"] if login.password_hash else []),
        *(["unlock"] * login.unlock),
    )
    commit(
        replace_record(AGENTS, after, version=before.version, otherwise=ChangedMeanwhileError()),
        audit.write(f"agent#{after.id}", act, names),
        *(_move_login(login.moved, after, login) if login.moved else [_update_login(after, login)]),
    )


def agents_of_merchant(client_id: int) -> list[Agent]:
    """List the merchant's agents by ID."""
    return list_records(AGENTS, Agent, ("client_id", client_id), "by_client")


def _update_login(agent: Agent, change: LoginChange) -> Write:
    """Change single fields of the login: a failed attempt may be counted in it at the same time."""
    values = _login_fields(agent, change)
    return update(
        sign_in.key(agent.email),
        set_attributes(values) + (" REMOVE #locked_until, #counted_until, #sources" if change.unlock else ""),
        {**values, "agent_id": agent.id},
        condition="#agent_id = :agent_id",
        otherwise=ChangedMeanwhileError(),
    )


def _move_login(login: Login, agent: Agent, change: LoginChange) -> list[Write]:
    """Store the login under its new e-mail and delete it under the old one."""
    after = replace(login, **_login_fields(agent, change), email=canonical(agent.email))
    key = sign_in.key(login.email)
    deletion = {
        "TableName": table_name(key.table),
        "Key": key.wire(),
        "ConditionExpression": "#agent_id = :agent_id",
        "ExpressionAttributeNames": {"#agent_id": "agent_id"},
        "ExpressionAttributeValues": {":agent_id": {"N": str(agent.id)}},
    }
    unlocked = replace(after, locked_until=None) if change.unlock else after
    return [sign_in.create(unlocked), Write("Delete", deletion, ChangedMeanwhileError())]


def _login_fields(agent: Agent, change: LoginChange) -> dict[str, Any]:
    values = {
        "credential_version": agent.credential_version,
        "state": agent.state,
        "terminal_id": agent.terminal_id,
        "password_hash": change.password_hash,
        "key_digest": change.key_digest,
        "failed_attempts": 0 if change.unlock else None,
    }
    return {name: value for name, value in values.items() if value is not None}
