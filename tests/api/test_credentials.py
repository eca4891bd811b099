"""Signing in over HTTP: the three schemes, wrong passwords, blocked accounts."""

import base64
import hmac
import http.client
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import jwt
import pytest

from chalicelib.domain.secret import Secret
from chalicelib.domain.sessions import new_session
from chalicelib.services import authentication
from chalicelib.store import agent_sessions
from tests.support.accounts import (
    PASSWORD,
    SIGNING,
    Account,
    a_stored_merchant,
    accept_test_tokens,
    an_account,
    basic,
    block,
    is_401,
    signed,
)
from tests.support.http import Reply, call, post

SIGN_IN = "/api/v1/user/login/session"
AUTH_ACCOUNT = "/api/v1/payment/AuthAccount"
A_PAYMENT = f"/api/v1/payment/{uuid4()}"
MEGABYTE = 2**20


@pytest.fixture(autouse=True)
def signing(stage: str) -> None:
    """Make the stage accept the tokens that the tests sign."""
    del stage
    accept_test_tokens()


def _get(stage: str, authorization: str, path: str = A_PAYMENT) -> Reply:
    return call(stage, "GET", path, None, None, {"Authorization": authorization})


def _sign_in(stage: str, account: Account, password: str = PASSWORD) -> Reply:
    return post(stage, SIGN_IN, {"Email": account.email, "Password": password}, None)


def _session_of(stage: str, account: Account) -> str:
    session_id: str = _sign_in(stage, account).body["Data"]["SessionID"]
    return session_id


WAYS: dict[str, Callable[[str, Account], str]] = {
    "password": lambda _, account: account.basic,
    "secret key": lambda _, account: account.basic_with_key,
    "session as Basic secret": lambda stage, account: basic(account.email, _session_of(stage, account)),
    "Jwt with the key": lambda _, account: account.jwt(),
    "Jwt with the password": lambda _, account: account.jwt(PASSWORD),
    "Jwt with a session": lambda stage, account: account.jwt(_session_of(stage, account)),
    "Session": lambda stage, account: f"Session {_session_of(stage, account)}",
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_signing_in_is_the_same_account(stage: str, way: str) -> None:
    account = an_account()
    reply = _get(stage, WAYS[way](stage, account), AUTH_ACCOUNT)

    assert (reply.error, reply.body["ID"]) == ((200, 0), account.agent.id)


@pytest.mark.parametrize("case", [str.lower, str.upper])
@pytest.mark.parametrize("way", ["password", "Jwt with the key", "Session"])
def test_a_scheme_is_understood_in_any_case(stage: str, way: str, case: Callable[[str], str]) -> None:
    scheme, _, value = WAYS[way](stage, an_account()).partition(" ")

    assert _get(stage, f"{case(scheme)} {value}", AUTH_ACCOUNT).status == 200


def test_a_session_is_answered_as_the_specification_shows_it(stage: str) -> None:
    reply = _sign_in(stage, an_account())

    assert reply.error == (200, 0)
    assert reply.body.keys() == {"ErrorCode", "ErrorMessage", "Validations", "Data"}
    assert list(reply.body["Data"]) == ["SessionID"]


@pytest.mark.parametrize("password", ["wrong", PASSWORD.upper()])
def test_a_wrong_password_gives_no_session(stage: str, password: str) -> None:
    assert is_401(_sign_in(stage, an_account(), password), 102)
    assert is_401(post(stage, SIGN_IN, {"Email": "nobody@store.example", "Password": password}, None), 102)


@pytest.mark.parametrize(
    ("body", "findings"),
    [
        ({}, [("Email", 1), ("Password", 1)]),
        ({"Email": None, "Password": None}, [("Email", 1), ("Password", 1)]),
        ({"Email": 5, "Password": 5}, [("Email", 2), ("Password", 2)]),
        ({"Email": [], "Password": {}}, [("Email", 2), ("Password", 2)]),
        ({"Email": "", "Password": ""}, [("Email", 5), ("Password", 5)]),
        ({"Email": "a" * 255, "Password": "a" * 513}, [("Email", 4), ("Password", 4)]),
    ],
)
def test_what_is_no_email_and_password_is_named(stage: str, body: dict[str, Any], findings: list[Any]) -> None:
    reply = post(stage, SIGN_IN, body, None)

    assert (reply.error, reply.findings) == ((400, 202), findings)


def test_half_a_surrogate_pair_is_named(stage: str) -> None:
    reply = post(stage, SIGN_IN, '{"Email": "a@b.example", "Password": "\\ud800"}', None)

    assert (reply.error, reply.findings) == ((400, 202), [("Password", 3)])


def test_a_blank_login_is_missing(stage: str) -> None:
    assert post(stage, SIGN_IN, {"Email": " ", "Password": "x"}, None).findings == [("Email", 5)]


def test_a_colon_belongs_to_the_password(stage: str) -> None:
    account = an_account()

    assert ":" in PASSWORD
    assert _get(stage, account.basic, AUTH_ACCOUNT).status == 200
    assert is_401(_get(stage, basic(account.email, PASSWORD.partition(":")[0])), 102)


@pytest.mark.parametrize("way", WAYS)
def test_a_blocked_agent_is_103_whatever_it_signs_in_with(stage: str, way: str) -> None:
    account = an_account()
    authorization = WAYS[way](stage, account)
    account.change(state=0)

    assert is_401(_get(stage, authorization), 103)


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_of_a_blocked_merchant_is_108_whatever_it_signs_in_with(stage: str, way: str) -> None:
    merchant = a_stored_merchant()
    authorization = WAYS[way](stage, an_account(merchant=merchant))
    block(merchant)

    assert is_401(_get(stage, authorization), 108)


@pytest.mark.slow
def test_ten_wrong_passwords_lock_the_password_and_neither_the_key_nor_a_session(stage: str) -> None:
    account = an_account()
    session = _sign_in(stage, account).body["Data"]["SessionID"]
    for number in range(10):
        _get(stage, basic(account.email, f"wrong {number}"))

    assert is_401(_get(stage, account.basic), 104)
    assert is_401(_sign_in(stage, account), 104)
    assert _get(stage, account.basic_with_key, AUTH_ACCOUNT).status == 200
    assert _get(stage, f"Session {session}", "/api/v1/user/me").status == 200
    assert _get(stage, basic(account.email, session), "/api/v1/user/me").status == 200


def _token(header: dict[str, Any], payload: dict[str, Any], key: str = SIGNING) -> str:
    """Return a token with this header, signed with HS256 by hand."""
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, payload)]
    signature = hmac.digest(key.encode(), b".".join(parts), "sha256")
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


