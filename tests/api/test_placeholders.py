"""Placeholders of tills refuse no payment; a field in other capitals does; messages are for people."""

import json
import re
from decimal import Decimal
from functools import cache
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from tests.support import events
from tests.support.builders import PASSWORD, Shop, agent_body, an_email, merchant_body, terminal_body
from tests.support.cards import a_card_body
from tests.support.http import OWNER, SYSTEM, TILL, TILL_BY_KEY, Reply, get
from tests.support.http import post as send
from tests.support.receipts import messages
from tests.support.transactions import a_body, a_guid

SUBMIT, LIST, REVERSE, CARDS = (
    f"/api/v1/payment/{name}" for name in ("submit", "listHistoryEx", "reverse", "GetLinkedCards")
)
PREPARE, TAKINGS = "/api/v1/payment/prepare", "/api/v1/report/takings"
UPDATE = "/api/v1/merchant/1/pos/3/update"  # of the demo till
SESSION = "/api/v1/user/login/session"
EMPTY_PLACE = {"Latitude": None, "Longitude": None}


@cache
def documented(stage: str, path: str) -> Any:
    """Return the validator of the bodies of a path, by the document that the stage serves."""
    document = json.loads(get(stage, "/api/v1/openapi.json", None).text)
    template = next(
        one
        for one in document["paths"]
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", one), path) and "post" in document["paths"][one]
    )
    schema = document["paths"][template]["post"]["requestBody"]["content"]["application/json"]["schema"]
    return jsonschema.Draft202012Validator(schema | {"components": document["components"]})


def post(stage: str, path: str, body: Any, login: tuple[str, str] | None = TILL_BY_KEY) -> Reply:
    """Send a request. What the service takes, its document takes."""
    reply = send(stage, path, body, login)
    if reply.status == 200 and not reply.findings:
        plain = json.loads(json.dumps(body))
        assert [error.message for error in documented(stage, path).iter_errors(plain)] == []
    return reply


@pytest.mark.parametrize(
    "part",
    [
        {"CurrentAccountID": 0},
        {"Location": EMPTY_PLACE},
        {"Location": {}},
        {"Location": EMPTY_PLACE | {"Accuracy": 0}},
        {"Location": {"Latitude": "", "Longitude": ""}},
        {"Location": {"Latitude": "", "Longitude": None}},
        {"Receipt": {"Emails": [None, "", " \t"], "Phones": [None, "", "\u00a0"], "Email": " ", "Phone": "\n"}},
        {"Receipt": {"Email": " a@b.example\u00a0", "Emails": ["\tc@b.example\r\n"], "Phone": " +27829876543 "}},
        {"CountryCode": " ZA\r\n", "Receipt": {"Phone": "082 987 6543"}},
        {"location": {}, "id": None, "lang": ""},
        {"DeviceInfo": {"os": "", "OS": ""}},
        {"Card": {"CardInputMode": 0, "LinkedCardId": 0, "CardDataInput": {"PAN": "", "EXP": "", "CVV2": ""}}},
        {"Receipt": {"Emails": ["", None], "Phones": [""], "RetryNum": 0}},
        {"Country": "", "CountryCode": "", "IP": "", "Lang": "", "AppFramework": ""},
        {"DeviceInfo": {"DeviceID": "", "OS": ""}},
        {"Receipt": {"Email": "", "Phone": "", "Emails": [], "Phones": []}},
        {"Receipt": None, "Card": None, "Files": None, "TaxesModel": None},
        {"TerminalGroupID": 0, "TerminalGroupCode": "", "ClientProductCode": "", "UserAgent": ""},
        {"TaxesModel": {"Taxes": [], "Code": ""}},
        {"AcqTran": {"AcquirerCode": "", "ExternalTerminalID": "", "AdditionalAcquiringFields": ""}},
    ],
)
def test_a_placeholder_refuses_no_payment(stage: str, part: dict[str, Any]) -> None:
    reply = post(stage, SUBMIT, {**a_body(), **part})

    assert reply.error == (200, 0), reply.text


