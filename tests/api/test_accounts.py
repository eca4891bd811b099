"""AuthAccount over HTTP; a revoked credential is refused from the next request on."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from chalicelib.domain.agent import Caller
from chalicelib.domain.secret import Secret
from chalicelib.domain.sessions import ORDINARY
from chalicelib.errors import ServiceError
from chalicelib.services import authentication
from chalicelib.services.authentication import caller_of, session_digest
from chalicelib.settings import settings
from chalicelib.store import sessions as sessions_store
from chalicelib.store.auth_account_calls import take_call
from chalicelib.store.table import update, write_one
from tests.support.accounts import (
    PASSWORD,
    Account,
    a_stored_merchant,
    a_stored_terminal,
    accept_test_tokens,
    an_account,
    basic,
    block,
)
from tests.support.builders import CONTEXT
from tests.support.giving import Give
from tests.support.http import Reply, call, post
from tests.support.transactions import a_body

AUTH_ACCOUNT = "/api/v1/payment/AuthAccount"
A_PAYMENT = f"/api/v1/payment/{uuid4()}"
SIGN_IN = "/api/v1/user/login/session"


def _ask(stage: str, account: Account, query: str = "", body: Any = None) -> Reply:
    return call(stage, "GET", AUTH_ACCOUNT + query, body, None, {"Authorization": account.basic_with_key})


def test_the_configuration_holds_every_field_of_the_specification(stage: str) -> None:
    merchant = a_stored_merchant()
    account = an_account(merchant=merchant, terminal_id=a_stored_terminal(merchant))

    body = _ask(stage, account).body

    options = body.pop("PaymentOptions")
    assert body == {
        "ErrorCode": 0,
        "ErrorMessage": None,
        "Validations": None,
        "SessionID": None,
        "LanguageID": "en",
        "ID": account.agent.id,
        "ClientID": merchant.id,
        "CurrencyID": "ZAR",
        "CountryID": "ZA",
        "CountryName": "South Africa",
        "IsSystemUser": False,
        "ProductDescListPhone": [{"ProductDescCode": "Insurance"}],
    }
    assert {
        "Id": 10,
        "AcquirerCode": "CASH",
        "AcquirerName": "Cash",
        "RequiresEmailOrPhone": 0,
        "RequiresEmailOrPhoneForOwnFiscalization": 0,
        "ImgUrl": None,
        "ProductDescCodesRE": 0,
        "ProductDescCodes": {"Insurance": {"ProductDescCode": "Insurance"}},
    } in options


def test_each_way_to_pay_names_its_acquirer_and_the_products_that_prepare_serves(stage: str) -> None:
    body = _ask(stage, an_account()).body

    names = {option["Id"]: (option["AcquirerCode"], option["AcquirerName"]) for option in body["PaymentOptions"]}
    assert names == {**dict.fromkeys((1, 2, 3, 4, 5), ("SANDBOX", "Sandbox")), 10: ("CASH", "Cash")}
    for option in body["PaymentOptions"]:
        assert list(option["ProductDescCodes"]) == [item["ProductDescCode"] for item in body["ProductDescListPhone"]]
    prepared = {"ProductDescCode": body["ProductDescListPhone"][0]["ProductDescCode"], "PrepareFields": []}
    assert post(stage, "/api/v1/payment/prepare", prepared).error != (404, 567)


def test_a_system_user_has_no_way_to_pay_and_no_products(stage: str) -> None:
    body = _ask(stage, an_account(system=True)).body

    assert (body["PaymentOptions"], body["ProductDescListPhone"]) == ([], [])
    assert (body["CurrencyID"], body["CountryID"], body["CountryName"]) == (None, None, None)


def test_the_currency_is_that_of_the_terminal_the_agent_has_now(stage: str) -> None:
    merchant = a_stored_merchant()
    account = an_account(merchant=merchant, terminal_id=1)
    account.change(terminal_id=a_stored_terminal(merchant))

    assert _ask(stage, account).body["CurrencyID"] == "ZAR"


def test_the_currency_is_what_a_payment_takes_whatever_the_agent_has(stage: str) -> None:
    merchant = a_stored_merchant(currency_id="EUR")
    account = an_account(merchant=merchant, terminal_id=a_stored_terminal(merchant), currency_id="USD")
    currency = _ask(stage, account).body["CurrencyID"]

    assert currency == "ZAR"
    paid = post(stage, "/api/v1/payment/submit", a_body(CurrencyID=currency), (account.email, account.key))
    assert paid.error == (200, 0)


@pytest.mark.parametrize(("of_agent", "shown"), [("USD", "USD"), ("840", "USD"), (None, "EUR")])
def test_without_terminal_the_currency_is_agents_or_merchants(stage: str, of_agent: str | None, shown: str) -> None:
    account = an_account(merchant=a_stored_merchant(currency_id="EUR"), currency_id=of_agent)

    assert _ask(stage, account).body["CurrencyID"] == shown


@pytest.mark.parametrize(
    ("of_agent", "shown"),
    [
        (None, ("ZA", "South Africa")),
        ("BW", ("BW", "Botswana")),
        ("BWA", ("BWA", "Botswana")),
        ("072", ("072", "Botswana")),
    ],
)
def test_the_name_of_the_country_follows_its_code(stage: str, of_agent: str | None, shown: tuple[str, str]) -> None:
    account = an_account(merchant=a_stored_merchant(country="RSA"), country_id=of_agent)
    body = _ask(stage, account).body

    assert (body["CountryID"], body["CountryName"]) == shown


@pytest.mark.parametrize(
    ("query", "body", "error"),
    [
        ("?CurrentAccountID={id}&Lang=en&IP=192.0.2.1", None, (200, 0)),
        ("", {"CurrentAccountID": "{id}", "Lang": "en", "IP": "192.0.2.1"}, (200, 0)),
        ("?CurrentAccountID={id}", {"CurrentAccountID": "{id}"}, (200, 0)),
        ("?Unknown=1", {"Unknown": 1}, (200, 0)),
        ("?CurrentAccountID=1", None, (403, 152)),
        ("", {"CurrentAccountID": 1}, (403, 152)),
        ("?CurrentAccountID={id}", {"CurrentAccountID": 1}, (400, 202)),
        ("?CurrentAccountID=x", None, (400, 202)),
        ("?CurrentAccountID=", None, (400, 202)),
        ("?CurrentAccountID=-1", None, (400, 202)),
        ("?CurrentAccountID=1.0", None, (400, 202)),
        ("?CurrentAccountID=99999999999999999999", None, (400, 202)),
        ("?Lang=" + "x" * 513, None, (400, 202)),
        ("", {"CurrentAccountID": "1"}, (400, 202)),
        ("", "[]", (400, 201)),
        ("", "{", (400, 201)),
    ],
)
def test_inputs_come_in_the_query_string_or_a_body(stage: str, query: str, body: Any, error: tuple[int, int]) -> None:
    account = an_account()
    if isinstance(body, dict):
        body = {name: account.agent.id if value == "{id}" else value for name, value in body.items()}

    assert _ask(stage, account, query.format(id=account.agent.id), body).error == error


@pytest.mark.parametrize(("interval", "words"), [(1, "one second"), (90, "90 seconds"), (600, "ten minutes")])
def test_nobody_waits_longer_than_the_interval_which_the_refusal_names(
    stage: str, interval: int, words: str, give: Give
) -> None:
    account = an_account()
    ahead = datetime.now(UTC) + timedelta(seconds=5)  # of another process
    take_call(account.agent.id, ahead, timedelta(seconds=interval))
    give(settings=replace(settings(), auth_account_seconds=interval))

    reply = _ask(stage, account)

    assert reply.error == (429, 401)
    assert int(reply.headers["Retry-After"]) == interval
    assert reply.body["ErrorMessage"] == f"This may be asked once in {words}."


def test_of_32_calls_at_once_exactly_one_passes(stage_on_dynamodb_local: str) -> None:
    account = an_account()
    with ThreadPoolExecutor(32) as pool:
        replies = list(pool.map(lambda _: _ask(stage_on_dynamodb_local, account), range(32)))

    assert sorted([reply.error for reply in replies]) == [(200, 0), *[(429, 401)] * 31]
    assert all("Retry-After" in reply.headers for reply in replies if reply.status == 429)


# Revoking credentials


@pytest.fixture
def stored_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the authorizer answer repeated requests from a store, as API Gateway does for a minute."""
    said: dict[str, Caller | ServiceError] = {}

    def remembered(authorization: str, _: str, now: datetime) -> Caller:
        if authorization not in said:
            try:
                said[authorization] = caller_of(authorization, now)
            except ServiceError as refusal:
                said[authorization] = refusal
        answer = said[authorization]
        if isinstance(answer, ServiceError):
            raise answer
        return answer

    monkeypatch.setattr(authentication, "authenticate", remembered)


