"""The envelope is around every body the service sends, whoever sends it."""

import json
import re
import time
from itertools import product
from typing import Any

import pytest

from chalicelib import endpoints, web
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.store.aws_client import UnansweredError
from tests.support.cards import TRACK2, a_card_body, chip_data
from tests.support.giving import Give
from tests.support.http import OWNER, TILL, Reply, basic, call, get, post
from tests.support.intercepted_calls import refusing
from tests.support.transactions import a_body, a_guid

SUBMIT, LOGIN = "/api/v1/payment/submit", "/api/v1/user/login/session"
WRONG_METHOD = '{"ErrorCode": 206, "ErrorMessage": "The path does not take this method.", "Validations": null}'


def enveloped(reply: Reply) -> dict[str, Any]:
    """The body, when it has the envelope."""
    body: dict[str, Any] = reply.body
    assert {"ErrorCode", "ErrorMessage", "Validations"} <= set(body)
    assert isinstance(body["ErrorCode"], int)
    assert reply.headers["Content-Type"] == "application/json"
    return body


@pytest.mark.parametrize(("method", "path"), [("POST", "/api/v1/payments"), ("GET", "/api/v1/payment")])
def test_an_unknown_path_names_the_nearest_on_the_local_stage(stage: str, method: str, path: str) -> None:
    reply = call(stage, method, path, {}, TILL)

    assert reply.error == (404, 207)
    assert f"The nearest is {method} {path.removesuffix('s')}/" in reply.body["ErrorMessage"]


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
    assert reply.headers.get("Allow") == ("POST" if error == (405, 206) else None)


def test_every_path_answers_another_method_as_the_gateway_writes_its_own_refusals(stage: str) -> None:
    methods: dict[str, list[str]] = {}
    for endpoint in endpoints.ENDPOINTS:
        methods.setdefault(endpoint.path, []).extend(endpoint.methods)

    for path, allowed in methods.items():
        reply = call(stage, "PATCH", path, {}, None)
        sent = {"Content-Type": "application/json", "Allow": ", ".join(sorted(allowed))}
        assert (reply.status, reply.text) == (405, WRONG_METHOD)
        assert reply.headers.items() >= sent.items()
        assert "Cache-Control" not in reply.headers


def test_a_caller_that_is_not_signed_in_gets_401() -> None:
    assert {error for error in ErrorCode if error.is_denial} == {error for error in ErrorCode if error.status == 401}


@pytest.mark.parametrize("error", ErrorCode, ids=str)
def test_only_a_denial_asks_for_credentials(error: ErrorCode) -> None:
    refusal = web.refuse(ServiceError(error))

    assert ("WWW-Authenticate" in refusal.headers) == (error.status == 401)


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


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "is empty"),
        ("[]", "is a list"),
        ('{"a": 1,\n "b" 2}', "line 2, column 6: a colon"),
        ("{'a': 1}", "line 1, column 2: a name in double quotes"),
        ('{"a": "x\n"}', "a line break or control character"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1, "a": 2}', 'repeats the name "a"'),
        ('{"a": 1} {}', "line 1, column 10: something follows"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 8"),
        ('{"a":' * 70 + "1" + "}" * 70, "more than 64 levels"),
    ],
)
def test_a_malformed_body_is_told_why_and_where(stage: str, body: str | bytes, reason: str) -> None:
    assert reason in post(stage, SUBMIT, body).body["ErrorMessage"]


def test_a_byte_order_mark_is_skipped(stage: str) -> None:
    assert post(stage, SUBMIT, b"\xef\xbb\xbf" + json.dumps(a_body()).encode()).error == (200, 0)


@pytest.mark.parametrize("path", ["webhook/list", "event/list", "pos/list", "webhook/999/delete"])
@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/plain"}])
def test_no_body_is_an_empty_object_where_no_field_is_required(stage: str, path: str, headers: dict[str, str]) -> None:
    reply = call(stage, "POST", f"/api/v1/merchant/1/{path}", None, OWNER, headers)

    assert reply.error == ((404, 570) if "delete" in path else (200, 0))


