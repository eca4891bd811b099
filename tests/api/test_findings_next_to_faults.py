"""Each finding about several fields or a reference stays, whatever other field of a complete request is wrong."""

import copy
from typing import Any

import pytest

from tests.api.test_every_field_is_checked import REQUESTS, WRONG, WRONG_IN, whole
from tests.support.cards import CHIP_STRIPE, STEADY
from tests.support.complete_requests import EVERYTHING
from tests.support.http import SYSTEM, post
from tests.support.spec_checks import leaves, paths, put_at
from tests.support.transactions import a_body, a_guid

Case = tuple[str, dict[str, Any], tuple[str, int], tuple[str, ...]]

MERCHANT = "/api/v1/merchant/{merchantId}"
CREATE_POS, UPDATE_POS, BULK = (f"{MERCHANT}/pos/{name}" for name in ("create", "{posId}/update", "updatebulk"))
TERMINAL, PRICES = "/api/v1/terminal/create", f"{MERCHANT}/pricelist/update"
SUBMIT, PREPARE, REVERSE, CNP, HISTORY, DAYS, CARDS = (
    f"/api/v1/payment/{name}"
    for name in ("submit", "prepare", "reverse", "reversecnp", "listHistoryEx", "listByDaysEx", "GetLinkedCards")
)
TAKINGS, EXPORT, DRAWER = (f"/api/v1/report/{name}" for name in ("takings", "export", "drawer"))
BACKWARDS = {"Period": {"From": "2026-03-02", "To": "2026-03-01"}}
BASIC, BACK, PRINTER, CARD = "BasicTran", "BasicReverseTran", "PrinterAndTaxSettings", "Card.CardDataInput"
LINE = f"{BASIC}.AuxDataInput.AuxData.Purchases[0]"
ONLINE = {f"{BASIC}.OfflineTran": {"OfflineMode": False}, "TerminalGroupCode": None, f"{BASIC}.TerminalGroupCode": None}
KEYED = ONLINE | {
    f"{BASIC}.InputType": 1,
    f"{BASIC}.AmountCashGot": None,
    "AcqTran.AcquirerCode": "SANDBOX",
    "Card": {"CardInputMode": 1, "CardDataInput": {"PAN": STEADY, "EXP": "1249", "CVV2": "123"}},
}
LINKED = {f"{BASIC}.InputType": 5, "Card": {"CardInputMode": 2, "LinkedCardId": 999}}
SWIPED = {f"{BASIC}.InputType": 2, "Card": {"CardDataInput": {"ReaderData": CHIP_STRIPE}}}
PAID = {f"{BACK}.TransactionID": "{paid}", "Card": None, f"{BACK}.AuxDataInput": None}
TOO_MANY = {"Emails": [f"a{n}@b.example" for n in range(3)], "Phones": [f"+2782987654{n}" for n in range(3)]}
SCANNER, HOME = "MobileSettings.BarcodeScanner", "MobileSettings.MobHomeURL"
RIGHTS, SOUGHT, PRIVATE = "BranchesActions[0]", "ListBasicModel.AccountID", {"Url": "https://10.0.0.1/x"}
NOBODY = "00000000-0000-4000-8000-000000000000"
TO_COME = {"Format": "hledger", "Period": {"From": "2099-03-02", "To": "2099-03-03"}}


def case(path: str, values: dict[str, Any], field: str, code: int, *needed: str) -> Case:
    """Return a request with these values, its finding, and the other fields that the finding needs."""
    return path, values, (field, code), needed


