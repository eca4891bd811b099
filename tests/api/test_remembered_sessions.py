"""Remembered sessions over HTTP: signing in with Remember, their list, and their end by an update of the agent."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support import http
from tests.support.builders import PASSWORD, Shop, a_shop
from tests.support.http import call, post

ME, SIGN_IN = "/api/v1/user/me", "/api/v1/user/login/session"
ANDROID = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36"
)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)


@pytest.fixture
def till(shop: Shop) -> dict[str, Any]:
    return shop.agent(MobileSettings={"Features": {"AutoLogin": True}})


def path_of(shop: Shop, till: dict[str, Any]) -> str:
    return f"{shop.path}/pos/{till['ID']}"


def sign_in(shop: Shop, till: dict[str, Any], *, remember: Any = True) -> str:
    body = {"Email": till["Email"], "Password": PASSWORD, "Remember": remember}
    reply = post(shop.stage, SIGN_IN, body, None, User_Agent=ANDROID)
    assert reply.error == (200, 0)
    session: str = reply.body["Data"]["SessionID"]
    return session


def me(shop: Shop, session: str) -> http.Reply:
    return call(shop.stage, "GET", f"{ME}?GMT=0", None, None, {"Authorization": f"Session {session}"})


def ends(shop: Shop, session: str) -> datetime:
    return datetime.fromisoformat(me(shop, session).body["Data"]["ExpiresAt"]).replace(tzinfo=UTC)


def test_remember_makes_a_session_of_thirty_days_without_use(shop: Shop, till: dict[str, Any]) -> None:
    before = datetime.now(UTC)

    assert before + 30 * DAY - SECOND <= ends(shop, sign_in(shop, till)) <= datetime.now(UTC) + 30 * DAY
    for other in (False, None):
        assert ends(shop, sign_in(shop, till, remember=other)) < before + DAY


def test_without_the_feature_the_session_is_an_ordinary_one(shop: Shop) -> None:
    till = shop.agent(MobileSettings={"Features": {"AutoLogin": False}})

    assert ends(shop, sign_in(shop, till)) < datetime.now(UTC) + DAY


@pytest.mark.parametrize("wrong", ["true", 1, {}])
def test_remember_is_a_boolean(shop: Shop, till: dict[str, Any], wrong: object) -> None:
    reply = post(shop.stage, SIGN_IN, {"Email": till["Email"], "Password": PASSWORD, "Remember": wrong}, None)

    assert (reply.error, reply.findings) == ((400, 202), [("Remember", 2)])


def test_it_is_refused_at_once_when_the_feature_is_switched_off(shop: Shop, till: dict[str, Any]) -> None:
    session, ordinary = sign_in(shop, till), sign_in(shop, till, remember=False)
    assert [me(shop, one).status for one in (session, ordinary)] == [200, 200]

    changes = {"MobileSettings": {"Features": {"AutoLogin": False}}}
    assert shop.post(f"{path_of(shop, till)}/update", changes).error == (200, 0)

    assert me(shop, session).error == (401, 105)
    assert me(shop, ordinary).error == (200, 0)
    assert http.get(shop.stage, path_of(shop, till), shop.owner).body["Pos"]["Sessions"] == []
    changes = {"MobileSettings": {"Features": {"AutoLogin": True}}}
    assert shop.post(f"{path_of(shop, till)}/update", changes).error == (200, 0)
    assert me(shop, session).error == (401, 105)


def test_its_merchant_sees_when_and_where_it_began_and_its_last_use(shop: Shop, till: dict[str, Any]) -> None:
    session = sign_in(shop, till)
    sign_in(shop, till, remember=False)

    reply = http.get(shop.stage, f"{path_of(shop, till)}?GMT=0", shop.owner)

    [shown] = reply.body["Pos"]["Sessions"]
    assert shown["Device"] == "Chrome, Android"
    assert shown["Started"] == shown["LastUsed"]
    assert abs(datetime.fromisoformat(shown["Started"]).replace(tzinfo=UTC) - datetime.now(UTC)) < 5 * SECOND
    assert shown.keys() == {"ID", "Started", "LastUsed", "Device"}
    assert shown["ID"] not in session.lower().replace("-", "")
    assert session not in reply.text
    assert http.get(shop.stage, path_of(shop, till), (till["Email"], session)).body["Pos"]["Sessions"] != []


def test_other_answers_list_no_sessions(shop: Shop, till: dict[str, Any]) -> None:
    sign_in(shop, till)
    listed = shop.post(f"{shop.path}/pos/list", {"Email": till["Email"]}).body["PosList"]
    updated = shop.post(f"{path_of(shop, till)}/update", {"Name": "Till 2"}).body["Pos"]

    assert [one["Sessions"] for one in (*listed, updated, till)] == [None, None, None]


def test_an_administrator_ends_all_sessions_of_a_till_at_once(shop: Shop, till: dict[str, Any]) -> None:
    sessions = [sign_in(shop, till), sign_in(shop, till, remember=False)]
    by_password = (till["Email"], PASSWORD)
    assert [me(shop, session).status for session in sessions] == [200, 200]  # and API Gateway remembers both
    assert http.get(shop.stage, ME, by_password).status == 200

    assert shop.post(f"{path_of(shop, till)}/update", {"EndSessions": True}).error == (200, 0)

    assert [me(shop, session).error for session in sessions] == [(401, 105)] * 2
    assert http.get(shop.stage, path_of(shop, till), shop.owner).body["Pos"]["Sessions"] == []
    assert http.get(shop.stage, ME, by_password).error == (200, 0)
    assert me(shop, sign_in(shop, till)).error == (200, 0)


def test_an_administrator_ends_one_session_of_a_till(shop: Shop, till: dict[str, Any]) -> None:
    lost, kept = sign_in(shop, till), sign_in(shop, till)
    path = path_of(shop, till)
    assert [me(shop, session).status for session in (lost, kept)] == [200, 200]  # and API Gateway remembers both
    newest, first = http.get(shop.stage, path, shop.owner).body["Pos"]["Sessions"]
    ended = first["ID"] if first["Started"] < newest["Started"] else newest["ID"]

    for _ in range(2):  # also when the first answer was lost
        assert shop.post(f"{path}/update", {"EndSessions": [ended, "nobody"]}).error == (200, 0)

    assert (me(shop, lost).error, me(shop, kept).error) == ((401, 105), (200, 0))
    left = http.get(shop.stage, path, shop.owner).body["Pos"]["Sessions"]
    assert [one["ID"] for one in left] == [one["ID"] for one in (newest, first) if one["ID"] != ended]
    assert http.get(shop.stage, ME, (till["Email"], left[0]["ID"])).error == (401, 102)


def test_when_all_listed_sessions_are_ended_none_stays_alive(stage_in_memory: str) -> None:
    shop = a_shop(stage_in_memory)
    till = shop.agent(MobileSettings={"Features": {"AutoLogin": True}})
    path, sessions = path_of(shop, till), [sign_in(shop, till) for _ in range(103)]
    listed = [one["ID"] for one in http.get(shop.stage, path, shop.owner).body["Pos"]["Sessions"]]

    for some in (listed[:50], listed[50:]):
        assert shop.post(f"{path}/update", {"EndSessions": some}).error == (200, 0)

    assert len(listed) == 100
    assert {me(shop, session).error for session in sessions} == {(401, 105)}


@pytest.mark.parametrize(("sent", "code"), [("all", 2), ([1], 2), ({"ID": "x"}, 2), (["x"] * 51, 4)])
def test_a_list_of_sessions_is_checked(shop: Shop, till: dict[str, Any], sent: object, code: int) -> None:
    reply = shop.post(f"{path_of(shop, till)}/update", {"EndSessions": sent})

    assert (reply.error, reply.findings) == ((400, 202), [("EndSessions", code)])


def test_nobody_else_sees_or_ends_them(shop: Shop, till: dict[str, Any]) -> None:
    session, other, colleague = sign_in(shop, till), a_shop(shop.stage), shop.agent()
    path = path_of(shop, till)

    assert http.get(shop.stage, path, other.owner).error == (404, 561)
    assert post(shop.stage, f"{path}/update", {"EndSessions": True}, other.owner).error == (404, 561)
    assert other.post(f"{other.path}/pos/{till['ID']}/update", {"EndSessions": True}).error == (404, 563)
    assert http.get(shop.stage, path, (colleague["Email"], PASSWORD)).error == (403, 151)
    for login in ((till["Email"], PASSWORD), (colleague["Email"], PASSWORD)):
        assert post(shop.stage, f"{path}/update", {"EndSessions": True}, login).error == (403, 151)
    assert me(shop, session).error == (200, 0)
