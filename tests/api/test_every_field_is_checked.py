"""Every field of the specification's tables, over HTTP: each is accepted, each is returned, each is checked."""

import copy
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from chalicelib.endpoints import ENDPOINTS
from tests.support import builders, complete_requests, http, spec_fields
from tests.support.builders import Shop
from tests.support.spec_checks import Seen, documented, paths, put_at, steps

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
    spec_fields.I: "5",
    spec_fields.N: "north",
    spec_fields.D: "twelve",
    spec_fields.S: 7,
    spec_fields.B: "true",
    spec_fields.A: {"0": 1},
    spec_fields.O: [],
}
# Texts that may be numbers, too: a number is not wrong there.
NUMBERS_TOO = ("Purchases[0].Price", "Purchases[0].Quantity", "OfflineQueueId")
ODD: tuple[Any, ...] = (None, {}, [None], 1.5, "\ud800", 10**300)
LONG = {spec_fields.S: ("x" * 9000,), spec_fields.I: (10**18, 10**4000)}


def whole(shop: Shop, path: str) -> tuple[str, dict[str, Any]]:
    """Return the path to post to, and a body with every field of the table."""
    if path in complete_requests.EVERYTHING:
        return path, complete_requests.EVERYTHING[path](complete_requests.Ids())
    account = shop.owner_id
    if path == "/api/v1/merchant/create":
        return path, builders.merchant_body()
    if path == "/api/v1/terminal/create":
        return path, builders.terminal_body(shop.id, CurrentAccountID=account)
    if path == "/api/v1/merchant/{merchantId}/update":
        return f"{shop.path}/update", builders.merchant_update(ID=shop.id, ClientImportance=100)
    return about_agents(shop, path)


def about_agents(shop: Shop, path: str) -> tuple[str, dict[str, Any]]:
    terminal = shop.terminal()
    given = {"TerminalID": terminal["ID"], "TID": terminal["Name"], "CurrentAccountID": shop.owner_id}
    if path == f"{POS}/create":
        return f"{shop.path}/pos/create", builders.agent_body(shop.id, **given)
    agent = shop.agent()
    if path == BULK:
        printer = {"PrinterID": 2, "PrinterCode": "ESCPOS80"}
        item = {"Email": agent["Email"], "State": 1, "PrinterAndTaxSettings": printer}
        return f"{shop.path}/pos/updatebulk", builders.CONTEXT | {"PosBulk": [item], "CurrentAccountID": shop.owner_id}
    return f"{shop.path}/pos/{agent['ID']}/update", builders.agent_update(**given, ID=agent["ID"])


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


@pytest.mark.parametrize("path", REQUESTS)
def test_the_body_of_a_route_knows_every_field_of_its_table(path: str) -> None:
    body = next(endpoint.body for endpoint in ENDPOINTS if endpoint.path == path)
    assert body
    schema = body.model_json_schema(by_alias=True)

    assert unknown(REQUESTS[path], schema, schema.get("$defs", {})) == []


def unknown(table: Mapping[str, Any], schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[str]:
    """Return the fields of a table that a body does not have, or does not require although the table does."""
    found = []
    others = {"SelfSevice": "SelfService"}
    for name, (kind, required) in table.items():
        known = schema["properties"].get(others.get(name, name))
        if known is None:
            found.append(f"{name} is missing")
            continue
        if required and name not in schema["required"]:
            found.append(f"{name} is not required")
        inner = kind[0] if isinstance(kind, list) else kind
        if isinstance(inner, dict) and name != "PosBulk":  # its items are read one by one
            (definition,) = re.findall(r"#/\$defs/(\w+)", str(known))
            found += [f"{name}.{fault}" for fault in unknown(inner, definitions[definition], definitions)]
    return found


def nulls(name: str, body: dict[str, Any]) -> set[str]:
    """Return the fields of a Pos, Merchant or Terminal that are null in this answer and need not be."""
    seen = Seen()
    seen.answer(next(path for path, answer in spec_fields.ANSWERS.items() if answer == f"Create{name}"), 200, body)
    assert seen.faults(name) == []
    return seen.always_null(name) - spec_fields.ALWAYS_NULL


def test_a_merchant_is_shown_with_every_field_when_it_is_created_and_when_it_is_updated(shop: Shop) -> None:
    created = http.post(shop.stage, "/api/v1/merchant/create", builders.merchant_body(), http.SYSTEM).body
    shop.terminal()
    updated = shop.post(f"{shop.path}/update", builders.merchant_update()).body

    assert nulls("Merchant", created) == {"Merchant.TerminalID"}  # it has no terminal yet
    assert nulls("Merchant", updated) == set()


def test_an_agent_is_shown_with_every_field_by_its_id_and_without_its_key_elsewhere(shop: Shop) -> None:
    agent = shop.agent(TerminalID=shop.terminal()["ID"])
    path = f"{shop.path}/pos/{agent['ID']}"
    sign_in = {"Email": agent["Email"], "Password": builders.PASSWORD, "Remember": True}
    http.post(shop.stage, "/api/v1/user/login/session", sign_in, None, User_Agent="Till/7")
    shown = http.get(shop.stage, path, shop.owner).body
    updated = shop.post(f"{path}/update", builders.agent_update()).body
    listed = shop.post(f"{shop.path}/pos/list", {}).body
    pos = {"Pos": next(pos for pos in listed["PosList"] if pos["ID"] == agent["ID"])}
    never = "Pos.Logon.LockedUntil"
    sessions = {name for name in documented("Pos") if name.startswith("Pos.Sessions")}

    assert nulls("Pos", shown) == {never}
    assert nulls("Pos", updated) == {"Pos.SecretKey", never, *sessions}
    assert nulls("Pos", listed | pos) == {"Pos.SecretKey", never, *sessions}


def test_a_terminal_is_shown_with_every_field(shop: Shop) -> None:
    created = shop.post("/api/v1/terminal/create", builders.terminal_body(shop.id, WithAccounts=True)).body

    assert nulls("Terminal", created) == set()


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
    return None if kind == spec_fields.D else 2


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
        value = True if name.endswith(NUMBERS_TOO) else WRONG[kind]
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
            if not is_named(reply, path, name) or (kind == spec_fields.I and (name, 2) in reply.findings):
                missed.append((name, reply.text))

    assert missed == []


@pytest.mark.slow
@pytest.mark.parametrize("path", REQUESTS)
def test_each_text_that_utf_8_cannot_hold_is_named(shop: Shop, path: str) -> None:
    where, body = whole(shop, path)
    body = anyone(path, body)
    missed = []

    for name, kind, _ in checked(path):
        if kind == spec_fields.S:
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
