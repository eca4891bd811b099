"""A forgotten password over HTTP: a link by e-mail, and the new password that it sets."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from chalicelib.domain.message_limits import PER_ADDRESS
from chalicelib.domain.password_lock import LOCK_AFTER
from chalicelib.domain.password_reset import GOOD_FOR, PER_LOGIN
from chalicelib.domain.permissions import Right
from chalicelib.services import outbox
from chalicelib.store import agent_changes, agents
from chalicelib.store.agent_changes import LoginChange
from chalicelib.store.audit import Act
from chalicelib.store.table import call as store_call
from chalicelib.store.table import table_name
from tests.support.accounts import PASSWORD, Account, a_stored_merchant, an_account, block
from tests.support.builders import an_email
from tests.support.cost import store_calls
from tests.support.giving import Give
from tests.support.http import Reply, call, post
from tests.support.receipts import mails
from tests.support.stored import stored_record

FORGOT, RESET = "/api/v1/user/password/forgot", "/api/v1/user/password/reset"
SIGN_IN, ME = "/api/v1/user/login/session", "/api/v1/user/me"
OK, DEAD, INVALID = (200, 0), (401, 106), (400, 202)
NEW = "another long password"
TOKEN = re.compile(r"/app#/reset/([\w-]{43})\n")

pytestmark = pytest.mark.usefixtures("moto")


@pytest.fixture
def clock(give: Give) -> list[datetime]:
    """The time of the stage."""
    times = [datetime.now(UTC).replace(microsecond=0)]
    give(now=lambda: times[0])
    return times


def send_owed(clock: list[datetime]) -> None:
    """Send the messages that are owed."""
    clock[0] += timedelta(seconds=61)
    outbox.sweep(clock[0])


def tokens(email: str) -> list[str]:
    """Return the tokens of the links that were sent to an address."""
    return [found[1] for mail in mails(email) if (found := TOKEN.search(mail.body))]


@pytest.fixture
def link(stage: str, clock: list[datetime]) -> Callable[[Account], str]:
    """Ask for a link of an account, and return its token."""

    def ask(account: Account) -> str:
        asked = post(stage, FORGOT, {"Email": account.email.upper()}, None)
        assert (asked.error, asked.body["Validations"]) == (OK, None)
        send_owed(clock)
        return tokens(account.email)[-1]

    return ask


def reset(stage: str, token: str, password: str = NEW) -> Reply:
    return post(stage, RESET, {"Token": token, "Password": password}, None)


def sign_in(stage: str, account: Account, password: str) -> Reply:
    return post(stage, SIGN_IN, {"Email": account.email, "Password": password}, None)


@pytest.mark.parametrize("account", [lambda: an_account(Right.ADMINISTRATOR), lambda: an_account(system=True)])
def test_a_link_sets_a_password_and_ends_sessions_lock_and_older_links(
    stage: str, clock: list[datetime], link: Callable[[Account], str], account: Callable[[], Account]
) -> None:
    ann = account()
    session = sign_in(stage, ann, PASSWORD).body["Data"]["SessionID"]
    for number in range(LOCK_AFTER):
        sign_in(stage, ann, f"wrong {number}")
    older, token = link(ann), link(ann)

    assert sign_in(stage, ann, PASSWORD).error == (401, 104)
    weak = [reset(stage, token, password) for password in ("short", ann.email, "a" * 12, PASSWORD)]
    assert [(one.error, one.findings) for one in weak] == [
        (INVALID, [("Password", number)]) for number in (5, 3, 3, 3)
    ], "the link stays good"
    assert reset(stage, token).error == OK
    assert sign_in(stage, ann, NEW).error == OK
    assert sign_in(stage, ann, PASSWORD).error == (401, 102)
    assert call(stage, "GET", ME, None, None, {"Authorization": f"Session {session}"}).error == (401, 105)
    assert call(stage, "GET", ME, None, None, {"Authorization": ann.basic_with_key}).error == OK
    assert [reset(stage, one, "a third long password").error for one in (token, older)] == [DEAD] * 2
    send_owed(clock)
    assert mails(ann.email)[-1].subject == "Your password was changed"
    stored = str([store_call("Scan", TableName=table_name(name)) for name in ("outbox", "sequences", "audit")])
    assert older not in stored
    assert token not in stored


def test_a_link_is_good_for_thirty_minutes(stage: str, clock: list[datetime], link: Callable[[Account], str]) -> None:
    ann = an_account(Right.ADMINISTRATOR)
    token = link(ann)
    clock[0] += GOOD_FOR - timedelta(seconds=1)
    assert reset(stage, token, "short").error == INVALID
    clock[0] += timedelta(seconds=2)

    assert [reset(stage, one).error for one in (token, token[:-1], "x", f"{token} ")] == [DEAD] * 4
    assert sign_in(stage, ann, PASSWORD).error == OK


CHANGES: dict[str, Callable[[Account], None]] = {
    "blocked": lambda account: account.change(state=0),
    "with other credentials": lambda account: account.change(credential_version=2),
    "with another e-mail": lambda account: account.change(email=an_email()),
    "no administrator": lambda account: account.change(branches_actions=()),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_of_the_agent_ends_its_link(
    stage: str, link: Callable[[Account], str], change: Callable[[Account], None]
) -> None:
    ann = an_account(Right.ADMINISTRATOR)
    token = link(ann)
    change(ann)

    assert reset(stage, token).error == DEAD
    assert ann.login.password_hash == an_account().login.password_hash


def change_and_back(account: Account, name: str, value: Any) -> None:
    """Change a field of an agent and give its value back, as two updates do."""
    for one in (value, getattr(account.agent, name)):
        before = stored_record(agents.key(account.agent.id))
        moved = stored_record(agents.login_key(before.email)) if name == "email" else None
        after, act = replace(before, **{name: one}), Act("update", before.id, datetime.now(UTC))
        agent_changes.change(before, after, LoginChange(moved=moved), act)


@pytest.mark.parametrize("change", [("email", "there@and.back.example"), ("branches_actions", ())])
@pytest.mark.parametrize("is_sent", [True, False])
def test_no_link_revives_when_the_former_value_comes_back(
    stage: str, clock: list[datetime], link: Callable[[Account], str], change: tuple[str, Any], *, is_sent: bool
) -> None:
    ann = an_account(Right.ADMINISTRATOR)
    token = link(ann)
    if not is_sent:
        post(stage, FORGOT, {"Email": ann.email}, None)
    change_and_back(ann, *change)
    send_owed(clock)

    assert (reset(stage, token).error, tokens(ann.email)) == (DEAD, [token])
    assert reset(stage, link(ann)).error == OK


def test_a_link_that_was_asked_for_before_a_new_password_is_not_sent_after_it(
    stage: str, clock: list[datetime], link: Callable[[Account], str]
) -> None:
    ann = an_account(Right.ADMINISTRATOR)
    token = link(ann)
    post(stage, FORGOT, {"Email": ann.email}, None)
    assert reset(stage, token).error == OK
    send_owed(clock)

    assert tokens(ann.email) == [token]


def of_a_blocked_merchant() -> Account:
    account = an_account(Right.ADMINISTRATOR, merchant=(merchant := a_stored_merchant()))
    block(merchant)
    return account


WITHOUT: dict[str, Callable[[], str]] = {
    "an agent": lambda: an_account().email,
    "a blocked administrator": lambda: an_account(Right.ADMINISTRATOR, state=0).email,
    "of a blocked merchant": lambda: of_a_blocked_merchant().email,
    "unknown": an_email,
    "no e-mail": lambda: "ann",
}


@pytest.mark.parametrize("email", WITHOUT.values(), ids=WITHOUT)
def test_any_other_login_gets_the_same_answer_after_the_same_work_and_no_link(
    stage: str, clock: list[datetime], email: Callable[[], str]
) -> None:
    ann, other = an_account(Right.ADMINISTRATOR).email, email()
    answers = []
    for asked in (ann, other):
        with store_calls() as calls:
            reply = post(stage, FORGOT, {"Email": asked}, None)
        answers.append((reply.status, reply.text, calls))
    send_owed(clock)

    assert answers[0] == answers[1]
    assert answers[0][:2] == (200, '{"ErrorCode":0,"ErrorMessage":null,"Validations":null}')
    assert (len(tokens(ann)), mails(other)) == (1, [])


def test_a_login_gets_three_links_a_day(stage: str, clock: list[datetime]) -> None:
    ann = an_account(Right.ADMINISTRATOR)
    answers = {post(stage, FORGOT, {"Email": ann.email}, None).text for _ in range(PER_LOGIN + 2)}
    send_owed(clock)

    assert len(answers) == 1
    assert len(set(tokens(ann.email))) == PER_LOGIN
    clock[0] += timedelta(days=1)
    post(stage, FORGOT, {"Email": ann.email}, None)
    send_owed(clock)
    assert len(tokens(ann.email)) == PER_LOGIN + 1


def test_an_address_gets_at_most_ten_links_a_day_under_all_its_tags_and_always_learns_of_a_new_password(
    stage: str, clock: list[datetime], capsys: pytest.CaptureFixture[str]
) -> None:
    name, domain = an_email().split("@")
    ann, *others = (an_account(Right.ADMINISTRATOR, email=f"{name}+{n}@{domain}") for n in range(PER_ADDRESS + 2))
    answers = {post(stage, FORGOT, {"Email": one.email}, None).text for one in (ann, *others)}
    send_owed(clock)

    assert len(answers) == 1
    found = [token for one in (ann, *others) for token in tokens(one.email)]
    assert len(found) == PER_ADDRESS
    assert capsys.readouterr().out.count('"event": "messages_withheld"') == 2
    assert reset(stage, found[0]).error == OK
    send_owed(clock)
    told = [mail for one in (ann, *others) for mail in mails(one.email) if mail.subject == "Your password was changed"]
    assert len(told) == 1


def test_the_other_system_users_learn_of_a_sign_in_from_a_new_address(stage: str, clock: list[datetime]) -> None:
    tina, tom, blocked = an_account(system=True), an_account(system=True), an_account(system=True, state=0)
    days = count()

    def told() -> list[str]:
        sign_in(stage, tina, PASSWORD)
        send_owed(clock)
        return [mail.body for mail in mails(tom.email) if tina.email in mail.body]

    (first,) = told()
    assert "127.0.0.1" in first
    assert len(told()) == 1, "the address is known"
    clock[0] += timedelta(days=90 + next(days))
    assert len(told()) == 2
    assert not [mail for one in (tina, blocked) for mail in mails(one.email) if tina.email in mail.body]
    assert sign_in(stage, an_account(Right.ADMINISTRATOR), PASSWORD).error == OK
