"""Denied sign-ins over HTTP: one line of the log each, the same for known and unknown logins, and no secret in any."""

import base64
import http.client
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from chalicelib.store.table import client, table_name
from tests.support.accounts import (
    PASSWORD,
    Account,
    a_stored_merchant,
    accept_test_tokens,
    an_account,
    basic,
    block,
    signed,
)
from tests.support.builders import an_email
from tests.support.http import Reply, post

A_PAYMENT = f"/api/v1/payment/{uuid4()}"
SIGN_IN = "/api/v1/user/login/session"
HERE = "127.0.0.1"
Send = Callable[..., Reply]


@pytest.fixture
def any_stage(stage_on_engine: str) -> str:
    """The local stage, which accepts the tokens of tests: its URL."""
    accept_test_tokens()
    return stage_on_engine


def _send(
    stage: str, authorization: str | None = None, *, sign_in: dict[str, str] | None = None, source: str = HERE
) -> Reply:
    """Send one request from this address: with an Authorization header, or a session login."""
    url = urlsplit(stage)
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=30, source_address=(source, 0))
    headers = {"X-Forwarded-For": "203.0.113.9", "Content-Type": "application/json"}
    try:
        if sign_in is not None:
            connection.request("POST", SIGN_IN, json.dumps(sign_in), headers)
        else:
            connection.request("GET", A_PAYMENT, None, {**headers, "Authorization": authorization or ""})
        response = connection.getresponse()
        return Reply(response.status, dict(response.headers), response.read().decode())
    finally:
        connection.close()


def _lines(capfd: pytest.CaptureFixture[str], event: str = "denied") -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    return [line for line in lines if line["event"] == event]


DENIED: dict[str, tuple[Callable[[Account], str], str | None, int, bool]] = {
    "wrong password": (lambda account: basic(account.email, "wrong"), "Basic", 102, True),
    "unknown login": (lambda _: basic(an_email(), PASSWORD), "Basic", 102, True),
    "no base64": (lambda _: "Basic ****", "Basic", 102, False),
    "unknown scheme": (lambda _: "Digest abc", None, 107, False),
    "token of nobody": (lambda _: "Jwt a.b.c", "Jwt", 106, False),
    "token with a wrong secret": (lambda account: account.jwt("wrong"), "Jwt", 102, True),
    "session of nobody": (lambda _: f"Session {uuid4()}", "Session", 105, False),
}


@pytest.mark.parametrize("what", DENIED)
def test_a_denied_request_is_one_line_of_four_facts(stage: str, what: str, capfd: pytest.CaptureFixture[str]) -> None:
    accept_test_tokens()
    make, scheme, code, has_login = DENIED[what]
    authorization = make(an_account())
    capfd.readouterr()

    reply = _send(stage, authorization, source="127.0.0.7")

    (line,) = _lines(capfd)
    assert reply.body["ErrorCode"] == code
    assert line.keys() == {"event", "stage", "scheme", "code", "login", "source"}
    assert (line["scheme"], line["code"], line["source"]) == (scheme, code, "127.0.0.7")
    assert (line["login"] is not None) == has_login


def test_a_denied_session_login_is_the_same_line(stage: str, capfd: pytest.CaptureFixture[str]) -> None:
    account = an_account()
    _send(stage, basic(account.email, "wrong"))
    (by_header,) = _lines(capfd)
    _send(stage, sign_in={"Email": account.email.upper(), "Password": "wrong"}, source="127.0.0.8")

    (line,) = _lines(capfd)
    assert line == {**by_header, "scheme": "Login", "source": "127.0.0.8"}


def test_a_session_login_of_a_blocked_merchant_is_a_line_too(stage: str, capfd: pytest.CaptureFixture[str]) -> None:
    merchant = a_stored_merchant()
    account = an_account(merchant=merchant)
    block(merchant)
    _send(stage, sign_in={"Email": account.email, "Password": PASSWORD})

    (line,) = _lines(capfd)
    assert (line["scheme"], line["code"]) == ("Login", 108)


@pytest.mark.parametrize("way", ["basic", "basic_with_key"])
def test_who_is_let_in_leaves_no_such_line(stage: str, way: str, capfd: pytest.CaptureFixture[str]) -> None:
    _send(stage, getattr(an_account(), way))

    assert _lines(capfd) == []


def test_a_login_has_one_digest_however_it_is_spelt_and_another_login_another(
    stage: str, capfd: pytest.CaptureFixture[str]
) -> None:
    email = an_email()
    for login in (email, email.upper(), f" {email} ", an_email()):
        _send(stage, basic(login, "wrong"))

    digests = [line["login"] for line in _lines(capfd)]
    assert len(set(digests[:3])) == 1
    assert digests[3] != digests[0]


