"""Who sees the secret key of an agent, and which passwords and keys are refused as easy to guess."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chalicelib.domain.secret import Secret
from chalicelib.services.passwords import COMMONEST, is_documented
from chalicelib.settings import settings
from chalicelib.store import audit
from tests.support import http
from tests.support.accounts import accept_test_tokens, signed
from tests.support.builders import PASSWORD, Shop, agent_body, an_email, merchant_update
from tests.support.giving import Give

KEY = "the key of the agent"
ROOT = Path(__file__).parents[2]
DOCUMENTS = [path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))]
CREDENTIAL = re.compile(r'"(?:Password|SecretKey)": "([^"$]+)"|@(?:demo|other)[.]example:([a-z][^ $";`\n]+)')
IN_DOCUMENTS = {found[1] or found[2] for text in DOCUMENTS for found in CREDENTIAL.finditer(text)} - {"wrong"}
SIGN_IN = "/api/v1/user/login/session"


@pytest.fixture
def agent(shop: Shop) -> dict[str, Any]:
    return shop.agent(SecretKey=KEY)


def session_of(shop: Shop, email: str) -> str:
    reply = http.post(shop.stage, SIGN_IN, {"Email": email, "Password": PASSWORD}, None)
    session: str = reply.body["Data"]["SessionID"]
    return session


def key_seen(shop: Shop, agent: dict[str, Any], authorization: str) -> str | None:
    path = f"{shop.path}/pos/{agent['ID']}"
    reply = http.call(shop.stage, "GET", path, None, None, {"Authorization": authorization})
    assert reply.error == (200, 0)
    key: str | None = reply.body["Pos"]["SecretKey"]
    return key


def shown_to(agent: dict[str, Any]) -> list[audit.Audit]:
    return [one for one in audit.of(f"agent#{agent['ID']}") if one.kind == "show"]


def test_a_session_of_an_agent_that_is_no_manager_sees_no_key_in_any_scheme(shop: Shop, agent: dict[str, Any]) -> None:
    accept_test_tokens()
    session, own = session_of(shop, agent["Email"]), (agent["Email"], PASSWORD)
    token = signed({"email": agent["Email"], "token": session})
    sessions = [f"Session {session}", http.basic((agent["Email"], session)), f"Jwt {token}"]

    assert [key_seen(shop, agent, one) for one in sessions] == [None] * 3
    assert [one.by for one in shown_to(agent)] == [shop.owner_id]  # the answer to its creation
    assert key_seen(shop, agent, http.basic(own)) == KEY
    assert key_seen(shop, agent, f"Session {session_of(shop, shop.owner[0])}") == KEY


def test_each_key_that_is_answered_leaves_a_line_in_the_audit(shop: Shop, agent: dict[str, Any]) -> None:
    path, own = f"{shop.path}/pos", (agent["Email"], PASSWORD)
    http.get(shop.stage, f"{path}/{agent['ID']}", shop.owner)
    http.get(shop.stage, f"{path}/{agent['ID']}", own)
    [listed] = shop.post(f"{path}/list", {"Email": agent["Email"]}).body["PosList"]
    many = shop.post(f"{path}/list", {}).body["PosList"]
    updated = shop.post(f"{path}/{agent['ID']}/update", {"SecretKey": "another key of the agent"})
    http.get(shop.stage, f"{path}/{agent['ID']}", (agent["Email"], "a wrong password"))

    assert listed["SecretKey"] == KEY
    assert [one["SecretKey"] for one in (*many, updated.body["Pos"])] == [None] * 3
    assert [(one.by, one.fields) for one in shown_to(agent)] == [
        (who, ("secret_key",)) for who in (shop.owner_id, shop.owner_id, agent["ID"], shop.owner_id)
    ]
    created, *_, changed = audit.of(f"agent#{agent['ID']}")
    assert (created.kind, changed.kind) == ("create", "update")
    assert agent["SecretKey"] == KEY
    assert KEY not in repr(shown_to(agent))


OWN_NAME = "The Long Corner Store"
WEAK = [
    ("short", 5),
    ("password", 3),  # the first of the list
    ("PassWord1", 3),
    ("\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44", 3),  # in full width
    ("zzzzzzzzzzzz", 3),
    (" " * 12, 3),
    ("the long corner STORE", 3),
]


@pytest.fixture
def named_shop(shop: Shop) -> Shop:
    assert shop.post(f"{shop.path}/update", merchant_update(Name=OWN_NAME, Image=None)).error == (200, 0)
    return shop


@pytest.mark.parametrize(("password", "code"), WEAK)
def test_a_password_that_is_easy_to_guess_is_refused(
    named_shop: Shop, agent: dict[str, Any], password: str, code: int
) -> None:
    shop, path = named_shop, f"{named_shop.path}/pos"

    for where, body in ((f"{agent['ID']}/update", {}), ("create", agent_body(shop.id, ImageAvatar=None))):
        reply = shop.post(f"{path}/{where}", body | {"Password": password})
        assert (reply.error, reply.findings) == ((400, 202), [("Password", code)])
    assert http.get(shop.stage, f"{path}/{agent['ID']}", (agent["Email"], PASSWORD)).error == (200, 0)


def test_a_password_is_neither_the_login_nor_the_present_one(shop: Shop, agent: dict[str, Any]) -> None:
    path, email = f"{shop.path}/pos/{agent['ID']}/update", f"a.long.name.{an_email()}"

    for password in (agent["Email"].upper(), agent["Email"].partition("@")[0], PASSWORD):
        assert shop.post(path, {"Password": password}).findings == [("Password", 3)]
    assert shop.post(path, {"Password": email, "Email": email}).findings == [("Password", 3)]
    assert shop.post(path, {"Password": agent["Email"], "Email": email}).error == (200, 0)


@pytest.mark.parametrize(
    "other", [{"TerminalID": 999999}, {"State": 7}, {"Email": http.OWNER[0]}, {"Lang": 1}], ids=["562", "5", "307", "2"]
)
def test_beside_another_fault_nobody_learns_the_present_password(
    shop: Shop, agent: dict[str, Any], other: dict[str, Any]
) -> None:
    path = f"{shop.path}/pos/{agent['ID']}/update"

    right, wrong = (shop.post(path, {"Password": one, **other}) for one in (PASSWORD, "another password"))

    assert right.error == wrong.error != (200, 0)
    assert right.text == wrong.text


def test_only_the_commonest_passwords_of_the_list_are_refused(shop: Shop, agent: dict[str, Any]) -> None:
    from zxcvbn.frequency_lists import FREQUENCY_LISTS  # noqa: PLC0415  an import of 50 ms

    ranked = FREQUENCY_LISTS["passwords"]
    last = next(one for one in reversed(ranked[:COMMONEST]) if len(one) >= 8)
    next_one = next(one for one in ranked[COMMONEST:] if len(one) >= 8)
    path = f"{shop.path}/pos/{agent['ID']}/update"

    assert shop.post(path, {"Password": last}).findings == [("Password", 3)]
    assert shop.post(path, {"Password": next_one}).error == (200, 0)


def test_an_administrator_needs_twelve_characters(shop: Shop, agent: dict[str, Any]) -> None:
    path, rights = f"{shop.path}/pos", [{"BranchID": shop.id, "Actions": [220]}]
    short, update = "11 letters!", f"{shop.path}/pos/{agent['ID']}/update"

    created = shop.post(f"{path}/create", agent_body(shop.id, Password=short, BranchesActions=rights))
    granted = shop.post(update, {"Password": short, "BranchesActions": rights})
    own = shop.post(f"{path}/{shop.owner_id}/update", {"Password": short})

    assert [one.findings for one in (created, granted, own)] == [[("Password", 5)]] * 3
    assert shop.post(update, {"Password": short}).error == (200, 0)
    assert shop.post(update, {"Password": f"{short}!", "BranchesActions": rights}).error == (200, 0)


def test_a_weak_password_is_listed_with_every_other_fault(shop: Shop, agent: dict[str, Any]) -> None:
    body = {"Password": "password", "Phone": "no number", "TerminalID": 1, "State": 7}

    reply = shop.post(f"{shop.path}/pos/{agent['ID']}/update", body)

    assert sorted(reply.findings) == [("Password", 3), ("Phone", 3), ("State", 5), ("TerminalID", 562)]


def test_credentials_of_the_documents_are_refused_on_a_deployed_stage(
    shop: Shop, agent: dict[str, Any], give: Give
) -> None:
    path = f"{shop.path}/pos/{agent['ID']}/update"
    known = [{"Password": "till2-demo-password"}, {"SecretKey": "till-demo-secret-key-0001"}]
    assert [shop.post(path, one).error for one in known] == [(200, 0)] * 2

    give(settings=replace(settings(), stage="dev"))

    assert [shop.post(path, one).findings for one in known] == [[("Password", 3)], [("SecretKey", 3)]]
    assert len(IN_DOCUMENTS) >= 7
    assert [one for one in sorted(IN_DOCUMENTS) if not is_documented(Secret(one))] == []
