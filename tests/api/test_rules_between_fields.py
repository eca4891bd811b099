"""A rule between fields is judged whenever its fields are readable, whatever else is wrong."""

from typing import Any

import pytest

from chalicelib.schemas.base import RuledRequest, models_of, part_of
from tests.support.builders import Shop, agent_body, merchant_body, terminal_body
from tests.support.transactions import a_body

LONG = ["x" * 513]  # no text: the fault next to a contradiction
TWO_SCANNERS = {"BarcodeScanner": True, "Features": {"BarcodeScanner": False, "AcceptCash": LONG}}
FAULT_OF_FEATURES = ("MobileSettings.Features.AcceptCash", 2)
LINES = {"AuxData": {"Purchases": [{"Title": "Tea", "Price": "10.00", "Quantity": 1, "Tags": LONG[0]}]}}
CHEAP = {"AuxData": {"Purchases": [{"Title": "Tea", "Price": 1, "Quantity": 1}]}}
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
            "{merchant}/pos/1/update",
            {"Name": 5, "Unlock": True, "State": 0, "PhoneNull": True, "Phone": PHONES[0], "TIDNull": True, "TID": "a"},
            {("Name", 2), ("Unlock", 12), ("PhoneNull", 12), ("TIDNull", 12)},
        ),
        (
            "{merchant}/pos/create",
            agent_body(1, MobileSettings=TWO_SCANNERS, Email="nobody"),
            {("Email", 3), FAULT_OF_FEATURES, ("MobileSettings.BarcodeScanner", 12)},
        ),
        (
            "terminal/create",
            terminal_body(1, SelfSevice="0", SelfService="1", Name=5),
            {("Name", 2), ("SelfService", 12)},
        ),
        ("{merchant}/pos/1/update", {"Name": 5, "PhoneNull": True, "Phone": 5}, {("Name", 2), ("Phone", 2)}),
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
            | {("Receipt.RetryNum", 2), ("Receipt", 4)},
        ),
    ],
)
def test_a_contradiction_is_named_next_to_other_faults(
    shop: Shop, path: str, body: dict[str, Any], expected: set[tuple[str, int]]
) -> None:
    reply = shop.post(f"/api/v1/{path}".replace("/api/v1/{merchant}", shop.path), body)

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
    offline = {"OfflineMode": True, "Invoice": 5}
    body = a_body(OfflineTran=offline) | {"Receipt": {"Emails": ["no address"], "Phones": PHONES + PHONES[:1]}}

    reply = shop.post("/api/v1/payment/submit", body)

    assert reply.findings == [("BasicTran.OfflineTran.Invoice", 2)]


RULED = [one for one in models_of(RuledRequest) if issubclass(one, RuledRequest) and one.RULES]


@pytest.mark.parametrize("model", RULED, ids=lambda one: one.__name__)
def test_the_part_of_a_request_for_a_rule_has_each_field_that_the_rule_needs(model: type[RuledRequest]) -> None:
    for rule in model.RULES:
        names = {path.partition(".")[0] for path in rule.needed}

        assert names <= model.model_fields.keys()
        assert part_of(model, rule.needed).model_fields.keys() == model.model_fields.keys()