@pytest.mark.slow
@pytest.mark.parametrize("sign_in", ["header", "session login"])
def test_twelve_guesses_at_a_known_and_an_unknown_login_are_answered_and_logged_alike(
    any_stage: str, sign_in: str, capfd: pytest.CaptureFixture[str]
) -> None:
    def guesses(email: str) -> Iterator[Any]:
        for number in range(12):
            password = f"wrong {number}"
            reply = (
                _send(any_stage, basic(email, password))
                if sign_in == "header"
                else _send(any_stage, sign_in={"Email": email, "Password": password})
            )
            own = {name: value for name, value in reply.headers.items() if name not in {"x-amzn-RequestId", "Date"}}
            yield reply.status, own, reply.text

    def seen(email: str) -> Any:
        answers = list(guesses(email))
        return answers, [(line["scheme"], line["code"]) for line in _lines(capfd)]

    known, unknown = seen(an_account().email), seen(an_email())

    assert known == unknown
    assert [json.loads(text)["ErrorCode"] for _, _, text in known[0]] == [102] * 10 + [104] * 2
    assert [code for _, code in known[1]] == [102] * 10 + [104] * 2


@pytest.mark.slow
@pytest.mark.parametrize("is_known", [True, False], ids=["known", "unknown"])
def test_of_fifty_guesses_at_once_ten_are_counted_and_the_others_learn_nothing(
    any_stage: str,
    is_known: bool,  # noqa: FBT001  a parameter
) -> None:
    email = an_account().email if is_known else an_email()
    with ThreadPoolExecutor(50) as pool:
        replies = list(pool.map(lambda number: _send(any_stage, basic(email, f"wrong {number}")), range(50)))

    codes = [reply.body["ErrorCode"] for reply in replies]
    assert {code: codes.count(code) for code in codes} == {102: 10, 104: 40}


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "unknown"])
def test_a_login_tried_from_five_places_is_one_line(
    any_stage: str,
    is_known: bool,  # noqa: FBT001  a parameter
    capfd: pytest.CaptureFixture[str],
) -> None:
    email = an_account().email if is_known else an_email()
    for place in (1, 2, 2, 3, 4, 1, 5, 6, 5):
        _send(any_stage, basic(email, "wrong"), source=f"127.0.0.{place}")

    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    (line,) = [line for line in lines if line["event"] == "login_from_many_places"]
    (digest,) = {line["login"] for line in lines if line["event"] == "denied"}
    assert line == {"event": "login_from_many_places", "stage": "local", "login": digest, "sources": 5}


def test_four_places_are_no_line_and_successes_do_not_count(stage: str, capfd: pytest.CaptureFixture[str]) -> None:
    account = an_account()
    for place in (1, 2, 3, 4):
        _send(stage, basic(account.email, "wrong"), source=f"127.0.0.{place}")
    for place in (5, 6, 7):
        _send(stage, account.basic_with_key, source=f"127.0.0.{place}")
    _send(stage, account.basic, source="127.0.0.8")  # a new row begins
    _send(stage, basic(account.email, "wrong"), source="127.0.0.9")

    assert _lines(capfd, "login_from_many_places") == []


def test_an_unlock_begins_a_new_row_of_places_too(stage: str, capfd: pytest.CaptureFixture[str]) -> None:
    merchant = a_stored_merchant()
    account, owner = an_account(merchant=merchant), an_account(220, merchant=merchant)
    path = f"/api/v1/merchant/{merchant.id}/pos/{account.agent.id}/update"
    for place in (1, 2, 3, 4):
        _send(stage, basic(account.email, "wrong"), source=f"127.0.0.{place}")

    unlocked = post(stage, path, {"Unlock": True}, (owner.email, owner.key))
    _send(stage, basic(account.email, "wrong"), source="127.0.0.5")

    assert unlocked.status == 200
    assert _lines(capfd, "login_from_many_places") == []
    assert account.login.failed_attempts == 1


def _canaries() -> tuple[str, str]:
    """Return a login and a secret that nothing else has."""
    return f"canary-{uuid4().hex}@canary.example", f"canary-secret-{uuid4().hex}"


def _sent(login: str, secret: str) -> Iterator[str]:
    """Yield the secret in every header it may be sent in, rightly and wrongly."""
    pair = f"{login}:{secret}"
    yield basic(login, secret)
    yield basic(secret, login)
    yield f"Basic {pair}"
    yield f"Digest {pair}"
    yield pair
    yield f"{secret} {login}"
    yield f"Session {secret}"
    yield f"Jwt {secret}"
    yield f"Jwt {signed({'email': login, 'token': secret})}"
    yield f"Jwt {signed({'email': login, 'token': secret}, 'x' * 48)}"
    yield f"Bearer {base64.b64encode(pair.encode()).decode()}"


@pytest.mark.slow
def test_no_login_or_secret_of_a_denied_sign_in_is_kept(any_stage: str, capfd: pytest.CaptureFixture[str]) -> None:
    login, secret = _canaries()
    headers = list(_sent(login, secret))
    for _ in range(2):
        replies = [_send(any_stage, header) for header in headers]
    replies += [_send(any_stage, sign_in={"Email": login, "Password": secret}) for _ in range(12)]
    replies += [_send(any_stage, sign_in={"Email": secret, "Password": login})]

    printed = "".join(capfd.readouterr()) + "".join(f"{reply.headers} {reply.text}" for reply in replies)
    stored = repr(
        [
            client().call("Scan", TableName=table_name(table), ConsistentRead=True)["Items"]
            for table in ("logins", "sessions", "agents")
        ]
    )
    words = [login, secret, *(header.split(" ")[-1] for header in headers)]
    assert {reply.status for reply in replies} == {401}
    assert "UNKNOWN#" in stored  # the search sees what was stored
    assert [word for word in words if word in printed + stored] == []
