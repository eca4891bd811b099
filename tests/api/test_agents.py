import json
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib.domain.agent import Agent
from chalicelib.domain.permissions import rights_of
from chalicelib.errors import Check
from chalicelib.store import agents, audit
from chalicelib.store.table import client, read, table_name
from tests.support import builders, http
from tests.support.accounts import Account, a_session, a_stored_merchant, accept_test_tokens, an_account, basic
from tests.support.builders import PASSWORD, VALUES, Shop, a_shop, agent_body, an_email
from tests.support.stored import stored_record


def create(shop: Shop, login: tuple[str, str] | None = None, **changes: Any) -> http.Reply:
    return shop.post(f"{shop.path}/pos/create", agent_body(shop.id, **changes), login)


def stored_agent(number: int) -> Agent:
    return stored_record(agents.key(number))


def test_an_agent_is_answered_as_it_was_sent(shop: Shop) -> None:
    email = f"Till.{an_email()}"
    pos = create(shop, Email=email).body["Pos"]

    assert (pos["Name"], pos["Email"], pos["Phone"], pos["State"]) == ("Till 1", email, "+27 82 987 6543", 1)
    assert (pos["ClientID"], pos["FInstID"], pos["AccountTypeID"]) == (shop.id, 4, 20)
    assert (pos["SecretKey"], pos["IsAdministrator"], pos["IsSystemUser"]) == (VALUES["SecretKey"], False, False)
    assert pos["PrinterAndTaxSettings"]["PrinterCodeEffective"] == "ESCPOS58"
    assert pos["MobileSettings"]["MobHomeURLEffective"] == "https://shop.example"


def test_everything_that_was_sent_is_stored(shop: Shop) -> None:
    agent = stored_agent(shop.agent()["ID"])

    assert agent.address_de_facto == "1 Long Street"
    assert rights_of(agent) == {201, 301}
    assert agent.printer_settings == '{"Paper":{"Width":58}}'
    assert agent.avatar_key


def test_an_agent_signs_in_with_its_password_and_with_its_key_at_once(shop: Shop) -> None:
    email = an_email()
    number = create(shop, Email=email, SecretKey="a key of enough length").body["Pos"]["ID"]
    path = f"{shop.path}/pos/{number}"

    for secret in (PASSWORD, "a key of enough length"):
        assert http.get(shop.stage, path, (email.upper(), secret)).status == 200


def test_an_agent_that_gets_no_rights_in_a_branch_works_as_one_without(shop: Shop) -> None:
    email = an_email()
    number = create(shop, Email=email, BranchesActions=[{"BranchID": shop.id, "Actions": []}]).body["Pos"]["ID"]

    assert http.get(shop.stage, f"{shop.path}/pos/{number}", (email, PASSWORD)).status == 200
    assert shop.post(f"{shop.path}/pos/list", {}).status == 200
    assert rights_of(stored_agent(number)) == set()


def test_an_agent_without_a_key_gets_a_long_random_one(shop: Shop) -> None:
    agent, other = (shop.agent(SecretKey=None) for _ in range(2))

    assert len(agent["SecretKey"]) >= 43
    assert agent["SecretKey"] not in (None, other["SecretKey"])
    assert shop.shown(agent["ID"])["SecretKey"] == agent["SecretKey"]


def test_an_agent_without_a_password_has_its_key_alone(shop: Shop) -> None:
    email = an_email()
    agent = shop.agent(Email=email, Password=None)

    login = stored_record(agents.login_key(email))
    assert login.password_hash is None
    assert http.get(shop.stage, f"{shop.path}/pos/{agent['ID']}", (email, agent["SecretKey"])).status == 200


def test_nothing_that_is_stored_holds_a_secret(shop: Shop) -> None:
    email, password, key = an_email(), "password-in-clear", "secret-key-in-clear"
    number = create(shop, Email=email, Password=password, SecretKey=key).body["Pos"]["ID"]

    rows = repr([read(agents.key(number)), read(agents.login_key(email)), audit.of(f"agent#{number}")])
    mails = repr(client().call("Scan", TableName=table_name("outbox"), ConsistentRead=True)["Items"])
    for text in (password, key):
        assert text not in rows
        assert text not in mails
    assert email in mails


