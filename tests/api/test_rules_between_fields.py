"""A rule between fields is judged whenever its fields are readable, whatever else is wrong."""

import json
from functools import reduce
from typing import Any

import pytest

from chalicelib.errors import Check
from chalicelib.schemas.base import RuledRequest, models_of, part_of
from tests.support.builders import Shop, a_shop, agent_body, merchant_body, terminal_body
from tests.support.cost import store_calls
from tests.support.http import SYSTEM
from tests.support.role_table import (
    MERCHANT,
    ROLE_MAY_NOT,
    ROLES,
    ROWS,
    TRANSACTION,
    Row,
    a_world,
    endpoint_of,
    fixed,
    send,
)
from tests.support.transactions import a_body

LONG = ["x" * 513]  # no text: the fault next to a contradiction
TWO_SCANNERS = {"BarcodeScanner": True, "Features": {"BarcodeScanner": False, "AcceptCash": LONG}}
FAULT_OF_FEATURES = ("MobileSettings.Features.AcceptCash", 2)
LINES = {"AuxData": {"Purchases": [{"Title": "Tea", "Price": "10.00", "Quantity": 1, "Tags": LONG[0]}]}}
FAULT_OF_LINES = ("BasicTran.AuxDataInput.AuxData.Purchases[0].Tags", 2)
PHOTO = {"FileType": "PHOTO"}
EMAILS = [f"a{number}@example.com" for number in range(3)]
PHONES = [f"+2782987654{number}" for number in range(3)]
PERIOD = {"From": "2026-03-02", "To": "2026-03-01"}
ITEM = {"Code": "tea", "Title": "Tea", "Price": 1, "TaxCode": "none"}
REVERSAL = {"TransactionID": "a", "ReverseMode": 2, "CurrencyID": "ZAR", "CurrencyId": "EUR", "Description": LONG}


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (
            "{merchant}/update",
            merchant_body(MobileSettings=TWO_SCANNERS, Name=5),
            {("Name", 2), FAULT_OF_FEATURES, ("MobileSettings.BarcodeScanner", 12)},
        ),
        (
            "{merchant}/update",
            merchant_body(MobileSettings={"MobHomeURL": "a", "MobHomeURLNull": True, "MobQRUrlNull": 1}),
            {("MobileSettings.MobQRUrlNull", 2), ("MobileSettings.MobHomeURLNull", 12)},
        ),
        (
            "{merchant}/pos/{owner}/update",
            {"Name": 5, "Unlock": True, "State": 0, "PhoneNull": True, "Phone": PHONES[0], "TIDNull": True, "TID": "a"},
            {("Name", 2), ("Unlock", 12), ("PhoneNull", 12), ("TIDNull", 12), ("TID", 562)},
        ),
        (
            "{merchant}/pos/create",
            agent_body(1, MobileSettings=TWO_SCANNERS, Email="nobody"),
            {("Email", 3), FAULT_OF_FEATURES, ("MobileSettings.BarcodeScanner", 12)}
            | {("BranchID", 565), ("BranchesActions[0].BranchID", 565), ("ClientID", 10)},
        ),
        (
            "terminal/create",
            terminal_body(1, SelfSevice="0", SelfService="1", Name=5),
            {("Name", 2), ("SelfService", 12), ("BranchID", 565)},
        ),
        ("{merchant}/pos/{owner}/update", {"Name": 5, "PhoneNull": True, "Phone": 5}, {("Name", 2), ("Phone", 2)}),
        (
            "{merchant}/pricelist/update",
            {"Version": "a", "Taxes": [{"Code": "VAT", "Name": 5, "Rate": 1}], "Items": [ITEM, ITEM]},
            {("Version", 2), ("Taxes[0].Name", 2), ("Items[1].Code", 11)}
            | {("Items[0].TaxCode", 6), ("Items[1].TaxCode", 6)},
        ),
        ("payment/listHistoryEx", {"Period": PERIOD, "GMT": 99}, {("GMT", 5), ("Period.From", 12)}),
        ("report/takings", {"Period": PERIOD, "By": "week"}, {("By", 6), ("Period.From", 12)}),
        (
            "payment/prepare",
            {"ProductDescCode": 5, "PrepareFields": [{"Name": "a", "Value": LONG}, {"Name": "a", "Value": "1"}]},
            {("ProductDescCode", 2), ("PrepareFields[0].Value", 2), ("PrepareFields[1].Name", 11)},
        ),
        (
            "payment/reverse",
            {"BasicReverseTran": REVERSAL, "Receipt": {"Emails": EMAILS, "Phones": PHONES, "RetryNum": "a"}},
            {("BasicReverseTran.Description", 2), ("BasicReverseTran.CurrencyID", 12)}
            | {("Receipt.RetryNum", 2), ("Receipt", 4), ("BasicReverseTran.TransactionID", 568)},
        ),
    ],
)
def test_a_contradiction_is_named_next_to_other_faults(
    shop: Shop, path: str, body: dict[str, Any], expected: set[tuple[str, int]]
) -> None:
    path = f"/api/v1/{path}".replace("/api/v1/{merchant}", shop.path)
    reply = shop.post(path.replace("{owner}", str(shop.owner_id)), body)

    assert reply.error == (400, 202)
    assert set(reply.findings) == expected
    assert len(reply.findings) == len(expected)


