"""Every field of the specification's tables, over HTTP: each is accepted, each is returned, each is checked."""

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from chalicelib.routes import ENDPOINTS
from tests import builders, fields, http
from tests.builders import Shop, a_shop

POS = "/api/v1/merchant/{merchantId}/pos"
REQUESTS: dict[str, Mapping[str, Any]] = {
    "/api/v1/merchant/create": fields.CREATE_MERCHANT,
    "/api/v1/merchant/{merchantId}/update": fields.UPDATE_MERCHANT,
    f"{POS}/create": fields.CREATE_AGENT,
    f"{POS}/{{posId}}/update": fields.UPDATE_AGENT,
    f"{POS}/updatebulk": fields.UPDATE_BULK,
    "/api/v1/terminal/create": fields.CREATE_TERMINAL,
}
WRONG: dict[str, Any] = {
    fields.I: "5",
    fields.N: "north",
    fields.S: 7,
    fields.B: "true",
    fields.A: {"0": 1},
    fields.O: [],
}
LONG = {fields.S: "x" * 9000, fields.I: 10**18}


@pytest.fixture
def shop(stage: str) -> Shop:
    return a_shop(stage)


def complete(shop: Shop, path: str) -> tuple[str, dict[str, Any]]:
    """Return the path to post to, and a body with every field of the table."""
    account = shop.owner_id
    if path == "/api/v1/merchant/create":
        return path, builders.merchant_body()
    if path == "/api/v1/terminal/create":
        return path, builders.terminal_body(shop.id, CurrentAccountID=account)
    if path == "/api/v1/merchant/{merchantId}/update":
        return f"{shop.path}/update", builders.merchant_update(ID=shop.id, CurrentAccountID=account)
    if path == f"{POS}/create":
        terminal = shop.terminal()
        given = {"TerminalID": terminal["ID"], "TID": terminal["Name"], "CurrentAccountID": account}
        return f"{shop.path}/pos/create", builders.agent_body(shop.id, **given)
    agent, terminal = shop.agent(), shop.terminal()
    if path == f"{POS}/updatebulk":
        item = {"Email": agent["Email"], "State": 1, "PrinterAndTaxSettings": {"PrinterID": 2}}
        return f"{shop.path}/pos/updatebulk", builders.CONTEXT | {"PosBulk": [item], "CurrentAccountID": account}
    given = {"TerminalID": terminal["ID"], "TID": terminal["Name"], "CurrentAccountID": account, "ID": agent["ID"]}
    return f"{shop.path}/pos/{agent['ID']}/update", builders.agent_update(**given)


def login_for(shop: Shop, path: str) -> tuple[str, str]:
    return http.SYSTEM if path == "/api/v1/merchant/create" else shop.owner


@pytest.mark.parametrize("path", REQUESTS)
def test_the_complete_request_is_taken(shop: Shop, path: str) -> None:
    where, body = complete(shop, path)
    # The test does not know the ID of a terminal group; a new merchant has no account yet.
    unused = (
        {"TerminalGroupID", "CurrentAccountID"} if "terminal" in path or path.endswith("merchant/create") else set()
    )
    assert set(REQUESTS[path]) - set(body) <= unused

    reply = shop.post(where, body, login_for(shop, path))

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
        if isinstance(kind, dict):
            arms = [known, *known.get("anyOf", [])]
            inner = next(arm["$ref"].rsplit("/", 1)[1] for arm in arms if "$ref" in arm)
            found += [f"{name}.{fault}" for fault in unknown(kind, definitions[inner], definitions)]
    return found


def test_a_merchant_is_shown_with_every_field_of_its_table(shop: Shop) -> None:
    created = http.post(shop.stage, "/api/v1/merchant/create", builders.merchant_body(), http.SYSTEM).body
    updated = shop.post(f"{shop.path}/update", builders.merchant_update()).body

    for answer in (created, updated):
        assert fields.faults(answer, {**fields.ENVELOPE, "Merchant": fields.MERCHANT}) == []


def test_an_agent_is_shown_with_every_field_of_its_table(shop: Shop) -> None:
    agent = shop.agent()
    path = f"{shop.path}/pos/{agent['ID']}"
    shown = http.get(shop.stage, path, shop.owner).body
    updated = shop.post(f"{path}/update", builders.agent_update()).body
    listed = shop.post(f"{shop.path}/pos/list", {}).body
    counters = {**fields.ENVELOPE, "PosCounters": fields.COUNTERS}
    without_key = {name: kind for name, kind in fields.POS.items() if name != "SecretKey"}

    assert fields.faults(shown, {**fields.ENVELOPE, "Pos": fields.POS}) == []
    assert fields.faults(updated, {**fields.ENVELOPE, "Pos": without_key}) == []
    assert fields.faults(listed, counters) == []
    pos = next(pos for pos in listed["PosList"] if pos["ID"] == agent["ID"])
    assert fields.faults(pos, without_key) == []
    assert (updated["Pos"]["SecretKey"], pos["SecretKey"]) == (None, None)