def _update(stage: str, account: Account, body: dict[str, Any]) -> None:
    """Update the agent as an administrator of its merchant."""
    merchant = replace(a_stored_merchant(), id=account.agent.client_id)
    owner = an_account(220, merchant=merchant)
    path = f"/api/v1/merchant/{merchant.id}/pos/{account.agent.id}/update"
    reply = post(stage, path, body, (owner.email, owner.key))
    assert reply.status == 200, reply.text


def _set_state(stage: str, account: Account, state: int, *, bulk: bool) -> None:
    """Block or activate the agent, by either of the two ways."""
    if not bulk:
        _update(stage, account, {"State": state})
        return
    merchant = replace(a_stored_merchant(), id=account.agent.client_id)
    owner = an_account(220, merchant=merchant)
    body = CONTEXT | {"PosBulk": [{"Email": account.email, "State": state}]}
    reply = post(stage, f"/api/v1/merchant/{merchant.id}/pos/updatebulk", body, (owner.email, owner.key))
    assert reply.error == (200, 0), reply.text


def _block_merchant(_: str, account: Account) -> None:
    block(replace(a_stored_merchant(), id=account.agent.client_id))


def _block_and_unblock(stage: str, account: Account, *, bulk: bool = False) -> None:
    """Block the agent, let it try each credential that it cannot know to be refused, and unblock it."""
    _set_state(stage, account, 0, bulk=bulk)
    refused = [
        call(stage, "GET", A_PAYMENT, None, None, {"Authorization": text})
        for text in (account.basic, account.basic_with_key)
    ]
    assert [reply.error for reply in refused] == [(401, 103)] * 2
    _set_state(stage, account, 1, bulk=bulk)


