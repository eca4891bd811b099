"""Every field of the reference, over HTTP: each is accepted, each is returned, each is checked."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.endpoints import ENDPOINTS
from tests.support import builders, complete_requests, http, spec_fields
from tests.support.builders import Shop
from tests.support.spec_checks import Seen, documented, paths, put_at, steps
from tests.support.specification import A, B, D, I, N, O, S

POS = "/api/v1/merchant/{merchantId}/pos"
BULK = f"{POS}/updatebulk"
MANAGEMENT = (
    "/api/v1/merchant/create",
    "/api/v1/merchant/{merchantId}/update",
    f"{POS}/create",
    f"{POS}/{{posId}}/update",
    BULK,
    "/api/v1/terminal/create",
)
REQUESTS = {path: spec_fields.REQUESTS[path] for path in (*MANAGEMENT, *complete_requests.EVERYTHING)}
WRONG: dict[str, Any] = {
    I: "5",
    N: "north",
    D: "twelve",
    S: 7,
    B: "true",
    A: {"0": 1},
    O: [],
}
# A text that may be a number, and a Boolean that may be a list: another value is wrong there.
WRONG_IN = {"BasicTran.OfflineTran.OfflineQueueId": True, "EndSessions": "true"}
ODD: tuple[Any, ...] = (None, {}, [None], 1.5, "\ud800", 10**300)
LONG = {S: ("x" * 9000,), D: ("9" * 9000,), I: (10**18, 10**4000)}


def whole(shop: Shop, path: str) -> tuple[str, dict[str, Any]]:
    """Return the path to post to, and a body with every field."""
    if path in complete_requests.EVERYTHING:
        return path, complete_requests.EVERYTHING[path](complete_requests.Ids())
    terminal, agent = shop.terminal(), shop.agent()
    account = {"CurrentAccountID": shop.owner_id}
    given = {"TerminalID": terminal["ID"], "TID": terminal["Name"], **account}
    rights = [{"BranchID": shop.id, "Actions": [201]}]
    item = {"PosBulk.Email": agent["Email"], "PrinterID": 2, "PrinterCode": "ESCPOS80", "BranchesActions": rights}
    bodies = {
        "/api/v1/merchant/create": builders.merchant_body(),
        "/api/v1/merchant/{merchantId}/update": builders.merchant_update(ID=shop.id, ClientImportance=100),
        f"{POS}/create": builders.agent_body(shop.id, **given),
        f"{POS}/{{posId}}/update": builders.agent_update(**given, ID=agent["ID"], BranchesActions=rights),
        BULK: builders.complete(BULK, account | item),
        "/api/v1/terminal/create": builders.terminal_body(shop.id, GMT=2, AppFramework="None", **account),
    }
    return path.format(merchantId=shop.id, posId=agent["ID"]), bodies[path]


def sent(shop: Shop, path: str, where: str, body: dict[str, Any]) -> http.Reply:
    """Send a body to the endpoint as somebody who may."""
    if path in complete_requests.EVERYTHING:
        method = next(endpoint.method for endpoint in ENDPOINTS if endpoint.path == path)
        return http.call(shop.stage, method, where, body)
    return shop.post(where, body, http.SYSTEM if path in MANAGEMENT[:2] else shop.owner)


@pytest.mark.parametrize("path", MANAGEMENT)
def test_the_complete_request_is_taken(shop: Shop, path: str) -> None:
    where, body = whole(shop, path)
    # The test does not know the ID of a terminal group, and that of the system user.
    unused = {"TerminalGroupID", "CurrentAccountID"} if "terminal" in path or path in MANAGEMENT[:2] else set()
    assert set(REQUESTS[path]) - set(body) <= unused

    reply = sent(shop, path, where, body)

    assert (reply.status, reply.findings) == (200, []), reply.text


POS_OBJECTS = ("PosView", "LogonView", "SessionView", "MobileSettingsView", "FeaturesView", "PrinterView")


def nulls(body: dict[str, Any], answer: str, *objects: str) -> set[str]:
    """Return the fields of these objects that are null in this answer and need not be."""
    seen = Seen()
    seen.answer(next(path for path, found in spec_fields.ANSWERS.items() if found == answer), 200, body)
    assert set(seen.faults(*objects)) <= {"TerminalView.Accounts[] was not seen"}  # a new terminal has none
    return seen.always_null(*objects) - spec_fields.ALWAYS_NULL


def test_a_merchant_is_shown_with_every_field_when_it_is_created_and_when_it_is_updated(shop: Shop) -> None:
    created = http.post(shop.stage, "/api/v1/merchant/create", builders.merchant_body(), http.SYSTEM).body
    shop.terminal()
    updated = shop.post(f"{shop.path}/update", builders.merchant_update()).body

    assert nulls(created, "MerchantAnswer", "MerchantView") == {"MerchantView.TerminalID"}  # it has no terminal yet
    assert nulls(updated, "MerchantAnswer", "MerchantView") == set()


def test_an_agent_is_shown_with_every_field_by_its_id_and_without_its_key_elsewhere(shop: Shop) -> None:
    agent = shop.agent(TerminalID=shop.terminal()["ID"])
    path = f"{shop.path}/pos/{agent['ID']}"
    sign_in = {"Email": agent["Email"], "Password": builders.PASSWORD, "Remember": True}
    http.post(shop.stage, "/api/v1/user/login/session", sign_in, None, User_Agent="Till/7")
    shown = http.get(shop.stage, path, shop.owner).body
    updated = shop.post(f"{path}/update", builders.agent_update()).body
    listed = shop.post(f"{shop.path}/pos/list", {}).body
    pos = {"Pos": next(pos for pos in listed["PosList"] if pos["ID"] == agent["ID"])}
    never = "LogonView.LockedUntil"
    sessions = {"PosView.Sessions", *documented("SessionView")}

    assert nulls(shown, "PosAnswer", *POS_OBJECTS) == {never}
    assert nulls(updated, "PosAnswer", *POS_OBJECTS) == {"PosView.SecretKey", never, *sessions}
    assert nulls(listed | pos, "PosAnswer", *POS_OBJECTS) == {"PosView.SecretKey", never, *sessions}


def test_a_terminal_is_shown_with_every_field(shop: Shop) -> None:
    created = shop.post("/api/v1/terminal/create", builders.terminal_body(shop.id, WithAccounts=True)).body

    assert nulls(created, "TerminalAnswer", "TerminalView") == set()


def spoilt(body: dict[str, Any], path: str, spoil: Callable[[Any, Any], None]) -> dict[str, Any]:
    """Return the body with one of its fields made invalid: `spoil` gets what holds the field, and its name there."""
    body = copy.deepcopy(body)
    inner: Any = body
    *outer, name = steps(path)
    for part in outer:
        inner = inner[part]
    spoil(inner, name)
    return body


def with_value(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    body = copy.deepcopy(body)
    if path.startswith("Receipt.") and "BasicTran" in body:  # no address refuses an offline sale
        body["BasicTran"]["OfflineTran"]["OfflineMode"] = False
    put_at(body, path, value)
    return body


def is_named(reply: http.Reply, path: str, name: str, *, code: int | None = None) -> bool:
    """Return whether a request is refused because of this field; an item of a batch does not stop the others."""
    expected = (200, 0) if path == BULK and "PosBulk[0]" in name else (400, 202)
    return reply.error == expected and any(where == name and code in (None, found) for where, found in reply.findings)


def code_of_wrong_type(kind: str) -> int | None:
    """Return the code of a wrong type; an amount may be a text."""
    return None if kind == D else 2


def checked(path: str) -> list[tuple[str, str, bool]]:
    """Return the fields to spoil: of nine that are alike, one."""
    return [one for one in paths(REQUESTS[path]) if not one[0].startswith("DeviceInfo.") or one[0] == "DeviceInfo.OS"]


def anyone(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body with a number in fields the test knows none for."""
    unknown_ids = {"CurrentAccountID", "TerminalGroupID"} & set(REQUESTS[path])
    return dict.fromkeys(unknown_ids, 1) | body