@pytest.mark.parametrize(
    "basic",
    [
        {"AmountCashGot": 0},
        {"AmountCashGot": "0.00"},
        {"AmountCashGot": "-0"},
        {"AmountCashGot": ""},
        {"id": "", "extID": ""},
        {"ID": ""},
        {"ExtID": "", "Description": "", "ServiceID": "", "ExtTransData": "", "ClientDateTime": ""},
        {"OfflineTran": {"OfflineMode": False, "Invoice": "", "Paid": "", "OfflineLocation": EMPTY_PLACE}},
        {"CurrencyID": ""},
    ],
)
def test_a_placeholder_in_the_payment_refuses_it_not(stage: str, basic: dict[str, Any]) -> None:
    reply = post(stage, SUBMIT, a_body(**basic))

    assert reply.error == (200, 0), reply.text
    assert reply.body["Transaction"]["AmountCashGot"] == Decimal("12.30")


def test_an_empty_period_is_none(stage: str) -> None:
    model: dict[str, Any] = {
        "Search": "",
        "ID": "",
        "ExtID": "",
        "Sort": "",
        "Invoice": "",
        "RRN": "",
        "AcquirerCode": "",
    }
    model |= {"AccountID": 0, "InputType": 0, "Page": 0}
    reply = post(stage, LIST, {"Period": {"From": "", "To": ""}, "ListBasicModel": model}, OWNER)

    assert reply.error == (200, 0), reply.text


def test_a_zero_in_a_filter_is_none(stage: str) -> None:
    everything = post(stage, LIST, {"ListBasicModel": {}}, OWNER).body["TransactionsCounters"]
    filtered = post(stage, LIST, {"ListBasicModel": {"AccountID": 0, "InputType": 0, "Page": 0}}, OWNER)

    assert filtered.error == (200, 0), filtered.text
    assert filtered.body["TransactionsCounters"] == everything
    assert post(stage, CARDS, {"AccountId": 0}).body["LinkedCards"] == post(stage, CARDS, {}).body["LinkedCards"] != []


def test_placeholders_of_a_reversal_refuse_it_not(stage: str) -> None:
    paid = post(stage, SUBMIT, a_body()).body["TransactionID"]
    basic = {"TransactionID": paid, "ReverseMode": 2, "ID": "", "ClientDateTime": "", "CurrencyId": "", "InputType": 0}
    body = {"BasicReverseTran": basic, "CurrentAccountID": 0, "Location": EMPTY_PLACE, "Receipt": {"Email": ""}}

    assert post(stage, REVERSE, body).error == (200, 0)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"basicTran": {}}, "basicTran"),
        ({"BasicTran": {"id": a_guid()}}, "BasicTran.id"),
        ({"BasicTran": {"amount": 5}}, "BasicTran.amount"),
        ({"BasicTran": {"Extid": "A-1"}}, "BasicTran.Extid"),
        ({"BasicTran": {"CURRENCYID": "ZAR"}}, "BasicTran.CURRENCYID"),
        ({"BasicTran": {"AuxDataInput": {"AuxData": {"purchases": []}}}}, "BasicTran.AuxDataInput.AuxData.purchases"),
        ({"receipt": {"Email": "a@shop.example"}}, "receipt"),
        ({"DeviceInfo": {"Os": "x"}}, "DeviceInfo.Os"),
        ({"Location": {"latitude": 5}}, "Location.latitude"),
    ],
)
def test_a_known_field_in_other_capitals_is_refused(stage: str, body: dict[str, Any], path: str) -> None:
    whole = a_body()
    sent = {**whole, **body, "BasicTran": {**whole["BasicTran"], **body.get("BasicTran", {})}}
    if "basicTran" in body:
        del sent["BasicTran"]
    reply = post(stage, SUBMIT, sent)

    assert reply.error == (400, 202)
    assert (path, 13) in reply.findings


def test_a_field_in_right_and_other_capitals_is_refused(stage: str) -> None:
    assert post(stage, SUBMIT, a_body(id=a_guid())).findings == [("BasicTran.id", 13)]