IN = 0  # no ErrorCode: the credential is still accepted
REVOCATIONS: dict[str, tuple[Callable[[str, Account], None], int, int, int]] = {
    # how it is revoked; the ErrorCode for the password, the secret key and a session
    "a new password": (
        lambda stage, account: _update(stage, account, {"Password": "another-password-1"}),
        102,
        IN,
        105,
    ),
    "a new secret key": (
        lambda stage, account: _update(stage, account, {"SecretKey": "another-key-0001"}),
        IN,
        102,
        105,
    ),
    "blocked": (lambda stage, account: _update(stage, account, {"State": 0}), 103, 103, 103),
    "blocked in bulk": (lambda stage, account: _set_state(stage, account, 0, bulk=True), 103, 103, 103),
    "blocked and unblocked": (_block_and_unblock, IN, IN, 105),
    "blocked and unblocked in bulk": (partial(_block_and_unblock, bulk=True), IN, IN, 105),
    "deleted": (lambda _, account: account.change(deleted=True, credential_version=2), 102, 102, 105),
    "merchant blocked": (_block_merchant, 108, 108, 108),
}


def _credentials_of(stage: str, account: Account) -> dict[str, str]:
    reply = post(stage, SIGN_IN, {"Email": account.email, "Password": PASSWORD}, None)
    return {
        "password": account.basic,
        "secret key": account.basic_with_key,
        "session": f"Session {reply.body['Data']['SessionID']}",
    }


@pytest.mark.parametrize("policies", ["new", "stored"])
@pytest.mark.parametrize("change", REVOCATIONS)
def test_a_revocation_ends_the_credentials_that_it_is_about_at_once(
    stage: str, change: str, policies: str, request: pytest.FixtureRequest
) -> None:
    if policies == "stored":
        request.getfixturevalue("stored_policies")
    account = an_account()
    sent = _credentials_of(stage, account)
    before = {call(stage, "GET", A_PAYMENT, None, None, {"Authorization": text}).error for text in sent.values()}

    act, *codes = REVOCATIONS[change]
    act(stage, account)

    replies = [call(stage, "GET", A_PAYMENT, None, None, {"Authorization": text}) for text in sent.values()]
    assert before == {(404, 568)}
    if change == "deleted" and policies == "stored":
        codes = [102, 102, 102]  # only the authorizer tells a session from another credential of nobody
    assert [reply.error for reply in replies] == [(401, code) if code else (404, 568) for code in codes]
    refused = [reply for reply in replies if reply.status == 401]
    assert {reply.headers["WWW-Authenticate"] for reply in refused} == {'Basic realm="payments"'}


@pytest.mark.slow
@pytest.mark.usefixtures("stored_policies")
def test_an_unlocked_agent_is_let_in_at_once(stage: str) -> None:
    account = an_account()
    for number in range(10):
        wrong = basic(account.email, f"wrong-password-{number}")
        assert call(stage, "GET", A_PAYMENT, None, None, {"Authorization": wrong}).error == (401, 102)
    assert call(stage, "GET", A_PAYMENT, None, None, {"Authorization": account.basic}).error == (401, 104)

    _update(stage, account, {"Unlock": True})

    assert call(stage, "GET", A_PAYMENT, None, None, {"Authorization": account.basic}).error == (404, 568)


@pytest.mark.usefixtures("stored_policies")
def test_a_stored_policy_does_not_outlive_its_token(stage: str, give: Give) -> None:
    account = an_account()
    accept_test_tokens()
    ends = datetime.now(UTC) + timedelta(seconds=60)
    token = account.jwt(account.key, exp=int(ends.timestamp()))
    assert call(stage, "GET", A_PAYMENT, None, None, {"Authorization": token}).error == (404, 568)
    give(now=lambda: ends)

    assert call(stage, "GET", A_PAYMENT, None, None, {"Authorization": token}).error == (401, 106)


@pytest.mark.usefixtures("stored_policies")
def test_a_stored_policy_does_not_outlive_its_session(stage: str, give: Give) -> None:
    account = an_account()
    session = _credentials_of(stage, account)["session"]
    digest = session_digest(Secret(session.removeprefix("Session ")))
    ends = datetime.now(UTC) + timedelta(seconds=60)
    opened = ends - ORDINARY.age
    write_one(update(sessions_store.key(digest), {"opened_at": opened}))
    assert call(stage, "GET", A_PAYMENT, None, None, {"Authorization": session}).error == (404, 568)
    give(now=lambda: ends)

    assert call(stage, "GET", A_PAYMENT, None, None, {"Authorization": session}).error == (401, 105)
