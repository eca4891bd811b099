"""Every field of the reference, over HTTP: each is accepted, each is returned, each is checked."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.endpoints import ENDPOINTS
from tests.support import builders, http, spec_fields
from tests.support.builders import Shop
from tests.support.complete_requests import EVERYTHING, Ids
from tests.support.management import MANAGEMENT, a_request
from tests.support.role_table import fixed, send
from tests.support.spec_checks import Seen, documented, paths, put_at, steps
from tests.support.specification import CONTEXT, A, B, D, I, N, O, S
from tests.support.transactions import a_guid

BULK = "/api/v1/merchant/{merchantId}/pos/updatebulk"
REQUESTS = {path: spec_fields.REQUESTS[path] for path in (*MANAGEMENT, *EVERYTHING)}
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


Send = Callable[[Any], http.Reply]


def whole(stage: str, path: str) -> tuple[Send, dict[str, Any]]:
    """Return how to send a body to this path as somebody who may, and a body with every field."""
    if path in EVERYTHING:
        method = next(endpoint.method for endpoint in ENDPOINTS if endpoint.path == path)
        return lambda body: http.call(stage, method, path, body), EVERYTHING[path](Ids())
    world, row = a_request(stage, path)
    parts = row.parts(world)
    return lambda body: send(world, fixed(row, parts, body), world.caller.basic_with_key), row.body(world)


NOT_AS_SENT = {"SecretKey", "Phone", "Version"}  # hidden, written in one way, counted


def shown(answer: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """Return the values in the answer's objects of the texts and whole numbers that were sent under the same name."""
    plain = {name for name, value in body.items() if isinstance(value, str | int)} - NOT_AS_SENT - set(CONTEXT)
    objects = [one for one in answer.values() if isinstance(one, dict)]
    return {name: value for one in objects for name, value in one.items() if name in plain}


@pytest.mark.parametrize("path", MANAGEMENT)
def test_the_complete_request_is_taken_and_answered_as_the_reference_says(stage: str, path: str) -> None:
    post, body = whole(stage, path)
    assert set(REQUESTS[path]) == set(body)

    reply = post(body)

    assert (reply.status, reply.findings) == (200, []), reply.text
    assert shown(reply.body, body) == {name: body[name] for name in shown(reply.body, body)}
    seen = Seen()
    if len(spec_fields.DOCUMENT["paths"][path]) == 1:  # ANSWERS has the answer of another method
        seen.answer(path, 200, reply.body)
    assert seen.others == set()
    assert [fault for fault in seen.faults() if " was not seen" not in fault] == []


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

    later = {"MerchantView.ReceiptNote", "MerchantView.TerminalID"}  # an update sets one, and it has no terminal yet
    assert nulls(created, "MerchantAnswer", "MerchantView") == later
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
    if "OfflineTran" in body.get("BasicTran", {}):  # only its money refuses an offline sale
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


@pytest.mark.slow
@pytest.mark.parametrize("path", REQUESTS)
def test_each_field_of_a_wrong_type_is_named(stage: str, path: str) -> None:
    post, body = whole(stage, path)
    missed = []

    for name, kind, _ in checked(path):
        value = WRONG_IN[name] if name in WRONG_IN else WRONG.get(kind)
        if value is None:  # any value is right
            continue
        reply = post(with_value(body, name, value))
        if not is_named(reply, path, name, code=code_of_wrong_type(kind)):
            missed.append((name, reply.text))

    assert missed == []


@pytest.mark.slow
@pytest.mark.parametrize("path", EVERYTHING)
def test_no_value_of_any_field_is_a_defect(stage: str, path: str) -> None:
    post, body = whole(stage, path)
    defects = []

    for name, _, _ in checked(path):
        for value in ODD:
            reply = post(with_value(body, name, value))
            if reply.status >= 500:
                defects.append((name, value, reply.text))

    assert defects == []


@pytest.mark.slow
@pytest.mark.parametrize("path", REQUESTS)
def test_each_required_field_that_is_missing_is_named_and_all_in_one_answer(stage: str, path: str) -> None:
    post, body = whole(stage, path)
    required = [name for name, _, must in paths(REQUESTS[path]) if must]
    if path == "/api/v1/merchant/{merchantId}/update":  # sent by a system user; test_merchants has an administrator
        required = [name for name in required if "." in name]
    missed = []

    for name in required:
        reply = post(spoilt(body, name, lambda inner, key: inner.pop(key)))
        if not is_named(reply, path, name, code=1):
            missed.append((name, reply.text))
    everything = post({})

    assert missed == []
    assert {name for name in required if "." not in name} <= {name for name, _ in everything.findings} or not required


@pytest.mark.slow
@pytest.mark.parametrize("path", REQUESTS)
def test_each_text_that_is_too_long_and_each_number_out_of_range_is_named(stage: str, path: str) -> None:
    post, body = whole(stage, path)
    missed = []

    for name, kind, _ in checked(path):
        for value in LONG.get(kind, ()):
            reply = post(with_value(body, name, value))
            if not is_named(reply, path, name) or (kind == I and (name, 2) in reply.findings):
                missed.append((name, reply.text))

    assert missed == []


