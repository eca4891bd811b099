"""user/logout/session over HTTP: the session that calls it ends, whatever remembers it."""

import pytest

from tests.support.accounts import PASSWORD, Account, a_stored_merchant, a_stored_terminal, an_account, basic
from tests.support.cost import store_calls
from tests.support.http import Reply, call, post
from tests.support.role_table import a_world, authorization_of

ME, SIGN_IN, SIGN_OUT = "/api/v1/user/me", "/api/v1/user/login/session", "/api/v1/user/logout/session"


def a_session(stage: str, account: Account) -> str:
    session: str = post(stage, SIGN_IN, {"Email": account.email, "Password": PASSWORD}, None).body["Data"]["SessionID"]
    return session


def me(stage: str, authorization: str) -> tuple[int, int]:
    return call(stage, "GET", ME, None, None, {"Authorization": authorization}).error


def sign_out(stage: str, authorization: str, body: object = None) -> Reply:
    return call(stage, "POST", SIGN_OUT, body, None, {"Authorization": authorization})


@pytest.fixture
def account() -> Account:
    merchant = a_stored_merchant()
    return an_account(merchant=merchant, terminal_id=a_stored_terminal(merchant))


@pytest.mark.parametrize("way", [0, 1])
def test_a_session_is_refused_from_the_next_request_on(stage: str, account: Account, way: int) -> None:
    session, other = a_session(stage, account), a_session(stage, account)
    ways = (f"Session {session}", basic(account.email, session))
    assert [me(stage, one) for one in ways] == [(200, 0)] * 2  # and API Gateway remembers both

    assert sign_out(stage, ways[way]).error == (200, 0)
    assert [me(stage, one) for one in ways] == [(401, 105)] * 2
    assert [sign_out(stage, one).error for one in ways] == [(401, 105)] * 2
    assert me(stage, f"Session {other}") == (200, 0), "another session of the agent continues"
    assert me(stage, account.basic) == (200, 0)


@pytest.mark.parametrize("scheme", ["password", "secret key", "Jwt"])
def test_a_password_or_key_is_no_session(stage: str, scheme: str) -> None:
    world = a_world(stage, "agent")
    authorization = world.caller.basic if scheme == "password" else authorization_of(world, scheme)
    reply = sign_out(stage, authorization)

    assert reply.error == (400, 202)
    assert [(one["Property"], one["Code"]) for one in reply.body["Validations"]] == [("Authorization", 12)]
    assert me(stage, authorization) == (200, 0)


@pytest.mark.parametrize("body", [None, {}, b"", b"no JSON", {"SessionID": "another"}])
def test_the_body_does_not_matter(stage: str, account: Account, body: object) -> None:
    assert sign_out(stage, f"Session {a_session(stage, account)}", body).error == (200, 0)


def test_a_session_costs_no_further_call(stage: str, account: Account) -> None:
    authorization = f"Session {a_session(stage, account)}"
    me(stage, authorization)
    with store_calls() as calls:
        me(stage, authorization)

    assert calls.count("BatchGetItem") == 1
