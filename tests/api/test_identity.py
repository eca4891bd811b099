"""user/me over HTTP: who the caller is."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib import iso_codes
from chalicelib.domain.permissions import Right
from chalicelib.domain.sessions import ORDINARY
from chalicelib.schemas.mobile_settings import FeaturesIn
from chalicelib.services.json_web_tokens import LATEST
from tests.support.accounts import (
    PASSWORD,
    Account,
    a_stored_merchant,
    a_stored_terminal,
    accept_test_tokens,
    an_account,
)
from tests.support.http import Reply, call, get, post

ME, SIGN_IN = "/api/v1/user/me", "/api/v1/user/login/session"
SECOND = timedelta(seconds=1)
FEATURES = [one.alias for one in FeaturesIn.model_fields.values()]
ON = {"AcceptCards", "AcceptCash", "Returns", "Discounts", "Inherited"}  # where nobody set anything


def ok(reply: Reply) -> Any:
    assert reply.error == (200, 0)
    return reply.body


def me(stage: str, authorization: str, query: str = "") -> Reply:
    return call(stage, "GET", ME + query, None, None, {"Authorization": authorization})


def a_session_of(stage: str, account: Account) -> str:
    body = {"Email": account.email, "Password": PASSWORD}
    return f"Session {ok(post(stage, SIGN_IN, body, None))['Data']['SessionID']}"


def test_an_administrator_is_told_who_it_is_and_the_day_of_its_merchant(stage: str) -> None:
    merchant = a_stored_merchant(gmt=14, currency_id="ZAR")
    account = an_account(Right.ADMINISTRATOR, Right.REVERSE_OTHERS, merchant=merchant)
    before = datetime.now(UTC)

    data = ok(me(stage, account.basic_with_key))["Data"]

    days = {f"{at + timedelta(hours=14):%Y-%m-%d}" for at in (before, datetime.now(UTC))}
    assert data.pop("Today") in days
    assert data == {
        "AgentID": account.agent.id,
        "Name": account.agent.name,
        "Email": account.email,
        "ClientID": merchant.id,
        "ClientName": merchant.name,
        "CurrencyID": "ZAR",
        "CurrencyDigits": 2,
        "TotpOn": False,
        "GMT": 14,
        "IsAdministrator": True,
        "IsSystemUser": False,
        "Rights": [220, 301],
        "Features": {name: name in ON for name in FEATURES},
        "DrawerBlind": False,
        "ExpiresAt": None,
    }


@pytest.mark.parametrize(
    ("terminal", "agent", "merchant", "expected"),
    [
        ("414", "JPY", "ZAR", ("KWD", 3)),
        (None, "JPY", "ZAR", ("JPY", 0)),
        (None, None, "IQD", ("IQD", 3)),
        (None, None, None, (None, None)),
    ],
    ids=["terminal", "agent", "merchant", "none"],
)
def test_the_currency_is_the_one_that_payments_take(
    stage: str, terminal: str | None, agent: str | None, merchant: str | None, expected: tuple[str | None, int | None]
) -> None:
    shop = a_stored_merchant(currency_id=merchant)
    own = a_stored_terminal(shop, currency=iso_codes.currency(terminal)) if terminal else None
    account = an_account(merchant=shop, terminal_id=own, currency_id=agent)

    data = ok(me(stage, account.basic_with_key))["Data"]

    assert (data["CurrencyID"], data["CurrencyDigits"]) == expected
    named = ok(me(stage, account.basic_with_key, f"?AccountID={account.agent.id}"))["Data"]
    assert named["CurrencyID"] == merchant


def test_a_system_user_has_no_merchant_and_the_day_of_utc(stage: str) -> None:
    before = datetime.now(UTC)
    data = ok(me(stage, an_account(system=True).basic_with_key))["Data"]

    assert (data["ClientID"], data["ClientName"], data["CurrencyID"], data["GMT"]) == (0, None, None, 0)
    assert (data["IsSystemUser"], data["IsAdministrator"], data["Rights"]) == (True, False, [])
    assert data["Today"] in {f"{at:%Y-%m-%d}" for at in (before, datetime.now(UTC))}


def test_a_system_user_is_told_the_day_and_the_zone_of_the_merchant_whose_account_it_names(stage: str) -> None:
    merchant, system = a_stored_merchant(gmt=14, currency_id="ZAR"), an_account(system=True)
    account = an_account(merchant=merchant)
    before = datetime.now(UTC)

    data = ok(me(stage, system.basic_with_key, f"?AccountID={account.agent.id}"))["Data"]

    found = (data["ClientID"], data["ClientName"], data["CurrencyID"], data["GMT"])
    assert found == (merchant.id, merchant.name, "ZAR", 14)
    assert data["Today"] in {f"{at + timedelta(hours=14):%Y-%m-%d}" for at in (before, datetime.now(UTC))}
    assert (data["AgentID"], data["IsSystemUser"]) == (system.agent.id, True)


def test_nobody_is_told_of_an_account_that_is_missing_or_another_merchants(stage: str) -> None:
    own, other, system = an_account(Right.ADMINISTRATOR), an_account(), an_account(system=True)

    for caller, named in ((own, other), (system, system)):
        assert me(stage, caller.basic_with_key, f"?AccountID={named.agent.id}").error == (404, 563)
    assert me(stage, system.basic_with_key, "?AccountID=999999999").error == (404, 563)
    assert ok(me(stage, own.basic_with_key, f"?AccountID={own.agent.id}"))["Data"]["ClientID"] == own.agent.client_id


@pytest.mark.parametrize(("query", "hours"), [("", 2), ("?GMT=-5", -5), ("?GMT=0", 0)])
def test_the_end_of_a_session_is_local_time(stage: str, query: str, hours: int) -> None:
    account = an_account()
    before = datetime.now(UTC)
    session = a_session_of(stage, account)

    data = ok(me(stage, session, query))["Data"]

    ends = datetime.fromisoformat(data["ExpiresAt"] + "+00:00") - timedelta(hours=hours)
    assert before + ORDINARY.idle - SECOND <= ends <= datetime.now(UTC) + ORDINARY.idle
    assert data["GMT"] == 2


@pytest.mark.parametrize("exp", [timedelta(hours=1), timedelta(days=3000), None])
def test_the_end_of_a_token_is_its_exp(stage: str, exp: timedelta | None) -> None:
    account = an_account()
    accept_test_tokens()
    ends = datetime.now(UTC).replace(microsecond=0) + exp if exp else None
    token = account.jwt(account.key, **({"exp": int(ends.timestamp())} if ends else {}))

    shown = ok(me(stage, token, "?GMT=0"))["Data"]["ExpiresAt"]

    assert shown == (ends and f"{ends:%Y-%m-%dT%H:%M:%S}.000")


@pytest.mark.parametrize("exp", [LATEST - 1, LATEST, LATEST * 1000, 10**30, 10**400, float(LATEST - 1), 1e300])
@pytest.mark.parametrize("gmt", [14, 1])
def test_the_end_of_a_token_beyond_the_year_9999_is_not_shown(stage: str, exp: float, gmt: int) -> None:
    account = an_account()
    accept_test_tokens()

    assert ok(me(stage, account.jwt(account.key, exp=exp), f"?GMT={gmt}"))["Data"]["ExpiresAt"] is None


@pytest.mark.parametrize("claims", [{"exp": -(10**20)}, {"exp": "x"}, {"exp": []}, {"nbf": 1e300}, {"nbf": LATEST}])
def test_odd_times_of_a_token_are_refused(stage: str, claims: dict[str, Any]) -> None:
    account = an_account()
    accept_test_tokens()

    assert me(stage, account.jwt(account.key, **claims)).error == (401, 106)


def test_the_end_of_a_token_with_a_session_is_the_earlier_end(stage: str) -> None:
    account = an_account()
    accept_test_tokens()
    session = a_session_of(stage, account).removeprefix("Session ")
    before, late = datetime.now(UTC), datetime.now(UTC) + timedelta(days=1)

    shown = ok(me(stage, account.jwt(session, exp=int(late.timestamp())), "?GMT=0"))["Data"]["ExpiresAt"]

    assert datetime.fromisoformat(shown + "+00:00") <= before + ORDINARY.idle


def test_it_may_be_asked_as_often_as_one_likes(stage: str) -> None:
    account = an_account(terminal_id=a_stored_terminal(a_stored_merchant()))

    assert {me(stage, account.basic_with_key).error for _ in range(5)} == {(200, 0)}


def test_a_blocked_agent_is_not_told(stage: str) -> None:
    account = an_account()
    session = a_session_of(stage, account)
    account.change(state=0)

    assert me(stage, session).error == (401, 103)


@pytest.mark.parametrize(("query", "is_right"), [("GMT=5&GMT=5", True), ("GMT=5&GMT=05", True), ("GMT=5&GMT=6", False)])
def test_a_parameter_that_is_given_twice_has_one_value(stage: str, query: str, *, is_right: bool) -> None:
    reply = get(stage, f"{ME}?{query}")

    assert (reply.error, reply.findings) == (((200, 0), []) if is_right else ((400, 202), [("GMT", 12)]))