@pytest.mark.parametrize(
    ("basic", "others", "expected"),
    [
        ({"CurrencyId": "EUR", "Description": LONG}, {}, {("BasicTran.CurrencyID", 12), ("BasicTran.Description", 2)}),
        (
            {"TerminalGroupID": 5, "Description": LONG},
            {"TerminalGroupID": 6},
            {("TerminalGroupID", 12), ("BasicTran.Description", 2)},
        ),
        ({}, {"Files": [PHOTO, PHOTO]}, {("Files[0].FileCode", 1), ("Files[1].FileCode", 1), ("Files", 11)}),
        ({"AuxDataInput": LINES}, {}, {FAULT_OF_LINES}),  # the lines cannot be read
        (
            {
                "Description": LONG,
                "AuxDataInput": {"AuxData": {"Purchases": [{"Title": "a", "Price": 1, "Quantity": 1}]}},
            },
            {},
            {("BasicTran.Description", 2), ("BasicTran.Amount", 12)},
        ),
        (
            {"Description": LONG, "AmountCashGot": 1},
            {"AcqTran": {"AcquirerCode": "CREDIT"}},
            {("BasicTran.Description", 2), ("BasicTran.AmountCashGot", 12), ("AcqTran.AcquirerCode", 12)},
        ),
        (
            {"InputType": 8, "AmountCashGot": 50, "ID": "a"},
            {"AcqTran": {"AcquirerCode": 5}},
            {("BasicTran.ID", 3), ("BasicTran.AmountCashGot", 12), ("AcqTran.AcquirerCode", 2)},
        ),
        ({"InputType": 77, "AmountCashGot": 1}, {}, {("BasicTran.InputType", 6)}),
        ({"InputType": 30, "AmountCashGot": 1, "ID": "a"}, {}, {("BasicTran.ID", 3)}),
    ],
)
def test_a_contradiction_of_a_payment_is_named_next_to_other_faults(
    shop: Shop, basic: dict[str, Any], others: dict[str, Any], expected: set[tuple[str, int]]
) -> None:
    body = a_body(Amount="12.30", CurrencyID="ZAR", InputType=10)
    body = {**body, "BasicTran": {**body["BasicTran"], **basic}, **others}

    reply = shop.post("/api/v1/payment/submit", body)

    assert reply.error == (400, 202)
    assert set(reply.findings) == expected


def test_an_offline_sale_with_a_fault_keeps_its_rules_for_addresses(shop: Shop) -> None:
    offline = {"OfflineMode": True, "Paid": 5}
    body = a_body(OfflineTran=offline) | {"Receipt": {"Emails": ["no address"], "Phones": PHONES + PHONES[:1]}}

    reply = shop.post("/api/v1/payment/submit", body)

    assert reply.findings == [("BasicTran.OfflineTran.Paid", 2)]


