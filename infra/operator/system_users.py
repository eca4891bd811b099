"""System users, who may do everything except take payments: create, list, block and delete them, and help them in.

No request of the interface does so. A deleted one keeps its record, because the audit names it by its ID.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from chalicelib import outside, phone_numbers
from chalicelib.domain.agent import ACCOUNT_USER, ACTIVE, BLOCKED, NO_CLIENT, Agent, Login
from chalicelib.domain.second_factor import Factor
from chalicelib.domain.secret import Secret
from chalicelib.domain.sessions import Session, is_alive
from chalicelib.domain.sign_in import canonical
from chalicelib.gateways.secrets import keyed_digest, seal
from chalicelib.schemas.field_types import EMAIL
from chalicelib.services.authentication import new_secret_key
from chalicelib.services.passwords import hash_password, verify, weakness_of
from chalicelib.store import agent_changes, agents, sequences, sessions
from chalicelib.store.agent_changes import LoginChange
from chalicelib.store.retries import ChangedMeanwhileError
from chalicelib.store.table import read, read_all, scan
from infra.operator import terminal

LIST, CREATE, BLOCK, UNBLOCK, DELETE = "list", "create", "block", "unblock", "delete"
TOTP_OFF = "totp-off"
ASKED = {
    BLOCK: "Its credentials and sessions are refused.",
    DELETE: "That is final.",
    TOTP_OFF: "Its password is then enough to sign in.",
}
DONE = {
    BLOCK: "is blocked: its credentials and sessions are refused",
    UNBLOCK: "is active again, with its password and its key. Its earlier sessions have ended",
    DELETE: "is deleted, and its e-mail is free. Its ID and its name stay in the list",
    TOTP_OFF: "has no second factor",
}
HEADER = ("ID", "state", "created", "last use", "sessions", "e-mail", "name")


def create_system_user(name: str, email: str, password: Secret, phone: str = "") -> Agent:
    """Store a new system user. Raises 307 when the e-mail belongs to an agent already."""
    now = outside.now()
    agent_id = sequences.next_id(agents.TABLE)
    secret_key = new_secret_key()
    agent = Agent(
        id=agent_id,
        client_id=NO_CLIENT,
        name=name,
        email=email,
        phone=phone,
        created_at=now,
        account_type_id=ACCOUNT_USER,
        is_system_user=True,
        secret_key_sealed=seal(secret_key, agent_id),
    )
    login = Login(
        email=canonical(email),
        agent_id=agent_id,
        client_id=NO_CLIENT,
        password_hash=hash_password(password),
        key_digest=keyed_digest(secret_key),
    )
    agent_changes.create(agent, login, terminal.act("create"))
    return agent


def _create_command(options: argparse.Namespace) -> None:
    """Create a system user, and print its ID."""
    if not (options.email and options.name):
        options.misused("system-users create --email ann@example.com --name Ann")
    if not re.fullmatch(EMAIL, options.email):
        sys.exit("The e-mail address is not valid.")
    phone = phone_numbers.parse(options.phone, None) if options.phone else None
    if options.phone and phone is None:
        sys.exit("The telephone number is not valid: write it like +27 82 987 6543.")
    agent = create_system_user(
        options.name, options.email, _read_password(options.email), phone.international if phone else ""
    )
    print(f"System user {agent.id} signs in as {canonical(agent.email)}.")


def _read_password(email: str, present: str | None = None) -> Secret:
    """Return the typed password, at a terminal typed twice. Exit with one line if a system user may not have it.

    `present` is the hash of the present password.
    """
    password = Secret(terminal.hidden(f"New password of {email}: "))
    if terminal.is_there() and terminal.hidden("Once more: ") != password.reveal():
        sys.exit("The two passwords differ. Nothing is changed.")
    if present and verify(present, password):
        sys.exit("It is the present password. Choose another one.")
    if weakness := weakness_of(password, email, is_manager=True):
        sys.exit(f"The password is refused. {weakness.message}")
    return password


def replace_credentials(before: Agent, password: Secret) -> Secret:
    """Store a new password and a random secret key of any agent, unlock it, and end its sessions. Return the key.

    The interface does so for agents of merchants; no request changes a system user. Raise ChangedMeanwhileError when
    `before` is no longer the stored agent: of two operators at once, only one sets the password.
    """
    secret_key = new_secret_key()
    login_change = LoginChange(
        password_hash=hash_password(password), key_digest=keyed_digest(secret_key), unlock=True, end_sessions=True
    )
    after = replace(
        before,
        credential_version=before.credential_version + 1,
        secret_key_sealed=seal(secret_key, before.id),
    )
    agent_changes.change(before, after, login_change, terminal.act("update"))
    return secret_key


def agent_of(email: str) -> Agent:
    """Return the agent with this e-mail, or exit with one line."""
    login = read(agents.login_key(canonical(email)))
    agent = read(agents.key(login.agent_id)) if login else None
    if agent is None:
        sys.exit(f"There is no agent with this e-mail: {email}.")
    return agent


def replace_credentials_command(options: argparse.Namespace) -> None:
    """Replace all credentials of an agent by a typed password and a random key."""
    agent = agent_of(options.email)  # before the prompt, so that another operator's change meanwhile is noticed
    login = read(agents.login_key(agent.email))
    try:
        replace_credentials(agent, _read_password(agent.email, login.password_hash if login else None))
    except ChangedMeanwhileError:
        sys.exit(f"Somebody else changed agent {agent.id} meanwhile. Nothing was changed: run the command again.")
    print(f"Agent {agent.id} has a new password and a new secret key, and its sessions have ended.")


def system_users_command(options: argparse.Namespace) -> None:
    """List the system users, create one, or change one. Exit with one line if nothing can be done."""
    if options.action == CREATE:
        _create_command(options)
        return
    if options.action == LIST:
        terminal.print_table([HEADER, *_rows(outside.now())])
        return
    if not options.email:
        options.misused(f"system-users {options.action} --email ann@example.com")
    agent = agent_of(options.email)
    if not agent.is_system_user:
        act = "changes it"
        if options.action == TOTP_OFF:
            act = f'sends {{"TotpOff": true}} to merchant/{agent.client_id}/pos/{agent.id}/update'
        sys.exit(f"Agent {agent.id} belongs to merchant {agent.client_id}: its administrator or a system user {act}.")
    if options.action in ASKED:
        act = "Switch off the second factor of" if options.action == TOTP_OFF else options.action.capitalize()
        question = f"{act} system user {agent.id}, {agent.name}? {ASKED[options.action]}"
        terminal.confirm(question, is_agreed=options.yes)
    try:
        change(agent, options.action)
    except ChangedMeanwhileError:
        sys.exit("Somebody else changed a system user meanwhile. Nothing was changed: run the command again.")
    terminal.show(f"System user {agent.id}, {agent.name}, {DONE[options.action]}.")


def change(before: Agent, action: str) -> None:
    """Block, unblock or delete a system user, or switch off its second factor, in one transaction.

    Do nothing if its state is so already.

    Exit with one line when no other active system user is left. Another one is checked in the transaction, so two
    operators at once cannot end the last two. Raise ChangedMeanwhileError when one of both has changed.
    """
    if action == TOTP_OFF:
        off = replace(before, totp_on=False)
        agent_changes.change(before, off, LoginChange(factor=Factor()), terminal.act("update"))
        return
    state = ACTIVE if action == UNBLOCK else BLOCKED
    if action != DELETE and before.state == state:
        return
    after = replace(before, credential_version=before.credential_version + 1, state=state)
    checks = []
    if before.state == ACTIVE:
        if (other := _another_active(before)) is None:
            sys.exit("This is the last active system user. Create another one first: `system-users create`.")
        checks = [agent_changes.check_unchanged(other)]
    act = terminal.act(action)
    if action == DELETE:
        agent_changes.delete(before, replace(after, deleted=True, secret_key_sealed=None), act, *checks)
    else:
        agent_changes.change(before, after, LoginChange(), act, *checks)


def _system_users() -> list[Agent]:
    """Return all system users as they are stored now. The index of merchants finds them: they have merchant 0."""
    found = read_all([agents.key(one.id) for one in agents.of_merchant(NO_CLIENT)], for_list=True)
    return [one for one in found if one is not None and one.is_system_user]


def _another_active(agent: Agent) -> Agent | None:
    others = (one for one in _system_users() if one.id != agent.id)
    return next((one for one in others if one.is_active), None)


def _rows(now: datetime) -> Iterable[tuple[str, ...]]:
    """Yield a row for each system user, deleted ones too. It reads the whole table of sessions."""
    users = _system_users()
    logins = read_all([agents.login_key(one.email) for one in users], for_list=True)
    open_sessions = _open_sessions({one.id: one.credential_version for one in users}, now)
    for user, login in zip(users, logins, strict=True):
        used = [one.used_at for one in open_sessions[user.id]]
        if login is not None and login.agent_id == user.id:  # a deleted user's e-mail may belong to another one
            used.append(login.last_logon)
        last = max(filter(None, used), default=None)
        state = "deleted" if user.deleted else "active" if user.state == ACTIVE else "blocked"
        count = 0 if state != "active" else len(open_sessions[user.id])
        yield str(user.id), state, _time(user.created_at), _time(last), str(count), user.email, user.name


def _open_sessions(versions: dict[int, int], now: datetime) -> defaultdict[int, list[Session]]:
    """Return the valid sessions of these agents, given with their credential versions."""
    found = defaultdict[int, list[Session]](list)
    for one in scan(sessions.TABLE, Session, ConsistentRead=True):
        if versions.get(one.agent_id) == one.credential_version and is_alive(one, now):
            found[one.agent_id].append(one)
    return found


def _time(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if at else "-"