@pytest.mark.parametrize("wanted", [True, False, None])
def test_a_welcome_is_owed_when_it_is_wanted(shop: Shop, wanted: bool | None) -> None:  # noqa: FBT001
    email = an_email()
    create(shop, Email=email, SendWelcomeEmail=wanted)

    found = [
        item
        for item in client().call("Scan", TableName=table_name("outbox"), ConsistentRead=True)["Items"]
        if email in repr(item)
    ]
    assert len(found) == (1 if wanted else 0)


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("Email", "nobody", 3),
        ("Email", "a:b@shop.example", 3),
        ("Email", f"{'x' * 250}@shop.example", 4),
        ("Phone", "082 987 6543 000 111", 3),
        ("Password", "short", 5),
        ("Password", "x" * 257, 4),
        ("Password", "long enough \ud800", 3),
        ("SecretKey", "under 16", 5),
        ("State", -1, 5),
        ("AccountType", "20", 2),
        ("MobileSettings", {"MobHomeURL": "x", "MobHomeURLNull": True}, 12),
        ("BranchesActions", [{"BranchID": 1, "Actions": [1] * 101}], 4),
        ("PrinterSettings", {"a": ["\ud800"]}, 3),
    ],
)
def test_a_field_out_of_its_range_is_refused_by_name(shop: Shop, field: str, value: Any, code: int) -> None:
    email = an_email()
    reply = create(shop, **{"Email": email, field: value})

    assert reply.error == (400, 202)
    assert [found for name, found in reply.findings if name.startswith(field) and found in set(Check)] == [code]
    assert read(agents.login_key(email)) is None


@pytest.mark.parametrize(
    ("changes", "findings"),
    [
        ({"TerminalID": 10**9}, [("TerminalID", 562)]),
        ({"TID": "NONE"}, [("TID", 562)]),
        ({"BranchID": 10**9}, [("BranchID", 565)]),
        ({"BranchesActions": [{"BranchID": 1, "Actions": [220]}]}, [("BranchesActions[0].BranchID", 565)]),
        ({"PrinterAndTaxSettings": {"PrinterID": 99}}, [("PrinterAndTaxSettings.PrinterID", 564)]),
    ],
)
def test_a_reference_to_nothing_is_refused_and_nothing_is_stored(
    shop: Shop, changes: dict[str, Any], findings: list[tuple[str, int]]
) -> None:
    email = an_email()
    reply = create(shop, Email=email, **changes)

    assert (reply.error, reply.findings) == ((404, findings[0][1]), findings)
    assert read(agents.login_key(email)) is None


def test_a_terminal_of_another_merchant_is_no_terminal(shop: Shop) -> None:
    foreign = a_shop(shop.stage).terminal()

    assert create(shop, TerminalID=foreign["ID"]).error == (404, 562)
    assert create(shop, TID=foreign["Name"]).error == (404, 562)


def test_the_client_of_the_body_is_the_merchant_of_the_path(shop: Shop) -> None:
    reply = create(shop, ClientID=10**9)

    assert (reply.error, reply.findings) == ((400, 204), [("ClientID", 10)])


def test_an_agent_takes_its_terminal_by_id_or_by_name(shop: Shop) -> None:
    terminal = shop.terminal()
    by_id, by_name = shop.agent(TerminalID=terminal["ID"]), shop.agent(TID=terminal["Name"])

    assert stored_agent(by_id["ID"]).terminal_id == stored_agent(by_name["ID"]).terminal_id == terminal["ID"]
    login = stored_record(agents.login_key(by_id["Email"]))
    assert login.terminal_id == terminal["ID"]


def test_an_e_mail_is_taken_once_over_all_merchants(shop: Shop) -> None:
    email = shop.agent()["Email"]

    assert create(shop, Email=email.upper()).error == (409, 307)
    other = a_shop(shop.stage)
    assert create(other, Email=email).error == (409, 307)


def test_what_a_body_may_not_say_it_does_not(shop: Shop) -> None:
    agent = stored_agent(shop.agent(IsSystemUser=True, IsAdministrator=True, Deleted=True, ID=1)["ID"])

    assert (agent.is_system_user, agent.deleted, 220 in rights_of(agent)) == (False, False, False)


def test_get_shows_the_key_to_an_administrator_and_to_the_agent_itself_alone(shop: Shop) -> None:
    one, other = shop.agent(SecretKey="the key of the one"), shop.agent()
    path = f"{shop.path}/pos/{one['ID']}"

    for login in (http.SYSTEM, shop.owner, (one["Email"], PASSWORD)):
        assert http.get(shop.stage, path, login).body["Pos"]["SecretKey"] == "the key of the one"
    assert http.get(shop.stage, path, (other["Email"], PASSWORD)).error == (403, 151)
    assert http.get(shop.stage, path, http.OWNER).error == (404, 561)


