from typing import Any

import pytest

from chalicelib.domain.agent import Agent
from chalicelib.errors import ErrorCode
from chalicelib.store import agents as agents_store
from chalicelib.store.aws_client import UnansweredError
from chalicelib.store.table import update as store_update
from chalicelib.store.table import write_one
from tests.support import http
from tests.support.builders import PASSWORD, Shop, a_shop, an_email
from tests.support.giving import Give
from tests.support.intercepted_calls import refusing
from tests.support.stored import changes_of, stored_record


def update(shop: Shop, *items: Any, login: tuple[str, str] | None = None) -> http.Reply:
    return shop.post(f"{shop.path}/pos/updatebulk", {"PosBulk": list(items)}, login)


def stored_agent(agent: dict[str, Any]) -> Agent:
    return stored_record(agents_store.key(agent["ID"]))


def test_the_valid_items_are_applied_and_the_others_told(shop: Shop) -> None:
    one, other, foreign = shop.agent(), shop.agent(), a_shop(shop.stage).agent()
    printer = {"PrinterID": 2}

    reply = update(
        shop,
        {"Email": one["Email"].upper(), "State": 0, "PrinterAndTaxSettings": printer},
        {"Email": "nobody@shop.example", "State": 0},
        {"Email": foreign["Email"], "State": 0},
        {"Email": other["Email"], "State": 0, "PrinterAndTaxSettings": {"PrinterID": 77}},
        {"Email": one["Email"], "State": 1},
    )

    assert (reply.error, reply.body["Pos"]) == ((200, 0), None)
    assert reply.findings == [("nobody@shop.example", 563), (foreign["Email"], 563), ("77", 564), (one["Email"], 11)]
    assert (stored_agent(one).state, stored_agent(one).printer.printer_code) == (0, "ESCPOS80")  # type: ignore[union-attr]
    assert (stored_agent(other).state, stored_agent(foreign).state) == (1, 1)


@pytest.mark.parametrize(
    ("printer", "named", "code"),
    [
        ({"PrinterID": 1, "PrinterCode": "LASER"}, "LASER", 564),
        ({"PrinterID": 1, "PrinterCode": "ESCPOS80"}, "ESCPOS80", 12),
        ({"PrinterID": 77, "PrinterCode": "ESCPOS80"}, "77", 564),
        ({"PrinterID": 77, "PrinterCode": "LASER"}, "77", 564),
        ({"PrinterID": 0}, "0", 564),
        ({"PrinterCode": "LASER"}, "LASER", 564),
    ],
)
def test_of_two_identifiers_of_a_printer_the_wrong_is_named(
    shop: Shop, printer: dict[str, Any], named: str, code: int
) -> None:
    agent = shop.agent(PrinterAndTaxSettings=None)
    reply = update(shop, {"Email": agent["Email"], "State": 0, "PrinterAndTaxSettings": printer})

    assert reply.findings == [(named, code)]
    assert (stored_agent(agent).printer, stored_agent(agent).state) == (None, 1)


def test_an_item_that_cannot_be_read_does_not_stop_the_others(shop: Shop) -> None:
    agent = shop.agent()

    reply = update(
        shop,
        "text",
        {"State": 0},
        {"Email": "nobody", "State": 7},
        {"Email": agent["Email"], "State": 0},
        [],
        {"Email": agent["Email"], "State": "0"},
    )

    assert reply.error == (200, 0)
    first = [("PosBulk[0]", 2), ("PosBulk[1].Email", 1), ("nobody", 563), ("PosBulk[4]", 2), (agent["Email"], 11)]
    assert reply.findings == [*first, ("PosBulk[2].State", 5), ("PosBulk[5].State", 2)]
    assert stored_agent(agent).state == 0


