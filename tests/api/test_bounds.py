"""Bounds: no input is rounded, no input makes a defect, no answer is larger than its request needs."""

import json
from typing import Any

import pytest

from chalicelib import exact_json
from chalicelib.errors import Check, ServiceError
from chalicelib.schemas.base import validated
from chalicelib.schemas.payments import SubmitPayment
from chalicelib.schemas.reversals import ReversePayment
from tests.support.http import OWNER, Reply, call, get, post
from tests.support.stored import stored_transaction
from tests.support.transactions import a_body, a_guid

SUBMIT, REVERSE = "/api/v1/payment/submit", "/api/v1/payment/reverse"


def submitted(stage: str, literal: str, **basic: Any) -> Reply:
    """A cash payment whose Amount is written exactly so."""
    body = json.dumps(a_body(Amount="AMOUNT", **basic), ensure_ascii=False).replace('"AMOUNT"', literal)
    return post(stage, SUBMIT, body.encode())


@pytest.mark.parametrize(
    ("amount", "code"),
    [
        ("0.0099999999999999999999999999", 7),
        ("0.00999999999999999999999999999999999", 5),
        ("12.3000000000000000000000000001", 7),
        ("1.0000000000000000000000000000000000000001", 5),
        ("1E-1000100", 5),
        ("1E+1000000", 5),
        ("1E31", 5),
        ("1E-31", 5),
        ("0E-999999", 5),
        ("0", 5),
        ("0.00", 5),
        ("-0.0", 5),
        ("-1E-30", 5),
        ('"\uff11\uff12.30"', 3),
        ('"\u0661\u0662"', 3),
        ('"1e1"', 3),
        ('" 12"', 3),
        ("9" * 41, 5),
        (f'"{"9" * 41}"', 5),
        (f'"{"9" * 30}"', 5),
        (f'"0.{"0" * 39}1"', 5),
        (f'"{"9" * 900_000}"', 5),
    ],
)
def test_an_amount_is_exact_or_refused(stage: str, amount: str, code: int) -> None:
    reply = submitted(stage, amount)

    assert reply.error == (400, 202), reply.text
    assert reply.findings == [("BasicTran.Amount", code)]


@pytest.mark.parametrize(("amount", "shown"), [("12.300000000000000000000000000000", "12.30"), ("123E-1", "12.30")])
def test_trailing_zeros_and_exponents_are_the_same_amount(stage: str, amount: str, shown: str) -> None:
    reply = submitted(stage, amount)

    assert reply.status == 200, reply.text
    assert f'"Amount":{shown},' in reply.text


@pytest.mark.parametrize("amount", ["1E+1000000", "1E-1000100", "0E-999999", "0", "9" * 45])
@pytest.mark.parametrize("extra", [{}, {"ClientDateTime": "2026-11-21T10:00:00"}, {"ID": a_guid()}])
def test_an_absurd_amount_to_reverse_is_a_validation(stage: str, amount: str, extra: dict[str, str]) -> None:
    payment = post(stage, SUBMIT, a_body()).body["TransactionID"]
    basic = {"TransactionID": payment, "ReverseMode": 2, "Amount": "AMOUNT", **extra}
    body = json.dumps({"BasicReverseTran": basic}).replace('"AMOUNT"', amount)

    reply = post(stage, REVERSE, body)

    assert reply.findings == [("BasicReverseTran.Amount", 5)], reply.text
    (shown,) = get(stage, f"/api/v1/payment/{payment}").body["Transactions"]
    assert (shown["CountRvs"], shown["CanCancel"]) == (0, True)


def test_an_absurd_amount_under_a_used_id_is_a_validation(stage: str) -> None:
    name = a_guid()
    assert submitted(stage, "12.30", ID=name).status == 200

    assert submitted(stage, "1E+1000000", ID=name).findings == [("BasicTran.Amount", 5)]


@pytest.mark.parametrize("field", ["Price", "Quantity"])
@pytest.mark.parametrize("number", ["0E-999999", "1E-400", "1E400", "0.1E-29"])
def test_an_absurd_price_is_a_short_validation(stage: str, field: str, number: str) -> None:
    line = {"Title": "Tea", "Price": 12.3, "Quantity": 1, field: "NUMBER"}
    body = json.dumps(a_body(AuxDataInput={"AuxData": {"Purchases": [line]}})).replace('"NUMBER"', number)
    reply = post(stage, SUBMIT, body)

    assert reply.error in {(400, 202), (200, 0)}, reply.text
    assert len(reply.text) < 5000


def test_an_absurd_place_is_a_validation(stage: str) -> None:
    body = json.dumps({**a_body(), "Location": {"Latitude": "NUMBER", "Longitude": 1}}).replace('"NUMBER"', "1E-999999")

    assert post(stage, SUBMIT, body).error == (400, 202)