def _swapped(account: Account) -> str:
    """Return a token with the signature of another payload."""
    header, _, signature = account.jwt().removeprefix("Jwt ").split(".")
    other = base64.urlsafe_b64encode(json.dumps({"email": account.email, "token": PASSWORD}).encode())
    return f"{header}.{other.decode().rstrip('=')}.{signature}"


def _payload(account: Account) -> dict[str, Any]:
    return {"email": account.email, "token": account.key}


def _ended_session(account: Account) -> str:
    session_id = Secret(str(uuid4()))
    then = datetime.now(UTC) - timedelta(hours=1)
    agent_sessions.create(new_session(authentication.session_digest(session_id), account.agent.id, 1, then))
    return session_id.reveal()


def _nested(depth: int) -> str:
    return base64.urlsafe_b64encode(b"[" * depth).decode().rstrip("=")


Credential = Callable[[Account], str]
HS256 = {"alg": "HS256", "typ": "JWT"}
NO_CREDENTIAL: dict[str, tuple[Credential, int]] = {
    "empty": (lambda _: "", 101),
    "blank": (lambda _: "   ", 101),
    "Basic alone": (lambda _: "Basic", 102),
    "Basic and blanks": (lambda _: "Basic   ", 102),
    "bad base64": (lambda _: "Basic ***not-base64***", 102),
    "base64 without padding": (lambda _: "Basic dGlsbA", 102),
    "no colon": (lambda account: "Basic " + base64.b64encode(account.email.encode()).decode(), 102),
    "not UTF-8": (lambda _: "Basic " + base64.b64encode(b"till:\xff\xfe").decode(), 102),
    "not ASCII": (lambda _: "Basic \xe9\xff", 102),
    "empty login": (lambda _: basic("", PASSWORD), 102),
    "empty secret": (lambda account: basic(account.email, ""), 102),
    "a login of 2 KB": (lambda _: basic("a" * 2048, PASSWORD), 102),
    "a NUL in the secret": (lambda account: basic(account.email, PASSWORD + "\0"), 102),
    "wrong secret": (lambda account: basic(account.email, "wrong"), 102),
    "unknown login": (lambda _: basic("nobody@store.example", PASSWORD), 102),
    "another's key": (lambda account: basic(account.email, an_account().key), 102),
    "100 KB": (lambda _: "Basic " + "A" * 100 * 1024, 102),
    "unknown scheme": (lambda _: "Digest abc", 107),
    "no scheme": (lambda account: account.basic.removeprefix("Basic "), 107),
    "Bearer": (lambda account: "Bearer " + account.jwt().removeprefix("Jwt "), 107),
    "Jwt alone": (lambda _: "Jwt", 102),
    "Jwt of rubbish": (lambda _: "Jwt a.b.c", 106),
    "Jwt of one part": (lambda _: "Jwt " + "a" * 500, 106),
    "Jwt with none": (lambda account: "Jwt " + jwt.encode(_payload(account), "", algorithm="none"), 106),
    "Jwt with RS256": (lambda account: "Jwt " + _token({"alg": "RS256", "typ": "JWT"}, _payload(account)), 106),
    "Jwt with HS512": (lambda account: "Jwt " + signed(_payload(account), SIGNING * 2, algorithm="HS512"), 106),
    "Jwt with another secret": (lambda account: "Jwt " + signed(_payload(account), "x" * 48), 106),
    "Jwt with the empty secret": (lambda account: "Jwt " + _token(HS256, _payload(account), ""), 106),
    "Jwt with a swapped payload": (lambda account: "Jwt " + _swapped(account), 106),
    "Jwt without a signature": (lambda account: account.jwt().rpartition(".")[0] + ".", 106),
    "Jwt without e-mail": (lambda account: "Jwt " + signed({"token": account.key}), 106),
    "Jwt without token": (lambda account: "Jwt " + signed({"email": account.email}), 106),
    "Jwt with a number for an e-mail": (lambda account: "Jwt " + signed({"email": 5, "token": account.key}), 106),
    "Jwt with an empty token": (lambda account: "Jwt " + signed({"email": account.email, "token": ""}), 102),
    "Jwt of an unknown e-mail": (lambda account: "Jwt " + signed({"email": "no@b.example", "token": account.key}), 102),
    "Jwt with a wrong token": (lambda account: account.jwt("wrong"), 102),
    "Jwt expired": (lambda account: account.jwt(exp=int(time.time()) - 1), 106),
    "Jwt not valid yet": (lambda account: account.jwt(nbf=int(time.time()) + 600), 106),
    "Jwt with a text for exp": (lambda account: "Jwt " + _token(HS256, {**_payload(account), "exp": "soon"}), 106),
    "Jwt with a list for exp": (lambda account: "Jwt " + _token(HS256, {**_payload(account), "exp": []}), 106),
    "Jwt with an endless exp": (lambda account: "Jwt " + _token(HS256, {**_payload(account), "exp": 1e999}), 106),
    "Jwt of a list": (lambda _: "Jwt " + _token(HS256, []), 106),  # type: ignore[arg-type]
    "Jwt with a nested header": (lambda _: f"Jwt {_nested(9000)}.e30.e30", 106),
    "Jwt with a critical header": (
        lambda account: "Jwt " + _token({**HS256, "crit": ["b64"], "b64": False}, _payload(account)),
        106,
    ),
    "Jwt of another type": (lambda account: "Jwt " + _token({"alg": "HS256", "typ": "X"}, _payload(account)), 106),
    "Jwt of 1 MB": (lambda account: account.jwt("x" * MEGABYTE), 102),
    "Session alone": (lambda _: "Session", 102),
    "Session malformed": (lambda _: "Session not-a-guid", 102),
    "Session of nobody": (lambda _: f"Session {uuid4()}", 105),
    "Session ended": (lambda account: f"Session {_ended_session(account)}", 105),
    "Session ended, as Basic secret": (lambda account: basic(account.email, _ended_session(account)), 105),
}


@pytest.mark.parametrize("what", NO_CREDENTIAL)
def test_what_is_no_credential_is_401_and_leaves_no_trace_in_the_log(
    stage: str, what: str, capfd: pytest.CaptureFixture[str]
) -> None:
    make, code = NO_CREDENTIAL[what]
    account = an_account()
    authorization = make(account)

    reply = _get(stage, authorization)

    printed = "".join(capfd.readouterr())
    shown = authorization[-400:].strip() or "Authorization"
    assert is_401(reply, code), reply.text
    assert account.email not in printed
    assert shown not in printed + reply.text


@pytest.mark.parametrize("second", ["Basic abc", ""])
def test_two_headers_are_no_crash_and_at_most_one_credential(stage: str, second: str) -> None:
    url = urlsplit(stage)
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=30)
    connection.putrequest("GET", A_PAYMENT)
    connection.putheader("Authorization", "Basic abd")
    connection.putheader("Authorization", second)
    connection.endheaders()

    response = connection.getresponse()

    assert response.status == 401
    assert json.loads(response.read())["ErrorCode"] in {101, 102}
    connection.close()


def test_no_header_is_101(stage: str) -> None:
    assert is_401(call(stage, "GET", A_PAYMENT, None, None), 101)
