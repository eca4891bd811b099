"""Agents by ID, their logins by e-mail, and their sessions by the digest of their ID.

An agent and its login change in one store transaction. Sign-in needs one strong read, and an e-mail belongs to one
agent. The login counts failed passwords. For an unknown login, a record that expires counts them. Both cost the same
calls, so callers cannot find out which logins exist.
"""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from chalicelib.domain.agent import Agent, Login
from chalicelib.domain.sign_in import (
    COUNTED_FOR,
    LOCK_AFTER,
    LOCK_FOR,
    REMEMBERED,
    FailedAttempts,
    RememberedSession,
    Session,
    canonical,
    ends_at,
    expiry,
    is_over,
    remembered_for,
)
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.record import Record
from chalicelib.store import audit
from chalicelib.store.audit import Act, changed_fields, filled_fields
from chalicelib.store.table import (
    AlreadyExistsError,
    ChangedMeanwhileError,
    Key,
    Write,
    attribute_names,
    commit,
    decode,
    list_records,
    pages_of,
    put_new,
    replace_record,
    set_attributes,
    table_name,
    update,
    value_of,
    write_one,
)

LOGINS = "logins"
# In capitals, because a login is stored in lower case and so can never be this key.
UNKNOWN = "UNKNOWN#"
NOT_FULL = "(attribute_not_exists(#failed_attempts) OR #failed_attempts < :limit)"
IS_OVER = "(#locked_until <= :now OR #counted_until <= :now)"


class Counter(Record):
    """The record that counts the failed passwords of a login."""

    key: Key[FailedAttempts]
    is_login: bool


def login_key(email: str) -> Key[Login]:
    """Return the key of the login of an e-mail, in any case."""
    return Key(LOGINS, Login, {"email": canonical(email)})


def counter(email: str) -> Counter:
    """Return the counter in the login of an e-mail."""
    return Counter(Key(LOGINS, FailedAttempts, {"email": canonical(email)}), is_login=True)


def counter_of_unknown(pseudonym: str) -> Counter:
    """Return the counter of an unknown login, under its pseudonym."""
    return Counter(Key(LOGINS, FailedAttempts, {"email": UNKNOWN + pseudonym}), is_login=False)


def create_login(login: Login) -> Write:
    """Store a new login; raise 307 when an agent already has its e-mail."""
    return put_new(LOGINS, replace(login, email=canonical(login.email)), "email", ServiceError(ErrorCode.EMAIL_TAKEN))


def count_failure(counter: Counter, seen: FailedAttempts, source: str, now: datetime) -> FailedAttempts:
    """Count a wrong password, and return the attempts before it. The tenth in a row locks passwords.

    Raise 104 when passwords were locked meanwhile. The count never exceeds ten, so parallel guesses after the tenth
    learn nothing.
    """
    if is_over(seen, now) and _restart_count(counter, source, now):
        return FailedAttempts()
    expression = f"ADD #failed_attempts :one, #sources :source SET {_expiry(counter)}"
    values = {"one": 1, "limit": LOCK_AFTER, "source": frozenset({source}), **_expiry_values(counter, now)}
    one_more = update(counter.key, expression, values, condition=_existing(counter, NOT_FULL))
    try:
        before = decode(FailedAttempts, write_one(one_more, "UPDATED_OLD"))
    except AlreadyExistsError:
        _lock(counter, now)
        raise ServiceError(ErrorCode.LOGIN_LOCKED) from None
    if before.failed_attempts + 1 == LOCK_AFTER:
        _lock(counter, now)
    return before


def decide_success(email: str, now: datetime, *, is_logon: bool) -> None:
    """Reset the count of failures after a right password, and record the logon if `is_logon`.

    Raise 104 when passwords were locked meanwhile: this write decides between parallel verifications.
    """
    expression = "SET #failed_attempts = :none" + (", #last_logon = :now" if is_logon else "")
    success = update(
        login_key(email),
        f"{expression} REMOVE #locked_until, #counted_until, #sources",
        {"now": now, "none": 0, "limit": LOCK_AFTER},
        condition=f"attribute_exists(#agent_id) AND ({NOT_FULL} OR {IS_OVER})",
    )
    try:
        write_one(success)
    except AlreadyExistsError:
        _lock(counter(email), now)
        raise ServiceError(ErrorCode.LOGIN_LOCKED) from None


def rehash(login: Login, password_hash: str) -> None:
    """Store a hash of the same password with stronger parameters, unless the password has changed since."""
    change = update(
        login_key(login.email),
        "SET #password_hash = :new",
        {"new": password_hash, "old": login.password_hash},
        condition="#password_hash = :old",
    )
    with suppress(AlreadyExistsError):
        write_one(change)


def _restart_count(counter: Counter, source: str, now: datetime) -> bool:
    """Count the first failure of a new series; return False when another request has done so."""
    change = update(
        counter.key,
        f"SET #failed_attempts = :one, #sources = :source, {_expiry(counter)} REMOVE #locked_until",
        {"one": 1, "now": now, "source": frozenset({source}), **_expiry_values(counter, now)},
        condition=IS_OVER,
    )
    try:
        write_one(change)
    except AlreadyExistsError:
        return False
    return True


def _lock(counter: Counter, now: datetime) -> None:
    """Lock passwords unless they are locked. Each request that finds ten failures does so, in case one crashed."""
    lock = update(
        counter.key,
        "SET #locked_until = :until",
        {"until": now + LOCK_FOR, "limit": LOCK_AFTER},
        condition="#failed_attempts >= :limit AND attribute_not_exists(#locked_until)",
    )
    with suppress(AlreadyExistsError):
        write_one(lock)