@pytest.mark.parametrize("depth", [65, 500, 954, 959, 990, 5000])
def test_a_deep_body_is_malformed(stage: str, depth: int) -> None:
    line = '{"Title": "Tea", "Price": 12.3, "Quantity": 1, "Tags": ' + "[" * depth + "]" * depth + "}"
    body = json.dumps(a_body(AuxDataInput={"AuxData": {"Purchases": ["LINE"]}})).replace('"LINE"', line)

    assert post(stage, SUBMIT, body).error == (400, 201)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32-le", "latin-1"])
@pytest.mark.parametrize("depth", [1, 100, 955])
def test_json_is_utf_8(stage: str, encoding: str, depth: int) -> None:
    line = {"Title": "caf\u00e9", "Price": 12.3, "Quantity": 1, "\u0122" if encoding != "latin-1" else "n": 1}
    text = json.dumps(a_body(AuxDataInput={"AuxData": {"Purchases": [{**line, "Tags": "TAGS"}]}}), ensure_ascii=False)
    body = text.replace('"TAGS"', "[" * depth + "]" * depth).encode(encoding)

    assert post(stage, SUBMIT, body).error == (400, 201)


def test_quotes_without_an_end_are_malformed_at_once(stage: str) -> None:
    assert post(stage, SUBMIT, '{"a":' + "[" * 70 + '"' + '\\"' * 200_000).error == (400, 201)


def test_brackets_in_a_text_are_no_depth(stage: str) -> None:
    assert post(stage, SUBMIT, a_body(Description="[{" * 400 + '\\" ]')).status == 200


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "[NaN]", '{"a": -Infinity}'])
def test_nan_is_not_json(stage: str, value: str) -> None:
    assert post(stage, SUBMIT, a_body(ExtTransData=value)).findings == [("BasicTran.ExtTransData", 3)]


def test_at_most_a_hundred_validations_are_listed(stage: str) -> None:
    products = [{"Fields": [{"FieldCode": 1, "TextSelect": 2}] * 100}] * 100
    reply = post(stage, SUBMIT, a_body(CPFData={"ProductsCustomFields": products}))

    assert reply.error == (400, 202)
    assert len(reply.body["Validations"]) == 100
    assert len(reply.text) < 20_000


def test_at_most_300_findings_of_a_batch_are_listed(stage: str) -> None:
    item = {"Email": 1, "State": "x", "PrinterAndTaxSettings": {"PrinterID": "x", "PrinterCode": 1}}
    reply = post(stage, "/api/v1/merchant/1/pos/updatebulk", {"PosBulk": [item] * 100}, OWNER)

    assert reply.status == 200
    assert len(reply.body["Validations"]) == 300


def test_a_path_of_odd_digits_names_nothing(stage: str) -> None:
    assert call(stage, "GET", "/api/v1/merchant/%D9%A1/pos/1", None, OWNER).error == (404, 561)


def test_long_texts_of_a_payment_and_its_returns_never_outgrow_a_list(stage: str) -> None:
    """Each text is legal alone. Together they are refused, so that a page of a hundred stays below 5 MB."""
    ext_id, long = a_guid(), {"ClientProductCode": "\x01" * 512}
    body = a_body(ExtID=ext_id, ExtTransData=json.dumps({"a": "\\" * 2_040}))
    both = a_body(Description="\x01" * 1024, ExtTransData=body["BasicTran"]["ExtTransData"])
    refused = post(stage, SUBMIT, {**both, **long})
    payment = post(stage, SUBMIT, {**body, **long}).body["TransactionID"]
    basic = {"TransactionID": payment, "ReverseMode": 2, "Amount": "0.01", "PartialReverse": True}
    returns = [
        post(stage, REVERSE, {"BasicReverseTran": {**basic, "ID": a_guid(), "Description": text}})
        for text in ("\x01" * 1024, "\x01" * 400, None)
    ]

    assert refused.findings == [("BasicTran.Description", 4)]
    assert [one.findings for one in returns[:1]] == [[("BasicReverseTran.Description", 4)]]
    assert [one.status for one in returns[1:]] == [200, 200]
    listed = post(stage, "/api/v1/payment/listHistoryEx", {"ListBasicModel": {"ID": payment}})
    answers = [*(one.body["Transaction"] for one in returns[1:]), *listed.body["Transactions"]]
    assert max(len(exact_json.text(one).encode()) for one in answers) <= 40_000