CASES = [
    *(
        case(p, {"MobileSettings.Features.BarcodeScanner": False}, SCANNER, 12)
        for p in (f"{MERCHANT}/update", CREATE_POS)
    ),
    case("/api/v1/merchant/create", {"MobileSettings.Features.BarcodeScanner": False}, SCANNER, 12),
    case(f"{MERCHANT}/update", {f"{HOME}Null": True}, f"{HOME}Null", 12, HOME),
    case(f"{MERCHANT}/update", {"ID": 5}, "ID", 10),
    case(UPDATE_POS, {"ID": 5}, "ID", 10),
    case(CREATE_POS, {"ClientID": 5}, "ClientID", 10),
    case(CREATE_POS, {"BranchID": 5}, "BranchID", 565),
    *(case(p, {"TerminalID": 5}, "TerminalID", 562) for p in (CREATE_POS, UPDATE_POS)),
    *(case(p, {"TID": "none"}, "TID", 562) for p in (CREATE_POS, UPDATE_POS)),
    *(case(p, {"Email": SYSTEM[0]}, "Email", 307) for p in (CREATE_POS, UPDATE_POS)),
    *(case(p, {f"{PRINTER}.PrinterID": 77}, f"{PRINTER}.PrinterID", 564) for p in (CREATE_POS, UPDATE_POS)),
    case(CREATE_POS, {f"{PRINTER}.PrinterID": 2}, f"{PRINTER}.PrinterCode", 12),
    *(case(path, {f"{RIGHTS}.BranchID": 5}, f"{RIGHTS}.BranchID", 565) for path in (CREATE_POS, UPDATE_POS)),
    case(UPDATE_POS, {"Unlock": True, "State": 0}, "Unlock", 12),
    case(UPDATE_POS, {"PhoneNull": True}, "PhoneNull", 12, "Phone"),
    case(UPDATE_POS, {"TIDNull": True}, "TIDNull", 12, "TID", "TerminalID"),
    case(BULK, {"PosBulk[0].Email": "no@one.example"}, "no@one.example", 563),
    case(BULK, {f"PosBulk[0].{PRINTER}.PrinterID": 77}, "77", 564),
    case(BULK, {"PosBulk[0].BranchesActions[0].BranchID": 5}, "PosBulk[0].BranchesActions[0].BranchID", 565),
    case(TERMINAL, {"BranchID": 5}, "BranchID", 565),
    case(TERMINAL, {"TerminalGroupID": 999}, "TerminalGroupID", 569, "BranchID"),
    case(TERMINAL, {"TerminalGroupCode": "x"}, "TerminalGroupCode", 569, "BranchID"),
    case(TERMINAL, {"TerminalGroupID": 1}, "TerminalGroupCode", 12, "BranchID"),
    case(TERMINAL, {"Name": "SHOP0001"}, "Name", 308, "BranchID"),
    case(TERMINAL, {"RegionCode": "XX"}, "RegionCode", 6, "Country"),
    case(PRICES, {"Items[0].TaxCode": "none"}, "Items[0].TaxCode", 6, "Taxes[0].Code"),
    case(PRICES, {"TypedTaxCode": "none"}, "TypedTaxCode", 6, "Taxes[0].Code"),
    *(case(f"{MERCHANT}/webhook/{one}", PRIVATE, "Url", 3) for one in ("create", "{webhookId}/update")),
    case(f"{MERCHANT}/event/{{eventId}}/resend", {"WebhookID": 77}, "WebhookID", 570),
    case(SUBMIT, ONLINE | {"TerminalGroupID": 999}, "TerminalGroupID", 12, f"{BASIC}.TerminalGroupID"),
    case(SUBMIT, ONLINE | {f"{BASIC}.TerminalGroupCode": "x"}, f"{BASIC}.TerminalGroupCode", 569),
    case(SUBMIT, ONLINE | {f"{BASIC}.CurrencyID": "EUR"}, f"{BASIC}.CurrencyID", 12, f"{BASIC}.InputType"),
    case(SUBMIT, ONLINE | {"Files[1].FileType": "PHOTO"}, "Files", 11),
    case(SUBMIT, ONLINE | {"AcqTran.AcquirerCode": "CREDIT"}, "AcqTran.AcquirerCode", 12, f"{BASIC}.InputType"),
    *(
        case(SUBMIT, ONLINE | values, field, code, f"{BASIC}.InputType", f"{BASIC}.Amount", f"{BASIC}.CurrencyID", LINE)
        for values, field, code in (
            ({f"{BASIC}.AmountCashGot": 1}, f"{BASIC}.AmountCashGot", 12),
            ({f"{BASIC}.AmountCashGot": "20.001"}, f"{BASIC}.AmountCashGot", 7),
            ({f"{BASIC}.Amount": 99, f"{BASIC}.AmountCashGot": 100}, f"{BASIC}.Amount", 12),
            ({f"{BASIC}.Amount": "1.234"}, f"{BASIC}.Amount", 7),
            ({f"{LINE}.Discount": "99"}, f"{LINE}.Discount", 5),
        )
    ),
    *(
        case(SUBMIT, KEYED | values, field, code, f"{BASIC}.InputType", "Card")
        for values, field, code in (
            ({f"{CARD}.PAN": "4242424242424241"}, f"{CARD}.PAN", 8),
            ({f"{CARD}.EXP": "0101"}, f"{CARD}.EXP", 9),
            ({"Card.CardInputMode": 2}, "Card.CardInputMode", 12),
            ({"AcqTran.AcquirerCode": "CASH"}, "AcqTran.AcquirerCode", 12),
            ({"AcqTran.AcquirerCode": "NOBODY"}, "AcqTran.AcquirerCode", 6),
            ({f"{BASIC}.OfflineTran.OfflineMode": True}, f"{BASIC}.OfflineTran.OfflineMode", 12),
            (SWIPED | {"AcqTran.AllowSwipeOverChip": False}, "AcqTran.AllowSwipeOverChip", 12),
            (LINKED, "Card.LinkedCardId", 566),
        )
    ),
    case(PREPARE, {"PrepareFields[1].Name": "AmountClient"}, "PrepareFields[1].Name", 11, "PrepareFields[0].Name"),
    case(PREPARE, {"ProductDescCode": "none"}, "ProductDescCode", 567),
    *(
        case(path, BACKWARDS, "Period.From", 12)
        for path in (HISTORY, DAYS, EXPORT, TAKINGS, f"{DRAWER}/list", f"{MERCHANT}/event/list")
    ),
    *(case(path, {SOUGHT: 999}, SOUGHT, 563) for path in (HISTORY, DAYS, EXPORT)),
    case(EXPORT, {"Format": "hledger", "Accounts.Sales": "Sales  ;"}, "Accounts.Sales", 3),
    case(EXPORT, {"Format": "hledger", "Period": None}, "Period", 1),
    case(EXPORT, TO_COME, "Period.To", 5),
    *(case(path, {"AccountID": 999}, "AccountID", 563) for path in (TAKINGS, f"{DRAWER}/list")),
    case(CARDS, {"AccountId": 999}, "AccountId", 563),
    case(DRAWER, {"AgentID": 999}, "AgentID", 563),
    case(DRAWER, {"Action": "open", "Float": None}, "Float", 1),
    *(case(path, {f"{BACK}.TransactionID": NOBODY}, f"{BACK}.TransactionID", 568) for path in (REVERSE, CNP)),
    *(
        case(REVERSE, PAID | values, field, code, f"{BACK}.Amount", f"{BACK}.PartialReverse", f"{BACK}.InputType")
        for values, field, code in (
            ({f"{BACK}.CurrencyID": "EUR"}, f"{BACK}.CurrencyID", 12),
            ({f"{BACK}.InputType": 1}, f"{BACK}.InputType", 12),
            ({"AcqTran.AcquirerCode": "CREDIT"}, "AcqTran.AcquirerCode", 12),
            ({f"{BACK}.Amount": "1.234"}, f"{BACK}.Amount", 7),
            ({f"{BACK}.Amount": None, f"{BACK}.PartialReverse": True}, f"{BACK}.Amount", 1),
            ({f"{BACK}.Amount": "1.00", f"{BACK}.PartialReverse": False}, f"{BACK}.Amount", 12),
            ({"Card": {"CardDataInput": {"PAN": STEADY, "EXP": "1249"}}}, "Card", 12),
        )
    ),
    case(REVERSE, {"Receipt": TOO_MANY}, "Receipt", 4),
]


