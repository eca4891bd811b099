"""The envelope is around every body the service sends, whoever sends it."""

import json
from typing import Any

import pytest

from chalicelib import web
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import payments
from tests.support.http import TILL, Reply, basic, call, get, post
from tests.support.transactions import a_body

SUBMIT = "/api/v1/payment/submit"


def enveloped(reply: Reply) -> dict[str, Any]:
    """The body, when it has the envelope."""
    body: dict[str, Any] = reply.body
    assert {"ErrorCode", "ErrorMessage", "Validations"} <= set(body)
    assert isinstance(body["ErrorCode"], int)
    assert reply.headers["Content-Type"] == "application/json"
    return body


@pytest.mark.parametrize(
    ("method", "path", "login", "error"),
    [
        ("GET", "/", TILL, (404, 207)),
        ("POST", "/api/v1/payment/a/b", TILL, (404, 207)),
        ("POST", "/api/v2/payment/submit", None, (404, 207)),
        ("GET", SUBMIT, TILL, (405, 206)),
        ("DELETE", SUBMIT, TILL, (405, 206)),
        ("POST", SUBMIT, None, (401, 101)),
        ("POST", SUBMIT, ("till@demo.example", "wrong"), (401, 102)),
        ("GET", "/api/v1/payment/00000000-0000-4000-8000-000000000000", TILL, (404, 568)),
        ("GET", "/api/v1/payment/%00", TILL, (404, 568)),
        ("GET", "/api/v1/payment/" + "x" * 5000, TILL, (404, 568)),
    ],
)
def test_a_refusal_before_the_body_is_read(
    stage: str, method: str, path: str, login: tuple[str, str] | None, error: tuple[int, int]
) -> None:
    reply = call(stage, method, path, a_body() if method == "POST" else None, login)
    enveloped(reply)

    assert reply.error == error


def test_every_error_has_a_status_and_who_is_not_signed_in_gets_401() -> None:
    assert set(web.STATUS_OF) == set(ErrorCode)
    assert {error for error in ErrorCode if error.is_denial} == {
        error for error, status in web.STATUS_OF.items() if status == 401
    }


def test_a_refused_method_names_the_allowed_one(stage: str) -> None:
    assert call(stage, "PUT", SUBMIT).headers["Allow"] == "POST"


def test_a_401_says_how_to_sign_in(stage: str) -> None:
    missing, wrong = post(stage, SUBMIT, a_body(), None), post(stage, SUBMIT, a_body(), ("nobody@x.example", "y"))

    assert missing.headers["WWW-Authenticate"] == wrong.headers["WWW-Authenticate"] == 'Basic realm="payments"'


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "null",
        '"text"',
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"BasicTran": {"Amount": NaN}}',
        '{"BasicTran": {"Amount": Infinity}}',
        '{"BasicTran": {"Amount": -Infinity}}',
        '{"BasicTran": {"Amount": 1, "Amount": 2}}',
        '{"BasicTran": [' + "0," * 50_000 + "0]}",
        b'{"Lang": "\xff\xfe"}',
        b"\x00",
    ],
    ids=lambda body: repr(body[:24]),
)
def test_a_body_that_is_no_json_object_is_201(stage: str, body: str | bytes) -> None:
    reply = post(stage, SUBMIT, body)
    enveloped(reply)

    assert reply.error == (400, 201)


@pytest.mark.parametrize("amount", ["1e400", "1E+400000000", "1e-400", "-0", "0.0000000000000000000000001"])
def test_an_absurd_number_is_a_validation(stage: str, amount: str) -> None:
    body = json.dumps(a_body(Amount=1)).replace('"Amount": 1', f'"Amount": {amount}')
    reply = post(stage, SUBMIT, body)

    assert reply.error in {(400, 202), (400, 201)}


def test_a_body_over_the_limit_is_413(stage: str) -> None:
    reply = post(stage, SUBMIT, {**a_body(), "UserAgent": "x" * (5 * web.MEGABYTE)})
    small = post(stage, "/api/v1/terminal/create", {"Name": "x" * web.MEGABYTE})

    assert (reply.error, small.error) == ((413, 203), (413, 203))


def test_two_megabytes_are_fine_where_files_may_come_and_refused_elsewhere(stage: str) -> None:
    padding = {"Ignored": "x" * (2 * web.MEGABYTE)}

    assert post(stage, SUBMIT, {**a_body(), **padding}).status == 200
    assert post(stage, "/api/v1/merchant/create", padding).error == (413, 203)


@pytest.mark.parametrize("media_type", ["text/xml", "application/x-www-form-urlencoded", "multipart/form-data", "json"])
def test_another_media_type_is_415(stage: str, media_type: str) -> None:
    reply = post(stage, SUBMIT, a_body(), Content_Type=media_type)
    enveloped(reply)

    assert reply.error == (415, 205)


def test_a_media_type_with_parameters_is_json_still(stage: str) -> None:
    assert post(stage, SUBMIT, a_body(), Content_Type="Application/JSON; charset=utf-8").status == 200


def test_a_crash_is_901_with_the_request_to_quote_and_nothing_else(
    stage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        message = "secret-of-the-caller"
        raise RuntimeError(message)

    monkeypatch.setattr(payments, "submit", broken)
    reply = post(stage, SUBMIT, a_body())
    log = capsys.readouterr().out
    request_id = reply.headers["x-amzn-RequestId"]

    assert reply.error == (500, 901)
    assert request_id in enveloped(reply)["ErrorMessage"]
    assert "secret-of-the-caller" not in reply.text + log
    assert {json.loads(line)["request_id"] for line in log.splitlines()} == {request_id}


def test_a_store_out_of_reach_is_503_and_says_when_to_come_back(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def out(*_: object, **__: object) -> None:
        raise ServiceError(ErrorCode.STORE_UNAVAILABLE)

    monkeypatch.setattr(payments, "submit", out)
    reply = post(stage, SUBMIT, a_body())

    assert (reply.error, reply.headers["Retry-After"]) == ((503, 903), "1")


def test_each_request_is_one_line_of_the_log_without_body_or_credential(
    stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = post(stage, SUBMIT, a_body(Description="not-for-the-log"))
    lines = capsys.readouterr().out.splitlines()
    line = json.loads(lines[-1])

    assert len(lines) == 1
    assert line.keys() >= {"request_id", "route", "agent", "merchant", "status", "error_code", "milliseconds"}
    assert (line["route"], line["status"], line["error_code"]) == (SUBMIT, 200, 0)
    assert line["agent"] == str(reply.body["Transaction"]["PosID"])
    assert not {"not-for-the-log", TILL[1], basic(TILL)} & set(lines[0].split('"'))


def test_a_path_that_ends_in_a_slash_is_the_same_path(stage: str) -> None:
    assert get(stage, "/api/v1/payment/statusPublic/x/", None).body["Transaction"] is None