@pytest.mark.parametrize("of_reversal", [False, True])
def test_the_texts_of_lines_have_at_most_64_kb(*, of_reversal: bool) -> None:
    """An item of DynamoDB has at most 400 KB, and all legal texts of a hundred lines have more."""
    line = {"Title": "é" * 512, "Price": 1, "Quantity": 1}

    def read(kilobytes: int) -> object:
        lines = {"AuxDataInput": {"AuxData": {"Purchases": [line] * kilobytes}}}
        back = {"TransactionID": "1", "ReverseMode": 2, **lines}
        model, body = (ReversePayment, {"BasicReverseTran": back}) if of_reversal else (SubmitPayment, a_body(**lines))
        return validated(model, exact_json.parse(exact_json.text(body).encode()))

    assert read(64)
    with pytest.raises(ServiceError) as refused:
        read(65)
    parent = "BasicReverseTran" if of_reversal else "BasicTran"
    assert [(one.field, one.code) for one in refused.value.validations] == [(f"{parent}.AuxDataInput", Check.TOO_LONG)]


def test_a_line_has_at_most_eight_tax_codes(stage: str) -> None:
    line = {"Title": "Tea", "Price": "12.30", "Quantity": "1"}
    eight, nine = ({**line, "TaxCode": [f"T{number}" for number in range(most)]} for most in (8, 9))

    assert (
        post(stage, SUBMIT, a_body(AuxDataInput={"AuxData": {"Purchases": [eight] * 100}}, Amount=12.3)).status == 200
    )
    refused = post(stage, SUBMIT, a_body(AuxDataInput={"AuxData": {"Purchases": [nine]}}))
    assert refused.findings == [("BasicTran.AuxDataInput.AuxData.Purchases[0].TaxCode", 4)]


@pytest.mark.parametrize(
    "addresses", [["bad"] * 45_000, [{}] * 20_000, ["a@b.example"] * 30_000, [""] * 40_000 + ["x"]]
)
def test_no_number_of_addresses_loses_an_offline_sale(stage: str, addresses: list[Any]) -> None:
    body = a_body(OfflineTran={"OfflineMode": True}) | {"Receipt": {"Emails": addresses}}
    reply = post(stage, SUBMIT, body)

    assert reply.error == (200, 0)
    assert len(reply.body["Validations"] or ()) <= 100
    assert len(reply.text) < 40_000


@pytest.mark.parametrize(("emails", "phones"), [(4, 3), (6, 1), (1, 6), (0, 6)])
def test_an_offline_sale_sends_its_receipt_to_five_addresses_and_names_the_others(
    stage: str, emails: int, phones: int
) -> None:
    to = [f"a{n}@payer.example" for n in range(emails)], [f"+2782987654{n}" for n in range(phones)]
    paths = [f"Receipt.Emails[{n}]" for n in range(emails)] + [f"Receipt.Phones[{n}]" for n in range(phones)]
    receipt = {"Emails": to[0], "Phones": to[1]}
    reply = post(stage, SUBMIT, a_body(OfflineTran={"OfflineMode": True}) | {"Receipt": receipt})

    assert reply.error == (200, 0)
    assert [path for path, _ in reply.findings] == paths[5:]
    addresses = stored_transaction(reply.body["TransactionID"]).receipt.addresses
    assert addresses is not None
    assert [*addresses.all] == (to[0] + to[1])[:5]


def test_many_addresses_of_an_online_payment_are_one_finding(stage: str) -> None:
    reply = post(stage, SUBMIT, a_body() | {"Receipt": {"Phones": ["+27829876543"] * 49_000}})

    assert reply.findings == [("Receipt.Phones", 4)]


def test_warnings_of_an_offline_sale_are_in_the_spelling_that_was_sent(stage: str) -> None:
    number = {"OfflineMode": True, "Invoice": a_guid(), "OfflineQueueID": "1"}
    first, second = (post(stage, SUBMIT, a_body(OfflineTran=number)) for _ in range(2))

    assert (first.error, first.findings) == ((200, 0), [])
    assert (second.error, second.findings) == ((200, 0), [("BasicTran.OfflineTran.OfflineQueueID", 11)])


@pytest.mark.parametrize(("is_offline", "error", "code"), [(False, (400, 202), 13), (True, (200, 0), 14)])
def test_an_address_in_other_capitals_is_named_offline_too(
    stage: str, error: tuple[int, int], code: int, *, is_offline: bool
) -> None:
    body = a_body(OfflineTran={"OfflineMode": is_offline}) | {"Receipt": {"email": "a@b.example"}}
    reply = post(stage, SUBMIT, body)

    assert (reply.error, reply.findings) == (error, [("Receipt.email", code)])


@pytest.mark.parametrize("path", ["/api/v1/user/login/session", "/api/v1/health"])
def test_a_caller_without_credential_sends_at_most_16_kb(stage: str, path: str) -> None:
    """To read a megabyte costs two hundred times a health check."""
    method = "GET" if path.endswith("health") else "POST"
    reply = call(stage, method, path, b'{"x":"' + b"x" * 16_384 + b'"}')

    assert reply.error == (413, 203)
    assert "16 KB" in reply.body["ErrorMessage"]