def prepared(stage: str, one: Case) -> tuple[Any, dict[str, Any], list[tuple[str, Any]]]:
    """Return how to send the case's request, its body, and each unrelated field with a wrong value."""
    path, values, finding, needed = one
    send, body = whole(stage, path)
    if path in EVERYTHING:
        body["CurrentAccountID"] = None
        body.get("ListBasicModel", {}).pop("AccountID", None)
    for field, value in values.items():
        paid = post(stage, SUBMIT, a_body()).body["TransactionID"] if value == "{paid}" else None
        put_at(body, field, paid or copy.deepcopy(value))
    related = [*values, finding[0], *needed]
    kinds = {name: kind for name, kind, _ in paths(REQUESTS[path])}
    others = [name for name in leaves(REQUESTS[path]) if not any(_touches(name, one) for one in related)]
    wrong = [(name, WRONG_IN[name] if name in WRONG_IN else WRONG.get(kinds[name])) for name in others]
    return send, body, [(name, value) for name, value in wrong if value is not None]


def _touches(one: str, other: str) -> bool:
    return one == other or one.startswith((f"{other}.", f"{other}[")) or other.startswith((f"{one}.", f"{one}["))


def spoilt(body: dict[str, Any], *wrong: tuple[str, Any]) -> dict[str, Any]:
    body = copy.deepcopy(body)
    for name, value in wrong:
        put_at(body, name, value)
    return body


