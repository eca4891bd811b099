"""A card number that a request repeats outside its card is masked before anything is stored."""

import json
from typing import Any

import pytest

from chalicelib.store.table import encode
from tests.support.cards import EXP, PAN, STEADY, TRACK2, chip_data
from tests.support.http import post
from tests.support.stored import stored_transaction
from tests.support.transactions import a_guid

SUBMIT = "/api/v1/payment/submit"
MASKED = f"{STEADY[:6]}******{STEADY[-4:]}"


def a_body(pan: str = STEADY, **data: Any) -> dict[str, Any]:
    line = {"Title": f"Gift for {pan}", "Price": 50, "Quantity": 2, "Tags": [{pan: [pan, int(pan)]}]}
    return {
        "BasicTran": {
            "ID": a_guid(),
            "InputType": 1,
            "CurrencyID": "ZAR",
            "Amount": 100,
            "Description": f"card {pan}, order 9876543210987654",
            "ExtTransData": json.dumps({"card": pan, "order": 9876543210987654}),
            "ServiceID": pan,
            "AuxDataInput": {"AuxData": {"Purchases": [line]}},
            "CPFData": {"ProductsCustomFields": [{"Fields": [{"FieldCode": "pan", "TextSelect": pan}]}]},
        },
        "AcqTran": {"AdditionalAcquiringFields": f"secret of the acquirer, {pan}"},
        "UserAgent": f"till/{pan}",
        "ClientProductCode": pan,
        "Card": {"CardInputMode": 1, "CardDataInput": {"PAN": pan, "EXP": EXP, "CVV2": "123", **data}},
    }


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"InputType": 2, "ReaderData": TRACK2.replace(PAN, STEADY), "PAN": None},
        {"InputType": 3, "ReaderData": chip_data(STEADY), "PAN": None},
    ],
)
def test_the_number_is_stored_nowhere_but_masked(stage: str, changes: dict[str, Any]) -> None:
    body = a_body()
    data = {**body["Card"]["CardDataInput"], **changes}
    input_type = data.pop("InputType", 1)
    body["Card"]["CardDataInput"] = {name: value for name, value in data.items() if value is not None}
    body["BasicTran"]["InputType"] = input_type
    reply = post(stage, SUBMIT, body)

    stored = stored_transaction(reply.body["TransactionID"])
    item = json.dumps(encode(stored))
    assert STEADY not in item
    assert STEADY not in reply.text
    assert stored.particulars.description == f"card {MASKED}, order 9876543210987654"
    assert "secret of the acquirer" not in item
    assert stored.particulars.client_product_code == MASKED
    assert stored.receipt.purchases[0].title == f"Gift for {MASKED}"


GROUPED = " ".join(STEADY[at : at + 4] for at in range(0, 16, 4))


@pytest.mark.parametrize(
    "data",
    [
        {"PAN": GROUPED},
        {"PAN": STEADY, "EXP": "nothing"},
        {"ReaderData": f"%B{STEADY}^DOE/J^2912101?"},
        {"ReaderData": f"%B{STEADY}^DOE/J^2912101?;{STEADY}=29121010000000000?"},
        {"ReaderData": f"5A 08 {GROUPED}"},
        {"ReaderData": f"{chip_data(STEADY)}zz"},
    ],
    ids=str,
)
@pytest.mark.parametrize("written", [STEADY, GROUPED, GROUPED.replace(" ", "-")])
def test_the_number_of_a_card_that_is_not_read_is_masked(stage: str, data: dict[str, str], written: str) -> None:
    basic = {"ID": a_guid(), "InputType": 9, "CurrencyID": "ZAR", "Amount": 10, "Description": f"paid by {written}."}
    reply = post(stage, SUBMIT, {"BasicTran": basic, "Card": {"CardDataInput": data}})
    assert reply.status == 200, reply.text

    stored = stored_transaction(reply.body["TransactionID"])
    assert stored.particulars.description == f"paid by {MASKED}."
    assert written not in json.dumps(encode(stored))


@pytest.mark.parametrize(
    "written",
    [
        "".join("⓪①②③④⑤⑥⑦⑧⑨"[int(digit)] for digit in STEADY),
        "  ".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in STEADY),
        "<b>".join(STEADY[at : at + 4] for at in range(0, 16, 4)),
        "&nbsp;".join(STEADY[at : at + 4] for at in range(0, 16, 4)),
        " . - . -".join(STEADY[at : at + 4] for at in range(0, 16, 4)),
    ],
)
def test_the_number_is_masked_in_any_spelling(stage: str, written: str) -> None:
    body = a_body()
    body["BasicTran"]["Description"] = f"card {written}."
    reply = post(stage, SUBMIT, body)

    assert reply.error == (200, 0), reply.text
    shown = reply.body["Transaction"]["Description"]
    assert shown.replace("<b>", "") == f"card {MASKED}."
    assert written not in json.dumps(encode(stored_transaction(reply.body["TransactionID"])), ensure_ascii=False)


def test_a_request_with_its_number_in_a_text_keeps_the_addresses_of_its_receipt(stage: str) -> None:
    body = {**a_body(), "Receipt": {"Email": "ann@home.example", "Phone": ""}}
    paid = post(stage, SUBMIT, body).body["TransactionID"]

    stored = stored_transaction(paid)
    assert (stored.particulars.receipt_email, stored.particulars.receipt_phone) == ("ann@home.example", None)
    assert stored.receipt.addresses is not None
    assert stored.receipt.addresses.all == ("ann@home.example",)


