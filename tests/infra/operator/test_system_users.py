from collections.abc import Callable
from functools import cache
from io import StringIO
from typing import TextIO

import pytest

from chalicelib.domain.agent import NO_CLIENT, Agent
from chalicelib.domain.password_lock import LOCK_AFTER
from chalicelib.domain.secret import Secret
from chalicelib.domain.sessions import new_session
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.gateways.secrets import unseal
from chalicelib.services.authentication import authenticate, session_digest
from chalicelib.services.caller_check import admit
from chalicelib.store import agent_changes, agent_sessions, agents, audit
from chalicelib.store.audit import Act
from chalicelib.store.table import read
from infra.demo.data import SIGNING_SECRET
from infra.operator import commands as operator
from infra.operator import system_users
from infra.operator.system_users import create_system_user
from tests.support import http
from tests.support.accounts import an_account, basic, signed
from tests.support.builders import NOW, a_login, an_agent, an_email
from tests.support.giving import Give, typing
from tests.support.intercepted_calls import before

pytestmark = pytest.mark.usefixtures("moto")
PASSWORD = "long enough a password"  # noqa: S105  of test agents alone
Run = Callable[..., str]


def run(*arguments: str, typed: str = "") -> None:
    with typing(typed):
        operator.main(arguments)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command, and return its output."""

    def printed(*arguments: str) -> str:
        capsys.readouterr()
        run(*arguments)
        return capsys.readouterr().out

    return printed


def test_a_system_user_is_created_with_the_password_that_was_typed(capsys: pytest.CaptureFixture[str]) -> None:
    email = an_email()

    run("system-users", "create", "--email", email.upper(), "--name", "Ann", typed="long enough a password\n")

    assert email in capsys.readouterr().out
    login = read(agents.login_key(email))
    assert login
    agent = read(agents.key(login.agent_id))
    assert agent
    assert (agent.is_system_user, agent.client_id, login.client_id) == (True, 0, 0)
    assert "long enough" not in repr((agent, login))


@pytest.mark.parametrize(
    ("arguments", "typed"),
    [
        (("--email", "short@shop.example", "--name", "Ann"), "short\n"),
        (("--email", "none@shop.example", "--name", "Ann"), ""),
        (("--email", "no-address", "--name", "Ann"), "long enough a password\n"),
        (("--email", "phone@shop.example", "--name", "Ann", "--phone", "12"), "long enough a password\n"),
    ],
)
def test_there_is_no_system_user_without_a_password_or_with_a_wrong_address(
    arguments: tuple[str, ...], typed: str
) -> None:
    with pytest.raises(SystemExit):
        run("system-users", "create", *arguments, typed=typed)

    assert read(agents.login_key(arguments[1])) is None


def test_an_e_mail_that_is_taken_is_one_clear_line() -> None:
    agent = an_agent()
    agent_changes.create(agent, a_login(agent), Act("create", 3, NOW))

    with pytest.raises(SystemExit, match="e-mail belongs"):
        run("system-users", "create", "--email", agent.email, "--name", "Ann", typed="long enough a password\n")


def test_all_credentials_of_a_system_user_are_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    email, password = an_email(), "long enough a password"
    system = create_system_user("Ann", email, Secret(password))
    session = Secret("8B5C2B7E-3C53-4B0D-9C66-0F6B7C1F8A10")
    agent_sessions.create(new_session(session_digest(session), system.id, system.credential_version, NOW))
    assert admit(authenticate(f"Session {session.reveal()}", "", NOW)).agent.id == system.id
    key = unseal(system.secret_key_sealed or b"", system.id)

    run("replace-credentials", "--email", email.upper(), typed="another long password\n")

    assert f"Agent {system.id} has a new password" in capsys.readouterr().out
    for old in (password, key.reveal()):
        with pytest.raises(ServiceError) as refused:
            authenticate(basic(email, old), "", NOW)
        assert refused.value.error is ErrorCode.BAD_CREDENTIAL
    with pytest.raises(ServiceError) as refused:
        admit(authenticate(f"Session {session.reveal()}", "", NOW))
    assert refused.value.error is ErrorCode.SESSION_EXPIRED
    agent = admit(authenticate(basic(email, "another long password"), "", NOW)).agent
    assert (agent.id, agent.is_system_user) == (system.id, True)
    new_key = unseal(agent.secret_key_sealed or b"", agent.id)
    assert authenticate(basic(email, new_key.reveal()), "", NOW).agent_id == system.id
    assert audit.of(f"agent#{system.id}")[-1].fields == ("password", "secret_key_sealed", "sessions", "unlock")


def test_of_two_operators_who_replace_credentials_at_once_only_one_reports_success(
    give: Give, capsys: pytest.CaptureFixture[str]
) -> None:
    account = an_account()
    first, second = "the first long password", "the second long password"

    @cache
    def overtaken() -> TextIO:
        run("replace-credentials", "--email", account.email, typed=first)
        return StringIO(second)

    give(typed=overtaken)
    with pytest.raises(SystemExit, match="Nothing was changed: run the command again"):
        operator.main(["replace-credentials", "--email", account.email])

    assert capsys.readouterr().out.count("has a new password") == 1
    assert authenticate(basic(account.email, first), "", NOW).agent_id == account.agent.id
    with pytest.raises(ServiceError):
        authenticate(basic(account.email, second), "", NOW)


@pytest.mark.slow
def test_a_lock_after_wrong_passwords_ends_with_new_credentials() -> None:
    account = an_account()
    for _ in range(LOCK_AFTER):
        with pytest.raises(ServiceError):
            authenticate(basic(account.email, "wrong"), "", NOW)

    run("replace-credentials", "--email", account.email, typed="another long password\n")

    assert authenticate(basic(account.email, "another long password"), "", NOW).agent_id == account.agent.id


def test_credentials_of_nobody_and_a_short_password_change_nothing() -> None:
    account = an_account()

    with pytest.raises(SystemExit, match="no agent with this e-mail"):
        run("replace-credentials", "--email", an_email(), typed="another long password\n")
    with pytest.raises(SystemExit, match="at least 12 characters"):
        run("replace-credentials", "--email", account.email, typed="short\n")

    assert read(agents.key(account.agent.id)) == account.agent


def answers(stage: str, email: str, key: str, session: str) -> list[tuple[int, int]]:
    """Return what the service answers to a password, a key, a session and a token of an agent."""
    token = signed({"email": email, "token": key}, SIGNING_SECRET)
    headers = [basic(email, PASSWORD), basic(email, key), f"Session {session}", f"Jwt {token}"]
    return [http.call(stage, "GET", "/api/v1/user/me", None, None, {"Authorization": one}).error for one in headers]


def signed_in(stage: str) -> tuple[Agent, tuple[str, str, str]]:
    """Return a new system user with its e-mail, key and session, which the service accepts."""
    email = an_email()
    user = create_system_user("Ann Lee", email, Secret(PASSWORD))
    key = unseal(user.secret_key_sealed or b"", user.id)
    session = http.post(stage, "/api/v1/user/login/session", {"Email": email, "Password": PASSWORD}, None)
    who = email, key.reveal(), session.body["Data"]["SessionID"]
    assert answers(stage, *who) == [(200, 0)] * 4
    return user, who


def test_a_blocked_system_user_is_refused_with_the_next_request_until_it_is_active_again(
    stage: str, command: Run
) -> None:
    user, who = signed_in(stage)
    email = who[0]

    for _ in range(2):
        assert f"System user {user.id}, Ann Lee, is blocked" in command(
            "system-users", "block", "--email", email.upper(), "--yes"
        )
    blocked = answers(stage, *who)
    command("system-users", "unblock", "--email", email)

    assert blocked == [(401, 103)] * 4
    assert answers(stage, *who) == [(200, 0), (200, 0), (401, 105), (200, 0)]
    assert [(one.kind, one.by, one.fields) for one in audit.of(f"agent#{user.id}")[1:]] == [
        ("block", audit.OPERATOR, ("state",)),
        ("unblock", audit.OPERATOR, ("state",)),
    ]


def test_a_deleted_system_user_stays_in_the_list_and_its_e_mail_is_free(stage: str, command: Run) -> None:
    user, who = signed_in(stage)
    email = who[0]
    (before,) = (line for line in command("system-users").splitlines() if email in line)

    command("system-users", "delete", "--email", email, "--yes")

    assert answers(stage, *who) == [(401, 102), (401, 102), (401, 105), (401, 102)]
    (deleted,) = (line for line in command("system-users").splitlines() if email in line)
    assert deleted.split()[:2] == [str(user.id), "deleted"]
    another = create_system_user("Ben Smith", email, Secret("another long password"))
    assert http.get(stage, "/api/v1/user/me", (email, "another long password")).body["Data"]["AgentID"] == another.id
    lines = [line.split() for line in command("system-users", "list").splitlines() if email in line]
    assert before.split()[:2] == [str(user.id), "active"]
    assert [(line[0], line[1], line[-2:]) for line in lines] == [
        (str(user.id), "deleted", ["Ann", "Lee"]),
        (str(another.id), "active", ["Ben", "Smith"]),
    ]
    assert audit.of(f"agent#{user.id}")[-1].kind == "delete"


def test_the_list_has_the_last_use_and_the_number_of_sessions(stage: str, command: Run) -> None:
    email = an_email()
    user = create_system_user("Ann Lee", email, Secret(PASSWORD))
    unused = command("system-users")
    for _ in range(2):
        http.post(stage, "/api/v1/user/login/session", {"Email": email, "Password": PASSWORD}, None)

    used = command("system-users")

    rows = [next(line.split() for line in one.splitlines() if email in line) for one in (unused, used)]
    assert rows[0] == [
        str(user.id),
        "active",
        f"{user.created_at:%Y-%m-%d}",
        f"{user.created_at:%H:%M}",
        "-",
        "0",
        *rows[0][6:],
    ]
    assert rows[1][6:] == ["2", email, "Ann", "Lee"]


def others_blocked(email: str) -> None:
    """Block every system user but one."""
    for one in agents.of_merchant(NO_CLIENT):
        if one.email != email and not one.deleted:
            system_users.change(one, system_users.BLOCK)


@pytest.mark.parametrize("action", ["block", "delete"])
def test_the_last_active_system_user_stays(command: Run, action: str) -> None:
    email = an_email()
    user = create_system_user("Ann Lee", email, Secret(PASSWORD))
    others_blocked(email)

    with pytest.raises(SystemExit, match="the last active system user"):
        command("system-users", action, "--email", email, "--yes")

    assert read(agents.key(user.id)) == user
    create_system_user("Ben Smith", an_email(), Secret(PASSWORD))
    command("system-users", action, "--email", email, "--yes")


@pytest.mark.parametrize("meanwhile", ["block", "delete"])
def test_two_operators_at_once_do_not_end_the_last_two_system_users(command: Run, give: Give, meanwhile: str) -> None:
    first, second = (create_system_user("Ann Lee", an_email(), Secret(PASSWORD)) for _ in range(2))
    others_blocked(first.email)
    system_users.change(read(agents.key(second.id)) or second, system_users.UNBLOCK)
    give(
        client=before(
            "TransactWriteItems", lambda: command("system-users", meanwhile, "--email", second.email, "--yes")
        )
    )
    with pytest.raises(SystemExit, match="Somebody else changed a system user meanwhile"):
        command("system-users", "delete", "--email", first.email, "--yes")

    assert read(agents.key(first.id)) == first
    assert read(agents.login_key(first.email))


def test_an_agent_of_a_merchant_is_no_system_user(command: Run) -> None:
    account = an_account()

    with pytest.raises(SystemExit, match=f"belongs to merchant {account.agent.client_id}"):
        command("system-users", "delete", "--email", account.email)
    with pytest.raises(SystemExit) as misused:
        command("system-users", "block")
    assert misused.value.code == 2
    system = create_system_user("Ann Lee", an_email(), Secret(PASSWORD))
    with pytest.raises(SystemExit, match=r"There is no terminal to ask at: nothing is changed\. Add --yes"):
        command("system-users", "block", "--email", system.email)
    assert read(agents.key(system.id)) == system

    assert read(agents.key(account.agent.id)) == account.agent


def test_a_second_factor_is_switched_off_after_a_question(command: Run) -> None:
    account = an_account(system=True, totp_on=True)
    account.set_on_login(totp_sealed=b"sealed", totp_step=1, recovery_codes=frozenset({"a digest"}))
    off = ("system-users", "totp-off", "--email", account.email)

    with pytest.raises(SystemExit, match=r"Switch off the second factor of system user .* Add --yes"):
        command(*off)
    assert account.login.totp_sealed
    assert "has no second factor" in command(*off, "--yes")
    login, agent = account.login, read(agents.key(account.agent.id))
    assert (login.totp_sealed, login.totp_step, login.recovery_codes) == (None, None, frozenset())
    assert agent
    assert not agent.totp_on
    of_shop = an_account()
    with pytest.raises(
        SystemExit, match=rf"system user sends {{.TotpOff.: true}} to merchant/[0-9]+/pos/{of_shop.agent.id}/update"
    ):
        command("system-users", "totp-off", "--email", of_shop.email)
    assert {"second_factor", "totp_on"} == set(audit.of(f"agent#{agent.id}")[-1].fields)