def test_the_log_has_no_e_mail_and_no_printer_of_a_batch(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    agent = shop.agent()
    reply = update(
        shop,
        {"Email": "a@private.example", "State": 0},
        {"Email": shop.owner[0], "State": 0},  # refused as the last administrator
        {"Email": agent["Email"], "PrinterAndTaxSettings": {"PrinterCode": "4242 4242"}},
        {"State": 7},
    )
    written = capsys.readouterr().out

    assert {name for name, _ in reply.findings} == {
        "a@private.example",
        shop.owner[0],
        "4242 4242",
        "PosBulk[3].Email",
        "PosBulk[3].State",
    }
    assert "PosBulk[3].State" in written
    assert not any(text in written for text in ("private.example", shop.owner[0], "4242 4242"))


@pytest.mark.parametrize("email", ["nobody", "@", "x" * 300, "kein Mensch", "ñ@shop.example", "a@b@shop.example"])
def test_an_e_mail_of_any_form_that_matches_nobody_is_named(shop: Shop, email: str) -> None:
    reply = update(shop, {"Email": email, "State": 0})

    assert (reply.error, reply.findings) == ((200, 0), [(email, 563)])


@pytest.mark.parametrize(
    ("email", "code"), [(5, 2), ("", 5), (" ", 5), (None, 1), ("x" * 513, 4), ({"Email": "a@shop.example"}, 2)]
)
def test_an_e_mail_that_is_no_text_is_named_by_its_path(shop: Shop, email: Any, code: int) -> None:
    assert update(shop, {"Email": email, "State": 0}).findings == [("PosBulk[0].Email", code)]


def test_every_fault_of_an_item_is_named(shop: Shop) -> None:
    agent, printer = shop.agent(), {"PrinterID": 77}

    reply = update(
        shop,
        {"Email": "nobody", "State": 7, "PrinterAndTaxSettings": printer},
        {"State": "0", "PrinterAndTaxSettings": printer},
        {"Email": agent["Email"], "state": 1, "PrinterAndTaxSettings": printer},
        {"Email": agent["Email"].upper(), "State": 0, "PrinterAndTaxSettings": {"PrinterID": "77"}},
    )

    assert reply.findings == [
        ("nobody", 563),
        ("PosBulk[1].Email", 1),
        ("PosBulk[2].state", 13),
        (agent["Email"].upper(), 11),
        ("PosBulk[0].State", 5),
        ("77", 564),
        ("PosBulk[1].State", 2),
        ("77", 564),
        ("77", 564),
        ("PosBulk[3].PrinterAndTaxSettings.PrinterID", 2),
    ]
    assert stored_agent(agent).state == 1


def test_no_faulty_item_goes_unnamed(shop: Shop) -> None:
    agent = shop.agent()
    faulty = [
        {"Email": f"{number}", "State": 7, "PrinterAndTaxSettings": {"PrinterID": "x", "PrinterCode": 1}}
        for number in range(99)
    ]

    findings = update(shop, *faulty, {"Email": agent["Email"], "State": "0"}).findings

    assert len(findings) == 300
    assert findings[:100] == [*((f"{number}", 563) for number in range(99)), ("PosBulk[99].State", 2)]


def test_a_blocked_agent_is_out_at_once(shop: Shop) -> None:
    agent = shop.agent()
    path, login = f"{shop.path}/pos/{agent['ID']}", (agent["Email"], PASSWORD)
    assert http.get(shop.stage, path, login).status == 200

    update(shop, {"Email": agent["Email"], "State": 0})
    assert http.get(shop.stage, path, login).error == (401, 103)

    update(shop, {"Email": agent["Email"], "State": 1})
    assert http.get(shop.stage, path, login).status == 200
    assert [entry.kind for entry in changes_of(agent["ID"])] == ["create", "bulk", "bulk"]


CHANGES: list[dict[str, Any]] = [
    {"State": 0},
    {"State": 1},
    {"PrinterAndTaxSettings": {"PrinterID": 2}},
    {"PrinterAndTaxSettings": {"PrinterCode": "ESCPOS80"}},
    {"State": 0, "PrinterAndTaxSettings": {"PrinterID": 2}},
    {"BranchesActions": [201]},
    {"BranchesActions": []},
]


@pytest.mark.parametrize("is_blocked", [False, True])
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_an_agent_is_changed_by_both_ways_alike(shop: Shop, change: dict[str, Any], *, is_blocked: bool) -> None:
    found = []
    if actions := change.get("BranchesActions"):
        change = {"BranchesActions": [{"BranchID": shop.id, "Actions": actions}]}
    for is_bulk in (False, True):
        agent = shop.agent()
        path, login = f"{shop.path}/pos/{agent['ID']}", (agent["Email"], PASSWORD)
        signed_in = http.post(shop.stage, "/api/v1/user/login/session", {"Email": login[0], "Password": login[1]}, None)
        session = {"Authorization": f"Session {signed_in.body['Data']['SessionID']}"}
        if is_blocked:
            assert shop.post(f"{path}/update", {"State": 0}).error == (200, 0)
        before = len(changes_of(agent["ID"]))

        reply = update(shop, {"Email": agent["Email"], **change}) if is_bulk else shop.post(f"{path}/update", change)

        answers = [reply.error, http.get(shop.stage, path, login).error]
        answers.append(http.call(shop.stage, "GET", path, None, None, session).error)
        stored = stored_agent(agent)
        kept = stored_record(agents_store.login_key(agent["Email"]))
        entries = [(one.by, one.fields) for one in changes_of(agent["ID"])[before:]]
        same = (stored.state, stored.printer, stored.branches_actions, stored.version, stored.credential_version)
        found.append((answers, same, (kept.state, kept.credential_version), entries))

    assert found[0] == found[1]


def test_an_agent_whose_e_mail_just_moved_is_named_and_unchanged(shop: Shop) -> None:
    agent = shop.agent()
    write_one(store_update(agents_store.key(agent["ID"]), {"email": an_email()}))

    assert update(shop, {"Email": agent["Email"], "State": 0}).findings == [(agent["Email"], 563)]
    assert stored_agent(agent).state == 1


def test_an_outage_of_the_store_is_no_finding_about_an_item(shop: Shop, give: Give) -> None:
    agent = shop.agent()
    give(client=refusing("TransactWriteItems", UnansweredError()))
    reply = update(shop, {"Email": agent["Email"], "State": 0})

    assert reply.error == (503, ErrorCode.STORE_UNAVAILABLE.code)


def test_a_batch_has_a_hundred_items_at_most(shop: Shop) -> None:
    items = [{"Email": f"{number}@shop.example"} for number in range(101)]

    assert len(update(shop, *items[:100]).findings) == 100
    assert update(shop, *items).error == (400, 403)


def test_an_empty_batch_is_done(shop: Shop) -> None:
    reply = update(shop)

    assert (reply.error, reply.body["Validations"]) == ((200, 0), None)