@pytest.mark.parametrize(
    "misplaced",
    [{"Card": {"PAN": STEADY}}, {"CardDataInput": {"pan": int(STEADY)}}, {"Card": {"Carddata": {"PAN": STEADY}}}],
)
def test_the_number_of_a_misplaced_card_field_is_masked(stage: str, misplaced: dict[str, Any]) -> None:
    basic = {"ID": a_guid(), "InputType": 10, "CurrencyID": "ZAR", "Amount": 1, "Description": f"card {STEADY}"}
    reply = post(stage, SUBMIT, {"BasicTran": {**basic, "ExtID": STEADY}, **misplaced})

    assert reply.error == (200, 0)
    assert STEADY not in reply.text
    assert STEADY not in json.dumps(encode(stored_transaction(reply.body["TransactionID"])))


def test_a_name_that_holds_a_number_is_not_answered(stage: str) -> None:
    basic = {"ID": a_guid(), "InputType": 10, "CurrencyID": "ZAR", "Amount": 1}
    reply = post(stage, SUBMIT, {"BasicTran": basic, f"zz{STEADY}": {"Latitude": 1}})

    assert reply.findings == [(f"zz{MASKED}.Latitude", 14)]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("{pan} CVV 937 exp 1235", "{masked} CVV *** exp 1235"),
        ("{pan} 937", "{masked} ***"),
        ("cvc2: 937, room 937", "cvc2: ***, room 937"),
        ("937 eggs", "937 eggs"),
        ("CVV 9371", "CVV 9371"),
    ],
)
def test_the_cvv2_of_the_card_is_hidden_beside_its_name_or_its_number(stage: str, written: str, kept: str) -> None:
    body = a_body(CVV2="937")
    body["BasicTran"]["Description"] = written.format(pan=STEADY)

    assert post(stage, SUBMIT, body).body["Transaction"]["Description"] == kept.format(masked=MASKED)


def test_the_data_of_a_reader_is_hidden_as_a_whole(stage: str) -> None:
    chip = chip_data(STEADY)
    body = a_body()
    body["Card"]["CardDataInput"] = {"ReaderData": chip}
    body["BasicTran"] |= {"InputType": 3, "Description": f"read {chip}!"}

    reply = post(stage, SUBMIT, body)
    assert reply.body["Transaction"]["Description"] == "read ******!"


def test_zeros_for_a_card_number_refuse_nothing(stage: str) -> None:
    basic = {"ID": a_guid(), "InputType": 10, "CurrencyID": "ZAR", "Amount": "10.00"}
    sent = json.dumps({"BasicTran": basic, "Card": {"CardDataInput": {"PAN": "0" * 12}}})

    assert post(stage, SUBMIT, sent.replace('"10.00"', "10.000000000000")).status == 200


def test_a_number_of_another_request_is_not_touched(stage: str) -> None:
    body = a_body()
    body["BasicTran"]["Description"] = f"order {PAN}"
    assert post(stage, SUBMIT, body).body["Transaction"]["Description"] == f"order {PAN}"


def test_the_number_of_a_refused_request_is_not_answered(stage: str) -> None:
    body = a_body()
    body["BasicTran"]["Amount"] = STEADY
    reply = post(stage, SUBMIT, body)

    assert reply.status == 400
    assert STEADY not in reply.text


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (f'{{"card":{STEADY},"order":9876543210987654}}', f'{{"card":"{MASKED}","order":9876543210987654}}'),
        (f'["{STEADY[:4]}\\u0020{STEADY[4:8]}\\u00a0{STEADY[8:]}", 1.50]', f'["{MASKED}",1.50]'),
        ('{"a":  1.50}', '{"a":  1.50}'),
        (f"[{STEADY[:4]},{STEADY[4:8]},{STEADY[8:]}]", f'"[{MASKED}]"'),
    ],
)
def test_json_in_a_text_remains_json_and_as_it_was_without_a_number(stage: str, sent: str, kept: str) -> None:
    body = a_body()
    body["BasicTran"]["ExtTransData"] = sent
    reply = post(stage, SUBMIT, body)

    assert reply.error == (200, 0), reply.text
    assert reply.body["Transaction"]["ExtTranData"] == kept


@pytest.mark.parametrize(
    "card",
    [
        {"CardDataInput": {"PAN": int(STEADY)}},
        {"CardDataInput": {"pan": STEADY, "EXP": 5}},
        {"cardDataInput": {"PAN": STEADY}},
    ],
)
def test_an_offline_sale_keeps_no_number_of_a_card_that_is_left_out(stage: str, card: dict[str, Any]) -> None:
    body = a_body()
    basic = {"InputType": 10, "Amount": "100.00", "ExtTransData": "{", "OfflineTran": {"OfflineMode": True}}
    reply = post(stage, SUBMIT, {**body, "BasicTran": {**body["BasicTran"], **basic}, "AcqTran": None, "Card": card})

    assert reply.error == (200, 0)
    assert {path for path, _ in reply.findings} > {"BasicTran.ExtTransData"}
    assert STEADY not in json.dumps(encode(stored_transaction(reply.body["TransactionID"])), default=str)


def test_a_card_payment_is_no_offline_sale_whatever_it_says(stage: str) -> None:
    body = a_body()
    body["BasicTran"]["OfflineTran"] = {"OfflineMode": True}
    body["Receipt"] = {"Email": "nobody"}

    assert ("Receipt.Email", 3) in post(stage, SUBMIT, body).findings