@pytest.mark.parametrize(
    ("method", "path", "login", "status"),
    [
        *(("GET", path, None, 200) for path in ("/app", "/till", "/docs", "/api/v1/openapi.json", "/api/v1/health")),
        ("GET", "/api/v1/user/me", OWNER, 200),
        ("GET", "/api/v1/user/me", None, 401),
        ("GET", "/api/v1/user/me", ("nobody@demo.example", "a wrong password"), 401),
        ("GET", "/nothing", None, 404),
        ("GET", "/api/v1/payment/x", OWNER, 404),
        ("DELETE", "/api/v1/health", None, 405),
        ("POST", SUBMIT, OWNER, 400),
    ],
)
def test_every_answer_is_for_https_alone_and_nothing_but_what_it_says(
    stage: str, method: str, path: str, login: tuple[str, str] | None, status: int
) -> None:
    reply = call(stage, method, path, "{" if method == "POST" else None, login)

    assert reply.status == status
    assert reply.headers["Strict-Transport-Security"] == "max-age=15552000"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"


def test_a_body_over_the_limit_is_413(stage: str) -> None:
    reply = post(stage, SUBMIT, {**a_body(), "UserAgent": "x" * (5 * web.MEGABYTE)})
    small = post(stage, "/api/v1/terminal/create", {"Name": "x" * web.MEGABYTE})

    assert (reply.error, small.error) == ((413, 203), (413, 203))


def test_two_megabytes_are_fine_where_files_may_come_and_refused_elsewhere(stage: str) -> None:
    padding = {"Ignored": "x" * (2 * web.MEGABYTE)}

    assert post(stage, SUBMIT, {**a_body(), **padding}).status == 200
    assert post(stage, "/api/v1/merchant/create", padding).error == (413, 203)


FOREIGN = ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"})


@pytest.mark.parametrize("page", FOREIGN, ids=["origin", "site", "null"])
@pytest.mark.parametrize("path", [SUBMIT, "/api/v1/user/logout/session"])
def test_a_page_of_another_origin_sends_nothing_without_a_preflight(
    stage: str, path: str, page: dict[str, str]
) -> None:
    body = json.dumps(a_body()) if path == SUBMIT else None
    simple = [call(stage, "POST", path, body, TILL, {**page, "Content-Type": one}) for one in ("", "text/plain")]

    assert [reply.error for reply in simple] == [(415, 205)] * 2
    assert call(stage, "POST", SUBMIT, a_body(), TILL, page).error == (200, 0)


@pytest.mark.parametrize("media_type", ["text/xml", "application/x-www-form-urlencoded", "multipart/form-data", "json"])
def test_another_media_type_is_415_and_one_with_parameters_is_json_still(stage: str, media_type: str) -> None:
    reply = post(stage, SUBMIT, a_body(), Content_Type=media_type)
    enveloped(reply)

    assert reply.error == (415, 205)
    assert post(stage, SUBMIT, a_body(), Content_Type="Application/JSON; charset=utf-8").status == 200


def test_a_crash_is_901_with_the_request_to_quote_and_nothing_else(
    stage: str, give: Give, capsys: pytest.CaptureFixture[str]
) -> None:
    give(client=refusing("TransactWriteItems", RuntimeError("secret-of-the-caller")))
    reply = post(stage, SUBMIT, a_body())
    log = capsys.readouterr().out
    request_id = reply.headers["x-amzn-RequestId"]

    assert reply.error == (500, 901)
    assert request_id in enveloped(reply)["ErrorMessage"]
    assert "secret-of-the-caller" not in reply.text + log
    assert {json.loads(line)["request_id"] for line in log.splitlines()} == {request_id}