@pytest.mark.slow
@pytest.mark.parametrize("path", REQUESTS)
def test_each_text_that_utf_8_cannot_hold_is_named(stage: str, path: str) -> None:
    post, body = whole(stage, path)
    missed = []

    for name, kind, _ in checked(path):
        if kind in {S, D}:
            reply = post(with_value(body, name, "\ud800"))
            if not is_named(reply, path, name):
                missed.append((name, reply.text))

    assert missed == []


SUBMIT = "/api/v1/payment/submit"
OFFLINE = "BasicTran.OfflineTran"
MONEY = {f"BasicTran.{name}" for name in ("Amount", "CurrencyID", "InputType", "ID", "OfflineTran")}
MONEY |= {"BasicTran", f"{OFFLINE}.OfflineMode", f"{OFFLINE}.Paid"}


def offline_faults() -> list[tuple[str, str, Any]]:
    """Return the fields of an offline sale beside its money, each with its kind and wrong values."""
    fields = [(name, kind) for name, kind, _ in checked(SUBMIT) if name not in MONEY]
    return [
        (name, kind, value)
        for name, kind in fields
        for value in (WRONG_IN.get(name, WRONG.get(kind)), *LONG.get(kind, ()), *({"\ud800"} if kind == S else ()))
        if value is not None
    ]


def an_offline_sale(path: str) -> dict[str, Any]:
    """Return an offline sale with every field; its pictures and receipt, which cost time, only for their own paths."""
    body = copy.deepcopy(EVERYTHING[SUBMIT](Ids())) | {"CurrentAccountID": None}
    body |= {name: None for name in ("Files", "Receipt") if not path.startswith(name)}
    body["BasicTran"] |= {"ID": a_guid(), "AmountCashGot": None}
    body["BasicTran"][OFFLINE.rpartition(".")[2]] |= {"Invoice": a_guid(), "OfflineQueueId": a_guid()}
    return body


def with_offline(path: str, value: Any) -> dict[str, Any]:
    """Return an offline sale with this value at a path."""
    body = an_offline_sale(path)
    put_at(body, path, value)
    return body


@pytest.mark.slow
def test_no_field_beside_its_money_refuses_an_offline_sale(stage: str) -> None:
    missed = []
    for name, _, value in offline_faults():
        body = with_offline(name, value)
        reply, again = http.post(stage, SUBMIT, body), http.post(stage, SUBMIT, body)
        items = {one["Property"]: one["Type"] for one in (reply.body.get("Validations") or ())}
        is_taken = reply.error == again.error == (200, 0) and again.body["Validations"] == reply.body["Validations"]
        if not is_taken or items.get(name) != 2 or set(items.values()) != {2}:
            missed.append((name, str(value)[:20], reply.text))

    assert missed == []


@pytest.mark.slow
def test_no_value_of_a_field_loses_an_offline_sale_or_is_a_defect(stage: str) -> None:
    missed = []
    for name, _, _ in checked(SUBMIT):
        for value in ODD:
            reply = http.post(stage, SUBMIT, with_offline(name, value))
            if reply.status != 200 and (name not in MONEY or reply.status >= 500):
                missed.append((name, value, reply.text))

    assert missed == []


@pytest.mark.slow
def test_a_field_that_is_missing_in_an_object_leaves_out_the_object_of_an_offline_sale(stage: str) -> None:
    missed = []
    for name, _, _ in checked(SUBMIT):
        if name in MONEY or name.endswith("]"):
            continue
        reply = http.post(stage, SUBMIT, spoilt(an_offline_sale(name), name, lambda inner, key: inner.pop(key)))
        if reply.error != (200, 0):
            missed.append((name, reply.text))

    assert missed == []


@pytest.mark.parametrize("name", sorted(MONEY))
def test_wrong_money_refuses_an_offline_sale_and_is_named_alone(stage: str, name: str) -> None:
    body = with_offline(name, [1])
    body |= {"Files": 5, "Location": {"Latitude": 1}, "TerminalGroupID": None, "TerminalGroupCode": None}
    if isinstance(body["BasicTran"], dict):
        body["BasicTran"] |= {"TerminalGroupID": None, "TerminalGroupCode": None}
    reply = http.post(stage, SUBMIT, body)

    assert reply.error == (400, 202)
    is_offline_sale = name not in {"BasicTran", OFFLINE, f"{OFFLINE}.OfflineMode", "BasicTran.InputType"}
    assert (name, 2) in reply.findings or (name, 3) in reply.findings
    assert not is_offline_sale or {path for path, _ in reply.findings} == {name}


@pytest.mark.parametrize("path", MANAGEMENT)
def test_unknown_fields_are_passed_over(stage: str, path: str) -> None:
    post, body = whole(stage, path)
    reply = post(body | {"Nonsense": {"Deep": [1]}})

    assert reply.status == 200, reply.text
    assert "Nonsense" not in json.dumps(reply.body, default=str)