@pytest.mark.parametrize(
    ("path", "body", "login", "error"),
    [
        (SUBMIT, {"BasicTran": {"ExtTranData": "{"}}, TILL, (400, 202, ("BasicTran.ExtTranData", 3))),
        (SUBMIT, {"BasicTran": {"CurrencyId": "USD"}}, TILL, (400, 202, ("BasicTran.CurrencyId", 12))),
        (
            SUBMIT,
            {"BasicTran": {"InputType": 5}, "Card": {"LinkedCardID": 9}},
            TILL,
            (404, 566, ("Card.LinkedCardID", 566)),
        ),
        (CARDS, {"AccountID": 10**9}, OWNER, (404, 563, ("AccountID", 563))),
        (LIST, {"ListBasicModel": {"AccountID": 10**9}}, SYSTEM, (404, 563, ("ListBasicModel.AccountID", 563))),
        (TAKINGS, {"AccountID": 10**9}, OWNER, (404, 563, ("AccountID", 563))),
        (PREPARE, {"PrepareFields": [], "ProductDescCode": "x"}, TILL, (404, 567, ("ProductDescCode", 567))),
        (
            REVERSE,
            {"BasicReverseTran": {"TransactionID": a_guid(), "ReverseMode": 2}},
            TILL,
            (404, 568, ("BasicReverseTran.TransactionID", 568)),
        ),
        (UPDATE, {"Email": OWNER[0]}, OWNER, (409, 307, ("Email", 307))),
        (UPDATE, {"Unlock": True, "State": 0}, OWNER, (400, 202, ("Unlock", 12))),
        (
            UPDATE,
            {"MobileSettings": {"MobHomeUrl": "https://a.example", "MobHomeURLNull": True}},
            OWNER,
            (400, 202, ("MobileSettings.MobHomeURLNull", 12)),
        ),
    ],
)
def test_a_finding_names_the_field_as_it_was_sent(
    stage: str, path: str, body: dict[str, Any], login: tuple[str, str], error: tuple[Any, ...]
) -> None:
    whole = {"AcqTran": {}, "BasicTran": {"InputType": 10, "Amount": 1}} if path == SUBMIT else {}
    sent = whole | body | ({"BasicTran": whole["BasicTran"] | body["BasicTran"]} if whole else {})
    reply = post(stage, path, sent, login)

    assert (*reply.error, *reply.findings) == error


def test_both_spellings_the_specification_shows_stay_good(stage: str) -> None:
    body = a_body(ExtTranData='{"a": 1}', CurrencyId="ZAR")
    del body["BasicTran"]["CurrencyID"]

    assert post(stage, SUBMIT, body).body["Transaction"]["ExtTranData"] == '{"a": 1}'


def test_unknown_fields_are_ignored(stage: str) -> None:
    assert post(stage, SUBMIT, {**a_body(Colour="red"), "Whatever": {"ID": 1}}).error == (200, 0)


def test_a_receipts_phone_is_read_with_the_country_of_the_request(stage: str) -> None:
    body = {**a_body(), "CountryCode": "ZA", "Receipt": {"Phone": "082 987 6543", "RetryNum": 99}}
    reply = post(stage, SUBMIT, body)

    assert reply.error == (200, 0), reply.text
    assert reply.body["Transaction"]["ReceiptPhone"] == "+27829876543"
    events.deliver_all()
    assert messages("+27829876543")
    for wrong in (27, ["ZA"], {"ID": "ZA"}, True):
        reply = post(stage, SUBMIT, {**body, "CountryCode": wrong})
        assert [field for field, _ in reply.findings] == ["CountryCode", "Receipt.Phone"], reply.text


def test_an_unknown_file_type_names_those_known(stage: str) -> None:
    reply = post(stage, SUBMIT, {**a_body(), "Files": [{"FileType": "VIDEO", "FileCode": "AAAA"}]})
    (item,) = [one for one in reply.body["Validations"] if one["Property"] == "Files[0].FileType"]

    assert item["Code"] == 6
    assert "PHOTO" in item["Message"]
    assert "SIGNATURE" in item["Message"]


@pytest.mark.parametrize(
    ("path", "body", "login"),
    [
        (SUBMIT, {"BasicTran": {"ID": "x", "InputType": "10", "CurrencyID": "rand", "Amount": True}}, TILL),
        (REVERSE, {"BasicReverseTran": {"ID": "x", "TransactionID": 1, "ReverseMode": "x", "CurrencyID": "r"}}, TILL),
        (LIST, {"ListBasicModel": {"ID": "x", "Sort": "up", "Page": -1, "Fiscal": 1}, "Period": 3, "GMT": 99}, OWNER),
        ("/api/v1/merchant/create", {}, SYSTEM),
        ("/api/v1/merchant/create", merchant_body(Phone="x", Location=1, ClientMode=9, Name="", GMT=99), SYSTEM),
        (
            "/api/v1/terminal/create",
            terminal_body(1, SIC="x", Currency="x", Country="x", Location="\u0416", RegionCode="!", EntryCaps="99"),
            OWNER,
        ),
        ("/api/v1/merchant/1/pos/create", {"Email": "x", "Phone": "y", "Password": 1, "BranchID": -1}, OWNER),
        ("/api/v1/merchant/1/pos/updatebulk", {"PosBulk": [{"Email": "x"}, 1, {"State": 5}]}, OWNER),
    ],
)
def test_messages_are_for_people(stage: str, path: str, body: dict[str, Any], login: tuple[str, str]) -> None:
    reply = post(stage, path, body, login)

    texts = [item["Message"] for item in reply.body["Validations"]]
    assert texts
    for text in texts:
        assert re.search(r"[\\^$\[\]{}]|Input should|pattern|pydantic|Decimal", text) is None, text
        assert text.endswith(".")