@pytest.mark.slow
@pytest.mark.parametrize("path", REQUESTS)
def test_each_field_of_a_wrong_type_is_named(shop: Shop, path: str) -> None:
    where, body = whole(shop, path)
    body = anyone(path, body)
    missed = []

    for name, kind, _ in checked(path):
        value = WRONG_IN[name] if name in WRONG_IN else WRONG.get(kind)
        if value is None:  # any value is right
            continue
        reply = sent(shop, path, where, with_value(body, name, value))
        if not is_named(reply, path, name, code=code_of_wrong_type(kind)):
            missed.append((name, reply.text))

    assert missed == []


@pytest.mark.slow
@pytest.mark.parametrize("path", complete_requests.EVERYTHING)
def test_no_value_of_any_field_is_a_defect(stage: str, path: str) -> None:
    method = next(endpoint.method for endpoint in ENDPOINTS if endpoint.path == path)
    body = complete_requests.EVERYTHING[path](complete_requests.Ids())
    defects = []

    for name, _, _ in checked(path):
        for value in ODD:
            reply = http.call(stage, method, path, with_value(body, name, value))
            if reply.status >= 500:
                defects.append((name, value, reply.text))

    assert defects == []


@pytest.mark.slow
@pytest.mark.parametrize("path", REQUESTS)
def test_each_required_field_that_is_missing_is_named_and_all_in_one_answer(shop: Shop, path: str) -> None:
    where, body = whole(shop, path)
    required = [name for name, _, must in paths(REQUESTS[path]) if must]
    missed = []

    for name in required:
        reply = sent(shop, path, where, spoilt(body, name, lambda inner, key: inner.pop(key)))
        if not is_named(reply, path, name, code=1):
            missed.append((name, reply.text))
    everything = sent(shop, path, where, {})

    assert missed == []
    assert {name for name in required if "." not in name} <= {name for name, _ in everything.findings} or not required


@pytest.mark.slow
@pytest.mark.parametrize("path", REQUESTS)
def test_each_text_that_is_too_long_and_each_number_out_of_range_is_named(shop: Shop, path: str) -> None:
    where, body = whole(shop, path)
    body = anyone(path, body)
    missed = []

    for name, kind, _ in checked(path):
        for value in LONG.get(kind, ()):
            reply = sent(shop, path, where, with_value(body, name, value))
            if not is_named(reply, path, name) or (kind == I and (name, 2) in reply.findings):
                missed.append((name, reply.text))

    assert missed == []


@pytest.mark.slow
@pytest.mark.parametrize("path", REQUESTS)
def test_each_text_that_utf_8_cannot_hold_is_named(shop: Shop, path: str) -> None:
    where, body = whole(shop, path)
    body = anyone(path, body)
    missed = []

    for name, kind, _ in checked(path):
        if kind in {S, D}:
            reply = sent(shop, path, where, with_value(body, name, "\ud800"))
            if not is_named(reply, path, name):
                missed.append((name, reply.text))

    assert missed == []


@pytest.mark.parametrize("path", MANAGEMENT)
def test_unknown_fields_are_passed_over(shop: Shop, path: str) -> None:
    where, body = whole(shop, path)
    reply = sent(shop, path, where, body | {"Nonsense": {"Deep": [1]}})

    assert reply.status == 200, reply.text
    assert "Nonsense" not in json.dumps(reply.body, default=str)