def test_a_store_out_of_reach_is_503_and_says_when_to_come_back(stage: str, give: Give) -> None:
    give(client=refusing("TransactWriteItems", UnansweredError()))
    reply = post(stage, SUBMIT, a_body())

    assert (reply.error, reply.headers["Retry-After"]) == ((503, 903), "1")


def test_each_request_is_one_log_line_without_body_and_secret(stage: str, capsys: pytest.CaptureFixture[str]) -> None:
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


ENDPOINTS = ("payment/reverse", "payment/reversecnp")
CARDS: dict[int, Any] = {
    2: {"CardDataInput": {"ReaderData": TRACK2}},
    3: {"CardDataInput": {"ReaderData": chip_data()}},
    4: {"CardDataInput": {"ReaderData": chip_data()}},
}


def pay(stage: str, input_type: int, amount: str = "12.00") -> str:
    if input_type in (7, 8, 9, 10):
        body = a_body(InputType=input_type, Amount=amount) | {"AcqTran": None}
    else:
        card = {"Card": CARDS[input_type]} if input_type in CARDS else {}
        body = a_card_body(amount, basic={"InputType": input_type}, **card)
    if input_type == 5:
        linked = post(stage, "/api/v1/payment/GetLinkedCards", {}).body["LinkedCards"][0]["ID"]
        body["Card"] = {"LinkedCardId": linked}
    paid: str = post(stage, SUBMIT, body).body["TransactionID"]
    return paid


def reverse(stage: str, endpoint: str, paid: str, mode: int, **basic: Any) -> Reply:
    body = {"BasicReverseTran": {"TransactionID": paid, "ReverseMode": mode, "ID": a_guid(), **basic}}
    return post(stage, f"/api/v1/{endpoint}", body)


def named(reply: Reply) -> tuple[list[str], list[int]]:
    """Return the endpoints and modes that the words of a refusal name."""
    words = reply.body["ErrorMessage"]
    modes = re.findall(r"(?<=ReverseMode )\d|(?<= or )\d", words)
    return re.findall(r"payment/reverse\w*", words), [int(mode) for mode in modes]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("input_type", "endpoint", "mode"), list(product((1, 2, 3, 4, 5, 7, 8, 9, 10), ENDPOINTS, (1, 2, 3, 5)))
)
def test_following_the_words_of_a_refusal_ends(stage: str, input_type: int, endpoint: str, mode: int) -> None:
    paid, used = pay(stage, input_type), {endpoint}
    reply = reverse(stage, endpoint, paid, mode)

    for _ in range(2):
        if reply.status == 200:
            break
        assert reply.error == (409, 303)
        endpoints, modes = named(reply)
        assert not used & set(endpoints), "it is sent back to where it came from"
        endpoint = endpoints[0] if endpoints else endpoint
        used.add(endpoint)
        reply = reverse(stage, endpoint, paid, modes[0])
    assert reply.error == (200, 0)
    assert endpoint == ENDPOINTS[input_type in (1, 5)]


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_what_no_endpoint_reverses_names_none(stage: str, endpoint: str) -> None:
    declined, cash = pay(stage, 1, "12.05"), pay(stage, 10)
    reversal = reverse(stage, ENDPOINTS[0], cash, 2).body["TransactionReverseID"]

    for paid, mode, words in ((declined, 5, "declined"), (declined, 2, "declined"), (reversal, 2, "is a reversal")):
        reply = reverse(stage, endpoint, paid, mode)
        assert reply.error == (409, 303)
        assert words in reply.body["ErrorMessage"]
        assert named(reply)[0] == []


def test_a_part_is_not_cancelled_and_the_words_say_how_it_is_returned(stage: str) -> None:
    paid = pay(stage, 1)
    refused = reverse(stage, ENDPOINTS[1], paid, 3, Amount="5.00")

    assert refused.error == (409, 303)
    assert "in full only" in refused.body["ErrorMessage"]
    assert named(refused) == ([], [5])
    assert reverse(stage, ENDPOINTS[1], paid, 5, Amount="5.00").error == (200, 0)
    assert "reversed already" in reverse(stage, ENDPOINTS[1], paid, 3).body["ErrorMessage"]