@pytest.mark.parametrize("scheme", ["Session", "Basic", "Jwt"])
def test_a_session_shows_the_key_to_managers_alone(stage: str, scheme: str) -> None:
    merchant = a_stored_merchant()
    till, owner = an_account(merchant=merchant), an_account(220, merchant=merchant)
    accept_test_tokens()
    path = f"/api/v1/merchant/{merchant.id}/pos/"

    def key_of(number: int, account: Account) -> Any:
        session = a_session(account, datetime.now(UTC))
        headers = {"Session": f"Session {session}", "Basic": basic(account.email, session), "Jwt": account.jwt(session)}
        reply = http.call(stage, "GET", path + str(number), None, None, {"Authorization": headers[scheme]})
        return reply.body["Pos"]["SecretKey"]

    created = http.post(stage, f"{path}create", agent_body(merchant.id), (owner.email, owner.key)).body["Pos"]
    itself = replace(till, agent=stored_agent(created["ID"]))

    assert key_of(created["ID"], itself) is None
    assert key_of(created["ID"], owner) == "a secret key of some length"


def test_the_logon_of_an_agent_tells_of_failures(shop: Shop) -> None:
    agent = shop.agent()
    http.get(shop.stage, f"{shop.path}/pos/{agent['ID']}", (agent["Email"], "a wrong password"))

    assert shop.shown(agent["ID"])["Logon"] == {"LastLogon": None, "FailedAttempts": 1, "LockedUntil": None}
    http.get(shop.stage, f"{shop.path}/pos/{agent['ID']}", (agent["Email"], PASSWORD))
    assert shop.shown(agent["ID"])["Logon"]["LastLogon"] is not None


def test_a_missing_agent_and_one_of_another_merchant_are_answered_alike(shop: Shop) -> None:
    foreign = a_shop(shop.stage).agent()["ID"]

    answers = {
        http.get(shop.stage, f"{shop.path}/pos/{number}", shop.owner).text
        for number in (foreign, 10**9, 0, 1, "x", "9" * 30)
    }

    assert len(answers) == 1
    assert '"ErrorCode":563' in answers.pop()


def test_a_system_user_is_no_agent_of_a_merchant(shop: Shop) -> None:
    assert http.get(shop.stage, "/api/v1/merchant/0/pos/1", http.SYSTEM).error == (404, 561)


def test_a_merchants_settings_hold_for_its_agents_until_they_have_their_own(shop: Shop) -> None:
    agent = shop.agent(MobileSettings=None, PrinterAndTaxSettings=None)
    settings = shop.shown(agent["ID"])["MobileSettings"]

    assert (settings["MobHomeURL"], settings["MobHomeURLNull"]) == (None, True)
    assert settings["MobHomeURLEffective"] == "https://shop.example"
    assert (settings["AllowLinkedCards"], settings["AllowLinkedCardsEffective"]) == (None, 1)
    assert (settings["Features"]["AcceptCredit"], settings["Features"]["Inherited"]) == (True, True)


def test_a_picture_is_behind_an_address_that_expires(shop: Shop) -> None:
    agent = shop.agent()

    assert agent["HasAvatar"] is True
    assert "X-Amz-Expires=900" in agent["AvatarUrl"]
    assert builders.image()["Data"] not in agent["AvatarUrl"]


@pytest.mark.parametrize("character", ["\x01", '"', "🧾"])
def test_the_largest_agent_is_answered_in_40_kb(shop: Shop, character: str) -> None:
    urls = {"MobHomeURL": character * 512, "MobQRUrl": character * 512}
    rights = [{"BranchID": shop.id, "Actions": [10**15 - 100 * row - one for one in range(100)]} for row in range(10)]
    tid = shop.terminal(Name='"' * 256)["Name"]

    shown = json.dumps(
        shop.agent(
            Name='"' * 256,
            Email=f"{secrets.token_hex(32)}@{'a' * 60}.{'b' * 60}.{'c' * 58}.example",
            TID=tid,
            BranchesActions=rights,
            MobileSettings=urls,
            PrinterAndTaxSettings={"PrinterID": 2},
        ),
        ensure_ascii=False,
    )

    url_with_token = 2_200
    assert len(shown.encode()) <= 40_000 - url_with_token
    assert len(json.dumps(shown, ensure_ascii=False).encode()) <= 60_000 - url_with_token
