"""payment/prepare with the demo partner of the local stage."""

import json
from typing import Any

import pytest

from chalicelib import outside
from chalicelib.gateways import https
from tests.support.http import post

PREPARE = "/api/v1/payment/prepare"
PAYMENT_FIELDS = {
    *("TransactionID", "EMVOnlineProcessingResult", "AdditionalAcquiringFields", "AdditionalAcquiringFieldsTitle"),
    *("TerminalName", "EMVData", "RequireSignature", "Transaction"),
}


def a_body(*, product: str = "Insurance", **fields: str) -> dict[str, Any]:
    given = {"AmountClient": "1500.00", "OrderId": "A-17", **fields}
    return {
        "ProductDescCode": product,
        "PrepareFields": [{"Name": name, "Value": value} for name, value in given.items()],
    }


def filled(body: dict[str, Any]) -> dict[str, str]:
    return {field["Code"]: field["Value"] for field in body["PreparedFields"]}


def test_the_demo_partner_fills_in_the_fields_as_text(stage: str) -> None:
    context = {"GMT": 2, "Lang": "en", "CountryCode": "ZA", "Location": {"Latitude": -33.9, "Longitude": 18.4}}
    reply = post(stage, PREPARE, {**a_body(), **context, "ClientProductCode": "HOME"})

    assert reply.error == (200, 0)
    assert (reply.body["ErrorMessage"], reply.body["Validations"]) == (None, None)
    assert filled(reply.body) == {
        "PolicyNumber": "POL-" + filled(reply.body)["PolicyNumber"][4:],
        "InsuredAmount": "1500.00",
        "Premium": "75.00",
        "OrderId": "A-17",
        "Plan": "HOME",
    }


def test_the_fields_of_a_payments_answer_are_there_and_null(stage: str) -> None:
    body = post(stage, PREPARE, a_body()).body

    assert set(body) == {"PreparedFields", "ErrorCode", "ErrorMessage", "Validations"} | PAYMENT_FIELDS
    assert all(body[name] is None for name in PAYMENT_FIELDS)


@pytest.mark.parametrize("product", ["Unheard", "insurance", "__class__", "../Insurance", "\u0000"])
def test_a_product_nobody_fills_in_is_not_found(stage: str, product: str) -> None:
    assert post(stage, PREPARE, a_body(product=product)).error == (404, 567)


def test_what_the_partner_refuses_is_a_finding_at_its_field(stage: str) -> None:
    reply = post(stage, PREPARE, a_body(AmountClient="-5", OrderId=" "))

    assert reply.error == (400, 202)
    assert reply.findings == [("PrepareFields[0].Value", 3), ("PrepareFields[1].Value", 3)]
    assert "amount above zero" in reply.body["Validations"][0]["Message"]
    assert "PreparedFields" not in reply.body


NULL, NOTHING = {"Name": "OrderId", "Value": None}, {"Name": "OrderId", "Value": ""}


@pytest.mark.parametrize("fields", [None, [], [NULL], [NOTHING], [{"Name": "OrderId"}]], ids=repr)
def test_the_partner_fills_in_the_values_that_the_till_leaves_out(stage: str, fields: Any) -> None:
    body = {"ProductDescCode": "Insurance"} | ({} if fields is None else {"PrepareFields": fields})
    reply = post(stage, PREPARE, body)

    assert reply.error == (200, 0)
    assert [filled(reply.body)[name] for name in ("InsuredAmount", "OrderId")] == ["1000.00", "NEW"]


def test_a_field_the_partner_misses_is_named(stage: str) -> None:
    problem = {"Problems": [{"Name": "OrderId", "Message": "It is expected."}]}
    with outside.given(post=lambda *_, **__: https.Reply(422, json.dumps(problem).encode())):
        reply = post(stage, PREPARE, {"ProductDescCode": "Insurance"})

    assert reply.error == (400, 202)
    assert reply.findings == [("PrepareFields", 1)]
    assert reply.body["Validations"][0]["Message"] == "OrderId: It is expected."


def with_fields(fields: Any) -> dict[str, Any]:
    return {"ProductDescCode": "Insurance", "PrepareFields": fields}


FIELD = {"Name": "OrderId", "Value": "A-17"}
WRONG: list[tuple[Any, str, int]] = [
    ({"PrepareFields": [FIELD]}, "ProductDescCode", 1),
    ({"PrepareFields": [FIELD], "ProductDescCode": None}, "ProductDescCode", 1),
    ({"PrepareFields": [FIELD], "ProductDescCode": ""}, "ProductDescCode", 5),
    ({"PrepareFields": [FIELD], "ProductDescCode": "x" * 257}, "ProductDescCode", 4),
    ({"PrepareFields": [FIELD], "ProductDescCode": "\ud800"}, "ProductDescCode", 3),
    (with_fields({"OrderId": "A-17"}), "PrepareFields", 2),
    (with_fields(["OrderId"]), "PrepareFields[0]", 2),
    (with_fields([FIELD, None]), "PrepareFields[1]", 2),
    (with_fields([{"Value": "x"}]), "PrepareFields[0].Name", 1),
    (with_fields([{"Name": "", "Value": "x"}]), "PrepareFields[0].Name", 5),
    (with_fields([{"Name": "x" * 257, "Value": "x"}]), "PrepareFields[0].Name", 4),
    (with_fields([{"Name": "x", "Value": 5}]), "PrepareFields[0].Value", 2),
    (with_fields([{"Name": "x", "Value": "\ud800"}]), "PrepareFields[0].Value", 3),
    (with_fields([{"Name": "x", "Value": "y" * 100_000}]), "PrepareFields[0].Value", 4),
    (with_fields([{"Name": f"Field{n}", "Value": "x"} for n in range(1000)]), "PrepareFields", 4),
    (with_fields([FIELD, {"Name": "x", "Value": "y"}, FIELD]), "PrepareFields[2].Name", 11),
    ({**a_body(), "ClientProductCode": "x" * 513}, "ClientProductCode", 4),
    ({**a_body(), "GMT": 99}, "GMT", 5),
]


@pytest.mark.parametrize(("body", "path", "code"), WRONG, ids=lambda part: repr(part)[:40])
def test_a_wrong_field_is_named(stage: str, body: Any, path: str, code: int) -> None:
    reply = post(stage, PREPARE, body)

    assert reply.error == (400, 202)
    assert reply.findings == [(path, code)]


def test_a_body_over_a_megabyte_is_too_large(stage: str) -> None:
    assert post(stage, PREPARE, a_body(OrderId="x" * 1024 * 1024)).error == (413, 203)


def test_whatever_a_till_writes_reaches_the_partner_and_comes_back(stage: str) -> None:
    text = "Ω \u0000 \U0001f600 \\ \" ' </script> \r\nX-Header: 1 ${jndi:ldap://x}"

    assert filled(post(stage, PREPARE, a_body(OrderId=text)).body)["OrderId"] == text