def test_a_terminal_is_shown_with_every_field_of_its_table(shop: Shop) -> None:
    answer = shop.post("/api/v1/terminal/create", builders.terminal_body(shop.id)).body

    assert fields.faults(answer, {**fields.ENVELOPE, "Terminal": fields.TERMINAL}) == []


def test_the_table_check_names_what_is_missing_null_or_of_another_type() -> None:
    shown = {"A": 1, "B": "2", "D": {"E": None}}
    table = {"A": fields.I, "B": fields.I, "C": fields.S, "D": {"E": fields.B}}

    assert fields.faults(shown, table) == ["B is String, not Integer", "C is missing", "D.E is null"]


def spoilt(body: dict[str, Any], path: str, spoil: Callable[[dict[str, Any], str], None]) -> dict[str, Any]:
    """Return the body with one of its fields made invalid."""
    body = copy.deepcopy(body)
    *outer, name = path.split(".")
    inner = body
    for part in outer:
        inner = inner[part]
    spoil(inner, name)
    return body


@pytest.mark.parametrize("path", REQUESTS)
def test_each_field_of_a_wrong_type_is_named(shop: Shop, path: str) -> None:
    where, body = complete(shop, path)
    body |= {"CurrentAccountID": 1, "TerminalGroupID": 1} if "terminal" in path else {"CurrentAccountID": 1}
    missed = []

    for name, kind, _ in fields.paths(REQUESTS[path]):
        if name.startswith("DeviceInfo.") and name != "DeviceInfo.OS":
            continue  # one of nine that are alike
        sent = spoilt(body, name, lambda inner, key, kind=kind: inner.update({key: WRONG[kind]}))  # type: ignore[misc]
        reply = shop.post(where, sent, login_for(shop, path))
        shown = name.replace("SelfSevice", "SelfService")
        if reply.error != (400, 202) or shown not in [where for where, _ in reply.findings]:
            missed.append((name, reply.text))

    assert missed == []


@pytest.mark.parametrize("path", REQUESTS)
def test_each_required_field_that_is_missing_is_named_and_all_in_one_answer(shop: Shop, path: str) -> None:
    where, body = complete(shop, path)
    required = [name for name, _, must in fields.paths(REQUESTS[path]) if must]
    missed = []

    for name in required:
        reply = shop.post(where, spoilt(body, name, lambda inner, key: inner.pop(key)), login_for(shop, path))
        if reply.error != (400, 202) or (name, 1) not in reply.findings:
            missed.append((name, reply.text))
    everything = shop.post(where, {}, login_for(shop, path))

    assert missed == []
    assert {name for name, _, must in fields.paths(REQUESTS[path]) if must and "." not in name} <= {
        name for name, _ in everything.findings
    } or not required


@pytest.mark.parametrize("path", [path for path in REQUESTS if path != f"{POS}/updatebulk"])
def test_each_text_that_is_too_long_and_each_number_out_of_range_is_named(shop: Shop, path: str) -> None:
    where, body = complete(shop, path)
    body |= {"CurrentAccountID": 1}
    missed = []

    for name, kind, _ in fields.paths(REQUESTS[path]):
        if kind not in LONG or (name.startswith("DeviceInfo.") and name != "DeviceInfo.OS"):
            continue
        sent = spoilt(body, name, lambda inner, key, kind=kind: inner.update({key: LONG[kind]}))  # type: ignore[misc]
        reply = shop.post(where, sent, login_for(shop, path))
        shown = name.replace("SelfSevice", "SelfService")
        if reply.error != (400, 202) or shown not in [where for where, _ in reply.findings]:
            missed.append((name, reply.text))

    assert missed == []


@pytest.mark.parametrize("path", REQUESTS)
def test_unknown_fields_are_passed_over(shop: Shop, path: str) -> None:
    where, body = complete(shop, path)

    reply = shop.post(where, body | {"Nonsense": {"Deep": [1]}}, login_for(shop, path))

    assert reply.status == 200, reply.text
    assert "Nonsense" not in json.dumps(reply.body, default=str)