@pytest.mark.parametrize(("endpoint", "mode"), list(product(ENDPOINTS, (1, 2, 3, 5))))
def test_an_unknown_payment_is_unknown_at_either_endpoint_with_any_mode(stage: str, endpoint: str, mode: int) -> None:
    assert reverse(stage, endpoint, a_guid(), mode).error == (404, 568)


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_mode_nobody_may_send_is_refused_first(stage: str, endpoint: str) -> None:
    assert reverse(stage, endpoint, a_guid(), 4).error == (403, 151)
    assert reverse(stage, endpoint, a_guid(), 500).error == (400, 312)


EVERY = (*endpoints.ENDPOINTS, *endpoints.DOCUMENTS)
OF_THE_CONNECTION = {"Date", "Content-Length", "x-amzn-RequestId"}


@pytest.mark.parametrize("endpoint", [one for one in EVERY if one.method == "GET"], ids=lambda one: one.path)
def test_head_is_answered_as_get_without_a_body_wherever_get_is_public(stage: str, endpoint: web.Endpoint) -> None:
    path = re.sub(r"\{\w+\}", "any", endpoint.path)
    asked, head = (call(stage, method, path, None, None) for method in ("GET", "HEAD"))

    assert head.text == ""
    if endpoint.public:
        assert head.status == asked.status
        assert {name: value for name, value in head.headers.items() if name not in OF_THE_CONNECTION} == {
            name: value for name, value in asked.headers.items() if name not in OF_THE_CONNECTION
        }
    else:
        assert head.status == 405
        assert "HEAD" not in head.headers["Allow"]


def test_the_query_of_head_is_read_as_that_of_get(stage: str) -> None:
    paths = [f"/api/v1/health{query}" for query in ("", "?deep=1", "?deep=x")]

    assert [call(stage, "HEAD", path, None, None).status for path in paths] == [200, 200, 400]


@pytest.mark.slow
def test_nothing_without_a_credential_is_long_or_costs_much_more_than_a_health_check(stage: str) -> None:
    """The processor time is the least of several, which no other work makes longer."""
    long, names = (
        b'{"a": "' + b"x" * (5 * web.MEGABYTE) + b'"}',
        b",".join(b'"asswor%d":1' % one for one in range(990)),
    )
    requests = [
        *(
            ("GET", re.sub(r"\{\w+\}", "any", one.path), None, "")
            for one in EVERY
            if one.method == "GET" and one.public
        ),
        ("GET", f"/api/v1/payment/statusPublic/{a_guid()}", None, ""),
        ("GET", "/" + "a/" * 3000, None, ""),
        *(("POST", SUBMIT, b"{}", f"{scheme} {'A.' * 3500}") for scheme in ("Basic", "Jwt", "Session", "None")),
        *((method, path, long, "") for method in ("POST", "PATCH") for path in (SUBMIT, "/nowhere", LOGIN)),
        *(("POST", LOGIN, body, "") for body in (b"{}", b"[" * 16000, b"{" + names + b"}")),
    ]

    def measured(method: str, path: str, body: bytes | None, credential: str, coding: str) -> tuple[float, Reply]:
        headers = {"Accept-Encoding": coding, **({"Authorization": credential} if credential else {})}
        began = time.process_time()
        reply = call(stage, method, path, body, None, headers)
        return time.process_time() - began, reply

    def least(*request: Any) -> tuple[float, Reply]:
        return min((measured(*request) for _ in range(5)), key=lambda one: one[0])

    health, _ = least("GET", "/api/v1/health", None, "", "identity")
    dear = {}
    for request in requests:
        seconds, reply = least(*request, "identity")
        assert len(reply.text) <= 1.5 * web.MEGABYTE
        if seconds > 10 * health:
            dear[request[:2]] = seconds / health
    assert dear == {}