EACH = pytest.mark.parametrize("one", CASES, ids=lambda one: f"{one[0]} {one[2][0]} {one[2][1]}")


@EACH
def test_a_finding_stays_when_every_other_field_is_wrong(stage: str, one: Case) -> None:
    send, body, wrong = prepared(stage, one)
    alone, beside = send(body), send(spoilt(body, *wrong))

    assert one[2] in alone.findings, alone.text
    assert one[2] in beside.findings, beside.text
    assert len(beside.findings) > len(alone.findings)


@pytest.mark.slow
@EACH
def test_a_finding_stays_next_to_other_faults_in_groups(stage: str, one: Case) -> None:
    """Any two fields are apart in some group: a field that hides the finding is found, though another may save it."""
    send, body, wrong = prepared(stage, one)
    groups = [
        [fault for number, fault in enumerate(wrong) if number >> bit & 1 == half]
        for bit in range(len(wrong).bit_length())
        for half in (0, 1)
    ]
    lost = [group for group in groups if one[2] not in send(spoilt(body, *group)).findings]

    assert lost == []


def test_entries_of_a_price_list_are_judged_next_to_entries_that_cannot_be_read(shop: Any) -> None:
    item = {"Code": "tea", "Title": "Tea", "Barcode": "6001240100011", "TaxCode": "NONE", "Price": "1.234"}
    wrong = {"Code": 5, "Title": " ", "Barcode": "123", "TaxCode": 5, "Price": "x"}
    taxes = [{"Code": "VAT", "Name": "VAT", "Rate": 15}, {"Code": "vat", "Name": "\t", "Rate": 1}]
    body = {"Version": 0, "Taxes": taxes, "TypedTaxCode": 5, "Items": [wrong, item, item]}
    reply = shop.post(f"{shop.path}/pricelist/update", body)

    expected = {("TypedTaxCode", 2), ("Taxes[1].Name", 5), ("Taxes[1].Code", 11), ("Items[2].Code", 11)}
    expected |= {("Items[2].Barcode", 11), *((f"Items[{n}].TaxCode", 6) for n in (1, 2))}
    expected |= {(f"Items[{n}].Price", 7) for n in (1, 2)}
    expected |= {("Items[0].Code", 2), ("Items[0].Title", 5), ("Items[0].Barcode", 3), ("Items[0].TaxCode", 2)}
    assert set(reply.findings) == expected | {("Items[0].Price", 3)}
    assert len(reply.findings) == len(set(reply.findings))


def test_a_batch_next_to_a_fault_changes_nothing_and_logs_no_address(
    shop: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    agent, email = shop.agent(), f"{a_guid().lower()}@b.example"
    items = [{"Email": agent["Email"], "State": 0}, *({"Email": email} for _ in range(99))]
    capsys.readouterr()
    reply = shop.post(f"{shop.path}/pos/updatebulk", {"PosBulk": items, "GMT": 99, "Lang": 5})

    assert reply.error == (400, 202)
    assert reply.findings[:3] == [("GMT", 5), ("Lang", 2), (email, 563)]
    assert len(reply.findings) == 2 + 99 + 98
    assert shop.shown(agent["ID"])["State"] == 1
    assert email not in capsys.readouterr().out