def test_the_message_for_a_secret_text_speaks_of_characters(stage: str) -> None:
    empty = post(stage, SESSION, {"Email": "", "Password": ""}, None)
    long = post(stage, SESSION, {"Email": "a@shop.example", "Password": "x" * 513}, None)

    assert [item["Message"] for item in empty.body["Validations"]] == ["It may not be empty."] * 2
    assert [item["Message"] for item in long.body["Validations"]] == ["At most 512 characters are expected."]


def test_a_deciding_name_at_a_wrong_place_charges_nothing(stage: str) -> None:
    refused = post(stage, SUBMIT, {**a_body(ID=None), "ID": a_guid()})

    assert (refused.error, refused.findings) == ((400, 202), [("ID", 13)])
    assert "BasicTran.ID" in refused.body["Validations"][0]["Message"]


def test_a_name_without_effect_has_a_warning_in_each_answer(stage: str) -> None:
    body = {**a_body(ID=a_guid(), Lang="af"), "Pos\ud800": {"Latitude": 1}}
    replies = [post(stage, SUBMIT, body) for _ in range(2)]
    declined = post(stage, SUBMIT, {**a_card_body("10.05"), "Email": "a@b.example"})

    for reply in replies:
        assert (reply.error, reply.findings) == ((200, 0), [("BasicTran.Lang", 14), ("Pos?.Latitude", 14)])
        assert {one["Type"] for one in reply.body["Validations"]} == {2}
    assert (declined.error, declined.findings) == ((200, 1005), [("Email", 14)])


def test_a_batch_refuses_the_item_with_a_field_that_it_does_not_change(shop: Shop) -> None:
    one, other = shop.agent(), shop.agent()
    items = [
        {"Email": one["Email"], "State": 0, "SecretKey": "a secret key of some length"},
        {"Email": other["Email"], "State": 0, "Lang": "en"},
    ]
    reply = shop.post(f"{shop.path}/pos/updatebulk", {"PosBulk": items})

    assert (reply.error, reply.findings) == ((200, 0), [("PosBulk[0].SecretKey", 13), ("PosBulk[1].Lang", 14)])
    paths = [f"{shop.path}/pos/{agent['ID']}" for agent in (one, other)]
    states = [get(shop.stage, path, shop.owner).body["Pos"]["State"] for path in paths]
    assert states == [1, 0]


@pytest.mark.parametrize(
    "path", ["/api/v1/merchant/create", "/api/v1/terminal/create", "/api/v1/merchant/1/pos/create"]
)
@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"CurrentAccountID": 999999, "ID": 1}', b'{"State": "1"}'])
def test_the_role_is_judged_whatever_the_body_holds(stage: str, path: str, body: bytes) -> None:
    assert post(stage, path, body).error == (403, 151)


def test_the_log_has_no_unknown_name(stage: str, capsys: pytest.CaptureFixture[str]) -> None:
    post(stage, SUBMIT, {**a_body(), "4242424242424242": {"ID": a_guid(), "Lang": "af"}})

    written = capsys.readouterr().out
    assert '"fields": ["ID", "Lang"]' in written
    assert "4242424242424242" not in written


BLANKS = " \t\r\n\u00a0"