NOBODY = "00000000-0000-4000-8000-000000000000"
OTHER_GROUP = {"TerminalGroupID": 1, "TerminalGroupCode": "NOBODYS"}


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (
            "{merchant}/pos/create",
            agent_body(1, Name=5, TerminalID=1, TID="NONE", Email="{taken}", PrinterAndTaxSettings={"PrinterID": 99}),
            {("Name", 2), ("TerminalID", 562), ("TID", 562), ("Email", 307), ("BranchID", 565)}
            | {("BranchesActions[0].BranchID", 565), ("PrinterAndTaxSettings.PrinterID", 564)},
        ),
        ("{merchant}/pos/create", {"BranchID": "a", "TID": "NONE"}, {("BranchID", 2), ("TID", 562)}),
        (
            "{merchant}/pos/{agent}/update",
            {"Name": 5, "TerminalID": "a", "TID": "NONE", "Email": "{taken}"},
            {("Name", 2), ("TerminalID", 2), ("TID", 562), ("Email", 307)},
        ),
        ("{merchant}/pos/{agent}/update", {"Name": 5, "Email": "{own}"}, {("Name", 2)}),
        ("terminal/create", terminal_body(1, Title=5), {("Title", 2), ("BranchID", 565)}),
        (
            "terminal/create",
            terminal_body(1, BranchID="{id}", Title=5, Name="{tid}", BackRetailerID="{mid}", **OTHER_GROUP),
            {("Title", 2), ("TerminalGroupID", 569), ("TerminalGroupCode", 569)}
            | {("Name", 308), ("BackRetailerID", 308)},
        ),
        ("{merchant}/event/1/resend", {"WebhookID": 1, "GMT": 99}, {("GMT", 5), ("WebhookID", 570)}),
        (
            "payment/submit",
            {"BasicTran": {"InputType": 5, "CurrencyID": "EUR", "TerminalGroupID": 9}, "Card": {"LinkedCardID": 1}},
            {("BasicTran.Amount", 1), ("Card.LinkedCardID", 566), ("BasicTran.CurrencyID", 12)}
            | {("BasicTran.TerminalGroupID", 569)},
        ),
        ("payment/submit", {"BasicTran": 5, "TerminalGroupID": 9}, {("BasicTran", 2)}),
        (
            "payment/prepare",
            {"ProductDescCode": "NONE", "PrepareFields": 5},
            {("PrepareFields", 2), ("ProductDescCode", 567)},
        ),
        *(
            (
                path,
                {"BasicReverseTran": {"TransactionID": sent, "ReverseMode": 9}},
                {("BasicReverseTran.ReverseMode", 6), ("BasicReverseTran.TransactionID", 568)},
            )
            for path, sent in (("payment/reverse", NOBODY), ("payment/reversecnp", "nobody"))
        ),
        *(
            (path, {"AccountID": 1, "GMT": 99}, {("AccountID", 563), ("GMT", 5)})
            for path in ("report/takings", "report/drawer", "report/drawer/list", "payment/GetLinkedCards")
        ),
        *(
            (path, {"ListBasicModel": {"AccountID": 1}, "GMT": 99}, {("ListBasicModel.AccountID", 563), ("GMT", 5)})
            for path in ("payment/listHistoryEx", "payment/listByDaysEx", "report/export")
        ),
    ],
)
def test_a_missing_record_or_a_taken_name_is_named_next_to_other_faults_by_one_read(
    shop: Shop, path: str, body: dict[str, Any], expected: set[tuple[str, int]]
) -> None:
    terminal, mid = shop.terminal(), f"MID{shop.id}"
    agent = shop.agent(TerminalID=terminal["ID"])
    login = (agent["Email"], "a secret key of some length") if path.startswith("payment") else shop.owner
    if "{mid}" in body.values():
        a_shop(shop.stage).terminal(BackRetailerID=mid)
    values = {"{merchant}": f"merchant/{shop.id}", "{agent}": str(agent["ID"]), '"{id}"': str(shop.id), "{mid}": mid}
    values |= {"{taken}": SYSTEM[0], "{own}": agent["Email"], "{tid}": terminal["Name"]}
    path, body = json.loads(reduce(lambda text, one: text.replace(*one), values.items(), json.dumps([path, body])))

    with store_calls() as calls:
        reply = shop.post(f"/api/v1/{path}", body, login)

    assert reply.error == (400, 202)
    assert expected <= set(reply.findings)
    assert {one for one in reply.findings if one[1] > max(Check)} <= expected
    assert len(set(reply.findings)) == len(reply.findings)
    assert calls.index("BatchGetItem") == len(calls) - 1  # the authorizer's calls come before it


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("payment/listHistoryEx", {"ListBasicModel": {"ID": NOBODY}, "GMT": 99}, ("GMT", 5)),
        ("report/drawer", {"AgentID": "x"}, ("AgentID", 2)),
    ],
)
def test_a_system_user_is_not_asked_for_an_account_that_another_field_replaces(
    shop: Shop, path: str, body: dict[str, Any], expected: tuple[str, int]
) -> None:
    assert shop.post(f"/api/v1/{path}", body, SYSTEM).findings == [expected]


WITH_BODY = [row for row in ROWS if endpoint_of(row).method == "POST" and not endpoint_of(row).public]


@pytest.mark.parametrize("row", [row for row in WITH_BODY if endpoint_of(row).body], ids=lambda row: row.name)
@pytest.mark.parametrize("role", ["system", "agent", "another merchant's administrator"])
def test_the_role_and_the_path_are_judged_before_faults_and_nothing_is_written(stage: str, row: Row, role: str) -> None:
    world = a_world(stage, role)
    answer, parts, body = row.answers[ROLES.index(role)], row.parts(world), {**row.body(world), "GMT": 99}
    comes_first = answer in {ROLE_MAY_NOT, MERCHANT} or (answer == TRANSACTION and parts)

    with store_calls() as calls:
        reply = send(world, fixed(row, parts, body), world.caller.basic)

    assert reply.error == (answer if comes_first else (400, 202))
    assert calls.count("BatchGetItem") == (2 if row.endpoint == "management_update_agents" and not comes_first else 1)
    assert {*calls[calls.index("BatchGetItem") :]} <= {"BatchGetItem", "GetItem"}


RULED = [one for one in models_of(RuledRequest) if issubclass(one, RuledRequest) and one.RULES]


@pytest.mark.parametrize("model", RULED, ids=lambda one: one.__name__)
def test_the_part_of_a_request_for_a_rule_has_each_field_that_the_rule_needs(model: type[RuledRequest]) -> None:
    for rule in model.RULES:
        names = {path.partition(".")[0].removesuffix("*") for path in rule.needed}

        assert names <= model.model_fields.keys()
        assert part_of(model, rule.needed).model_fields.keys() == model.model_fields.keys()