def _existing(counter: Counter, condition: str) -> str:
    """Return the condition, with the requirement that a login exists. A counter of an unknown login need not exist."""
    return f"attribute_exists(#agent_id) AND {condition}" if counter.is_login else condition


def _expiry(counter: Counter) -> str:
    # Never on a login, because the store deletes expired records.
    return "#counted_until = :until" + ("" if counter.is_login else ", #expires_at = :expires_at")


def _expiry_values(counter: Counter, now: datetime) -> dict[str, object]:
    until = now + COUNTED_FOR
    return {"until": until} if counter.is_login else {"until": until, "expires_at": int(until.timestamp()) + 1}


SESSIONS = "sessions"


def session_key(digest: str) -> Key[Session]:
    """Return the key of the session with this digest."""
    return Key(SESSIONS, Session, {"digest": digest})


def create_session(session: Session) -> None:
    """Store a new session. If it exists, our first write succeeded: its ID is random."""
    with suppress(AlreadyExistsError):
        write_one(put_new(SESSIONS, session, "digest"))


MAX_LISTED = 100


def remembered_sessions(agent: Agent, now: datetime) -> list[RememberedSession]:
    """List the agent's remembered sessions that are valid, the last used first: the hundred that were used last.

    The index is milliseconds behind. Sessions that were ended, or are of an older credential version, are not in it.
    """
    condition = "#remembered_for = :whose AND #used_at > :idle"
    values = {"whose": remembered_for(agent.id, agent.credential_version), "idle": now - REMEMBERED.idle}
    newest = {
        "TableName": table_name(SESSIONS),
        "IndexName": "remembered",
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": attribute_names(condition),
        "ExpressionAttributeValues": {f":{name}": value_of(value) for name, value in values.items()},
        "ScanIndexForward": False,
        "Limit": MAX_LISTED,
    }
    found = (decode(RememberedSession, item) for item in next(pages_of(newest))["Items"])
    return [session for session in found if now < ends_at(session)]


def end_session(digest: str) -> None:
    """End a session. Its next use is refused, even when API Gateway remembers its caller."""
    ended = update(
        session_key(digest),
        "SET #ended = :ended REMOVE #remembered_for",
        {"ended": True},
        condition="attribute_exists(#digest)",
        otherwise=ServiceError(ErrorCode.SESSION_EXPIRED),
    )
    write_one(ended)


def touch_session(session: Session, now: datetime) -> Session:
    """Record the use of a session, which extends it; raise 105 when it was ended or deleted meanwhile."""
    touched = replace(session, used_at=now, expires_at=expiry(session, now))
    write_one(
        update(
            session_key(session.digest),
            "SET #used_at = :used_at, #expires_at = :expires_at",
            {"used_at": touched.used_at, "expires_at": touched.expires_at},
            condition="attribute_exists(#digest) AND attribute_not_exists(#ended)",
            otherwise=ServiceError(ErrorCode.SESSION_EXPIRED),
        )
    )
    return touched


TABLE = "agents"


class LoginChange(Record):
    """The changes of a login besides the fields copied from its agent. `moved` is the login of the old e-mail.

    With `end_sessions` the agent's new credential version ends its sessions.
    """

    password_hash: str | None = None
    key_digest: str | None = None
    unlock: bool = False
    end_sessions: bool = False
    moved: Login | None = None


def key(agent_id: int) -> Key[Agent]:
    """Return the key of an agent."""
    return Key(TABLE, Agent, {"id": agent_id})


def create(agent: Agent, login: Login, act: Act, *also: Write) -> None:
    """Store a new agent, its login and the writes in `also`; raise 307 when the e-mail already has a login."""
    entry = audit.write(f"agent#{agent.id}", act, filled_fields(agent))
    commit(put_new(TABLE, agent, "id"), create_login(login), entry, *also)


def change(before: Agent, after: Agent, login: LoginChange, act: Act) -> None:
    """Store the next version of an agent and its login, all or nothing.

    Raise ChangedMeanwhileError when `before` is no longer the stored version, 307 when the new e-mail is taken.
    """
    names = (
        *changed_fields(before, after),
        *(["password"] if login.password_hash else []),
        *(["unlock"] * login.unlock),
        *(["sessions"] * login.end_sessions),
    )
    commit(
        replace_record(TABLE, after, version=before.version, otherwise=ChangedMeanwhileError()),
        audit.write(f"agent#{after.id}", act, names),
        *(_move_login(login.moved, after, login) if login.moved else [_update_login(after, login)]),
    )


def of_merchant(client_id: int) -> list[Agent]:
    """List the merchant's agents by ID."""
    return list_records(TABLE, Agent, ("client_id", client_id), "by_client")


def _update_login(agent: Agent, change: LoginChange) -> Write:
    """Change single fields of the login, so that a failure counted at the same time is kept."""
    values = _login_fields(agent, change)
    return update(
        login_key(agent.email),
        set_attributes(values) + (" REMOVE #locked_until, #counted_until, #sources" if change.unlock else ""),
        {**values, "agent_id": agent.id},
        condition="#agent_id = :agent_id",
        otherwise=ChangedMeanwhileError(),
    )


def _move_login(login: Login, agent: Agent, change: LoginChange) -> list[Write]:
    """Store the login under its new e-mail and delete the old one."""
    after = replace(login, **_login_fields(agent, change), email=canonical(agent.email))
    key = login_key(login.email)
    deletion = {
        "TableName": table_name(key.table),
        "Key": key.wire(),
        "ConditionExpression": "#agent_id = :agent_id",
        "ExpressionAttributeNames": {"#agent_id": "agent_id"},
        "ExpressionAttributeValues": {":agent_id": {"N": str(agent.id)}},
    }
    unlocked = replace(after, locked_until=None) if change.unlock else after
    return [create_login(unlocked), Write("Delete", deletion, ChangedMeanwhileError())]


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
