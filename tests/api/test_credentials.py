"""Signing in over HTTP: the three schemes, wrong passwords, blocked accounts."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.support.accounts import (
    PASSWORD,
    Account,
    a_stored_merchant,
    accept_test_tokens,
    an_account,
    basic,
    block,
    is_401,
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


@pytest.mark.parametrize("text", ['{"Email": "a@b.example", "Password": "\\ud800"}', '{"Email": " ", "Password": "x"}'])
def test_what_can_be_no_credential_is_a_bad_one(stage: str, text: str) -> None:
    assert is_401(post(stage, SIGN_IN, text, None, Content_Type="application/json"), 102)


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


def test_ten_wrong_passwords_lock_the_password_and_not_the_key(stage: str) -> None:
    account = an_account()
    for number in range(10):
        _get(stage, basic(account.email, f"wrong {number}"))

    assert is_401(_get(stage, account.basic), 104)
    assert is_401(_sign_in(stage, account), 104)
    assert _get(stage, account.basic_with_key, AUTH_ACCOUNT).status == 200