def test_outer_blanks_are_no_part_of_addresses_names_of_terminals_codes_and_searches(shop: Shop) -> None:
    mid, tid, email = (f"{BLANKS}{text}{BLANKS}" for text in ("MID00042", "TILL42", an_email()))
    terminal = shop.terminal(Name=tid, BackRetailerID=mid, Phone=f"{BLANKS}+27829876543")
    agent = shop.agent(Email=email, TID=tid, Phone=f"+27829876543{BLANKS}")
    receipt = {"Email": f"{BLANKS}a@b.example", "Emails": [f"c@d.example{BLANKS}"], "Phone": BLANKS}
    login = post(shop.stage, SESSION, {"Email": email, "Password": PASSWORD}, None)
    body = {**a_body(), "AcqTran": {"AcquirerCode": f"{BLANKS}CASH{BLANKS}"}, "Receipt": receipt}
    paid = post(shop.stage, SUBMIT, body, (agent["Email"], PASSWORD))
    found = shop.post(f"{shop.path}/pos/list", {"Search": f"{BLANKS}{agent['Email']}{BLANKS}", "Email": email})
    terminals = shop.post(f"{shop.path}/terminal/list", {"Search": tid})

    assert (terminal["Name"], terminal["BackRetailerID"]) == ("TILL42", "MID00042")
    assert (agent["Email"], agent["TID"]) == (email.strip(), "TILL42")
    assert login.error == (200, 0)
    assert (paid.error, paid.findings) == ((200, 0), [])
    assert [one["ID"] for one in found.body["PosList"]] == [agent["ID"]]
    assert [one["ID"] for one in terminals.body["Terminals"]] == [terminal["ID"]]


@pytest.mark.parametrize(
    "name", [" ", "\u00a0\u2003", "\u200b", "\u2800", "\u3164", "\u0301", "a\x00b", "a\nb", "\x7fa", "a\u2028b"]
)
def test_a_name_has_a_visible_character_and_no_control_character(shop: Shop, name: str) -> None:
    agent = shop.post(f"{shop.path}/pos/create", agent_body(shop.id, Name=name))
    terminal = shop.post("/api/v1/terminal/create", terminal_body(shop.id, Title=name, Alias=name))
    price_list = {
        "Version": 0,
        "Taxes": [{"Code": "V", "Name": name, "Rate": 15}],
        "Items": [{"Code": "a", "Title": name}],
    }
    listed = shop.post(f"{shop.path}/pricelist/update", price_list)

    assert [path for path, _ in agent.findings] == ["Name"]
    assert {path for path, _ in terminal.findings} == {"Title", "Alias"}
    assert [path for path, _ in listed.findings] == ["Taxes[0].Name", "Items[0].Title"]


@pytest.mark.parametrize(
    "place", ["12 O\u2019Connor St \u2013 \u201cMall\u201d\u2026", "Cafe\u0301 N\u0303", "\u20ac \u2116 5 \u2022"]
)
def test_typographic_marks_and_combining_accents_are_latin(shop: Shop, place: str) -> None:
    assert shop.terminal(Location=place)["Location"] == place


@pytest.mark.parametrize("place", ["\u041a\u0435\u0439\u043f", "a\u202eb", "a\u2028b", "\u6771"])
def test_other_letters_and_marks_of_direction_are_not(shop: Shop, place: str) -> None:
    refused = shop.post("/api/v1/terminal/create", terminal_body(shop.id, Location=place))

    assert refused.findings == [("Location", 3)]


@pytest.mark.parametrize("place", [EMPTY_PLACE, {"Latitude": "", "Longitude": ""}, {}, None])
def test_an_empty_place_of_an_offline_sale_is_none(stage: str, place: Any) -> None:
    reply = post(stage, SUBMIT, a_body(OfflineTran={"OfflineMode": True, "OfflineLocation": place}))

    assert (reply.error, reply.findings) == ((200, 0), [])


@pytest.mark.parametrize("title", ["", " ", "\u200b"])
def test_the_title_of_a_line_is_visible_but_refuses_no_offline_sale(stage: str, title: str) -> None:
    lines = {"AuxData": {"Purchases": [{"Title": title, "Price": "12.30", "Quantity": 1}]}}
    refused = post(stage, SUBMIT, a_body(AuxDataInput=lines))
    sold = post(stage, SUBMIT, a_body(AuxDataInput=lines, OfflineTran={"OfflineMode": True}))

    path = "BasicTran.AuxDataInput.AuxData.Purchases[0].Title"
    assert (refused.error, refused.findings) == ((400, 202), [(path, 5)])
    assert (sold.error, sold.findings) == ((200, 0), [(path, 5)])
    assert sold.body["Validations"][0]["Type"] == 2
