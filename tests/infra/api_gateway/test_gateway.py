"""The gateway does what API Gateway does with the template: routes, policies, its own answers, events, answers."""

import importlib
import json
from collections.abc import Mapping
from typing import Any

import pytest

from infra.api_gateway import in_process
from infra.api_gateway.gateway import (
    Authorizer,
    Gateway,
    Kind,
    Match,
    Refusal,
    Request,
    authorizer_event,
    method_arn,
    proxy_event,
)
from infra.stack.cloudformation import deployed, variables

SUBMIT = "/api/v1/payment/submit"
IDENTITY = "method.request.header.Authorization"
ALLOW = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": ["arn:aws:execute-api:*:*:*/api/*/*"]}


class Fake:
    """A function that answers what a test says, and remembers its events."""

    def __init__(self, answer: Any = None, *, fails: bool = False) -> None:
        self.answer, self.fails = answer, fails
        self.events: list[Any] = []

    def __call__(self, event: dict[str, Any], seconds: float) -> Any:
        assert seconds == 29
        self.events.append(event)
        if self.fails:
            raise Refusal(Kind.API_CONFIGURATION_ERROR)
        return self.answer


def a_request(method: str = "POST", target: str = SUBMIT, body: bytes = b"", **headers: str) -> Request:
    sent = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Request(method, target, sent, body, "192.0.2.1")


def a_policy(*statements: Mapping[str, Any], **context: Any) -> dict[str, Any]:
    return {"principalId": "7", "policyDocument": {"Statement": list(statements)}, "context": context}


def a_gateway(sam: dict[str, Any], api: Fake, authorizer: Fake | None = None) -> Gateway:
    functions = {"APIHandler": api, "Authorizer": authorizer or Fake(a_policy(ALLOW, agent="3"))}
    return Gateway(deployed(sam)["RestAPI"], functions)


def is_part(one: Any, whole: Any) -> bool:
    """Whether each value of one is that of the whole, which may have more."""
    if isinstance(one, dict) and isinstance(whole, dict):
        return one.keys() <= whole.keys() and all(is_part(value, whole[name]) for name, value in one.items())
    return bool(one == whole)


def methods(api: Mapping[str, Any]) -> dict[str, dict[str, bool]]:
    """Return the methods of each path, and whether they need a credential."""
    paths = api["Properties"]["DefinitionBody"]["paths"]
    return {path: {name: "security" in method for name, method in of.items()} for path, of in paths.items()}


def test_the_local_stage_has_the_api_of_the_package(sam: dict[str, Any]) -> None:
    local, packaged = in_process.definition(importlib.import_module("app").app), sam["Resources"]["RestAPI"]

    assert is_part(local, packaged)
    assert methods(local) == methods(packaged)


def test_references_of_the_template_become_names_of_the_local_stage(sam: dict[str, Any]) -> None:
    assert variables(sam) == {
        "TABLE_PREFIX": "payments-local-",
        "KEY_ID": "alias/payments-local",
        "BUCKET": "payments-local-123456789012-files",
        "SECRET_ID": "payments-local-secret",
    }
    with pytest.raises(ValueError, match="no parameter Unknown"):
        variables(sam, Unknown=1)


def test_a_function_gets_the_event_of_a_proxy_integration(sam: dict[str, Any]) -> None:
    api = Fake({"statusCode": 200, "body": "{}"})
    request = a_request("GET", "/api/v1/payment/a%20b?x=1&x=2&y=", b"", Authorization="Basic x", Connection="close")

    a_gateway(sam, api).answer(request)

    event = api.events[0]
    assert (event["resource"], event["path"]) == ("/api/v1/payment/{tranId}", "/api/v1/payment/a%20b")
    assert event["pathParameters"] == {"tranId": "a%20b"}
    assert event["multiValueQueryStringParameters"] == {"x": ["1", "2"], "y": [""]}
    assert event["queryStringParameters"] == {"x": "2", "y": ""}
    assert int(event["requestContext"]["authorizer"].pop("integrationLatency")) >= 0
    assert event["requestContext"]["authorizer"] == {"agent": "3", "principalId": "7"}
    assert "Connection" not in event["headers"]
    assert (event["body"], event["isBase64Encoded"]) == (None, False)


def test_a_path_without_a_variable_goes_before_one_with(sam: dict[str, Any]) -> None:
    api = Fake({"statusCode": 200})
    gateway = a_gateway(sam, api)
    for target in ("/api/v1/payment/AuthAccount", "/api/v1/payment/AuthAccount/", "/api/v1/merchant/7/pos/9"):
        gateway.answer(a_request("GET", target, Authorization="Basic x"))

    assert [event["resource"] for event in api.events] == [
        "/api/v1/payment/AuthAccount",
        "/api/v1/payment/AuthAccount",
        "/api/v1/merchant/{merchantId}/pos/{posId}",
    ]


@pytest.mark.parametrize(
    "api",
    [
        Fake(fails=True),
        Fake(None),
        Fake({"body": "{}"}),
        Fake({"statusCode": "x"}),
        Fake({"statusCode": 200, "body": 1}),
    ],
)
def test_what_is_no_answer_of_a_proxy_integration_is_an_internal_error(sam: dict[str, Any], api: Fake) -> None:
    reply = a_gateway(sam, api).answer(a_request(Authorization="Basic x"))

    assert (reply.status, json.loads(reply.body)["ErrorCode"]) == (500, 901)


def test_headers_that_api_gateway_renames_are_renamed(sam: dict[str, Any]) -> None:
    api = Fake({"statusCode": 401, "headers": {"WWW-Authenticate": "Basic"}, "multiValueHeaders": {"A": ["1", "2"]}})

    reply = a_gateway(sam, api).answer(a_request(Authorization="Basic x"))

    assert reply.headers[1:] == (
        ("x-amzn-Remapped-WWW-Authenticate", "Basic"),
        ("A", "1"),
        ("A", "2"),
        ("Content-Type", "application/json"),
    )


@pytest.mark.parametrize(("size", "compressed"), [(1023, False), (1024, True)])
def test_answers_are_compressed_from_one_kilobyte_on(sam: dict[str, Any], size: int, *, compressed: bool) -> None:
    request = a_request("GET", "/api/v1/health", Accept_Encoding="gzip")

    reply = a_gateway(sam, Fake({"statusCode": 200, "body": "a" * size})).answer(request)

    assert ("Content-Encoding" in dict(reply.headers)) is compressed


def test_the_function_answers_the_methods_that_a_path_lacks_without_a_credential(sam: dict[str, Any]) -> None:
    gateway = a_gateway(sam, Fake({"statusCode": 405}))

    assert gateway.answer(a_request("PUT")).status == 405
    assert gateway.answer(a_request("BREW")).status == 404


@pytest.mark.parametrize(
    ("statements", "allowed"),
    [
        ([ALLOW], True),
        ([], False),
        ([ALLOW, {**ALLOW, "Effect": "Deny"}], False),
        ([ALLOW, {**ALLOW, "Effect": "Deny", "Resource": "arn:aws:execute-api:*:*:*/api/GET/*"}], True),
        ([{**ALLOW, "Action": "execute-api:Manage"}], False),
        ([{**ALLOW, "Action": "*", "Resource": "arn:aws:execute-api:eu-west-?:*"}], True),
    ],
)
def test_a_policy_allows_what_a_statement_allows_and_none_denies(
    sam: dict[str, Any], statements: list[Any], *, allowed: bool
) -> None:
    authorizer = Fake(a_policy(*statements, code="102", message="No."))
    reply = a_gateway(sam, Fake({"statusCode": 200}), authorizer).answer(a_request(Authorization="Basic x"))

    assert reply.status == (200 if allowed else 401)
    assert allowed or json.loads(reply.body)["ErrorMessage"] == "No."


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (Fake(fails=True), Kind.AUTHORIZER_FAILURE),
        (Fake(None), Kind.AUTHORIZER_CONFIGURATION_ERROR),
        (Fake({"principalId": "7"}), Kind.AUTHORIZER_CONFIGURATION_ERROR),
        (Fake(a_policy(ALLOW, roles=["x"])), Kind.AUTHORIZER_CONFIGURATION_ERROR),
    ],
)
def test_a_failing_authorizer_lets_nobody_in_and_is_asked_again(function: Fake, kind: Kind) -> None:
    authorizer = Authorizer(IDENTITY, function, 300)
    request = a_request(Authorization="Basic x")
    for _ in range(2):
        with pytest.raises(Refusal) as refused:
            authorizer.authorize(request, Match(SUBMIT, {}))

        assert refused.value.kind is kind
    assert len(function.events) == 2


def test_the_context_of_an_authorizer_is_text() -> None:
    authorizer = Authorizer(IDENTITY, Fake(a_policy(ALLOW, number=1, flag=True)), 300)

    context = authorizer.authorize(a_request(Authorization="Basic x"), Match(SUBMIT, {}))

    assert (context["number"], context["flag"]) == ("1", "true")


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert proxy_event(a_request(body=b'"\xff"'), Match(SUBMIT, {}), None)["body"] == '"\ufffd"'


def test_an_authorizer_is_told_which_method_is_called() -> None:
    event = authorizer_event(a_request(Authorization="Basic x"), Match(SUBMIT, {}))

    assert event["methodArn"] == method_arn(a_request())
    assert event["methodArn"].endswith(f":local/api/POST{SUBMIT}")
    assert event["type"] == "REQUEST"
