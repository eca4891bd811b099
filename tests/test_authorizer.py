"""The authorizer: its answers to API Gateway, the modules it loads, and that it never shows a credential."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from chalice.config import Config
from chalice.local import ForbiddenError, LocalGateway

from chalicelib import authorizer
from chalicelib.errors import ErrorCode, ServiceError
from infra.bench.client import through
from infra.local import ports, stage_settings
from tests.support.accounts import an_account, basic
from tests.support.giving import Give
from tests.support.intercepted_calls import failing

ROOT = Path(__file__).parent.parent
ARN = "arn:aws:execute-api:eu-west-1:123456789012:api/stage/GET/api/v1/payment/1"
SOURCE = "198.51.100.7"
FETCHED_EARLY = """
import chalicelib.authorizer
from tests.support.giving import Give
from chalicelib.gateways import secrets
early = secrets.remembered()._early
if early:
    early.join()
print("tried" if early else "not tried")
"""
LOADED = """
import json, sys
import chalicelib.authorizer
print(json.dumps(sorted(sys.modules)))
"""


def _event(token: str, header: str = "Authorization", **changes: Any) -> dict[str, Any]:
    """Return what API Gateway sends an authorizer of requests."""
    return {
        "type": "REQUEST",
        "methodArn": ARN,
        "resource": "/api/v1/payment/{tranId}",
        "path": "/api/v1/payment/1",
        "httpMethod": "GET",
        "headers": {"Accept": "*/*", header: token, "X-Forwarded-For": "203.0.113.9"},
        "multiValueHeaders": {header: [token]},
        "pathParameters": {"tranId": "1"},
        "stageVariables": None,
        "requestContext": {"path": "/api/v1/payment/1", "stage": "api", "identity": {"sourceIp": SOURCE}},
        **changes,
    }


def _authorize(token: str) -> Any:
    return authorizer.authorizer(_event(token), SimpleNamespace())


def _effects(answer: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (item["Effect"], resource) for item in answer["policyDocument"]["Statement"] for resource in item["Resource"]
    }


@pytest.mark.usefixtures("moto")
def test_a_caller_is_let_in_everywhere_and_named_with_the_credential_version() -> None:
    account = an_account(credential_version=3, terminal_id=5)

    answer = _authorize(account.basic)

    assert answer["context"] == {
        "agent": str(account.agent.id),
        "client": str(account.agent.client_id),
        "version": "3",
        "terminal": "5",
        "ends": "",
        "by": "password",
    }
    assert _authorize(account.basic_with_key)["context"]["by"] == "key"
    assert _effects(answer) == {("Allow", "arn:aws:execute-api:eu-west-1:123456789012:api/stage/*/*")}


@pytest.mark.usefixtures("moto")
@pytest.mark.parametrize(("token", "error"), [("Basic x", ErrorCode.BAD_CREDENTIAL), ("", ErrorCode.NO_CREDENTIAL)])
def test_a_denial_says_why(token: str, error: ErrorCode) -> None:
    answer = _authorize(token)

    assert answer["context"] == {"code": str(error.code), "message": error.message}
    assert not [effect for effect, _ in _effects(answer) if effect == "Allow"]


@pytest.mark.usefixtures("moto")
@pytest.mark.parametrize("refusal", [ErrorCode.AGENT_BLOCKED, ErrorCode.LOGIN_LOCKED])
def test_the_gateway_remembers_no_denial_that_may_end_at_any_moment(give: Give, refusal: ErrorCode) -> None:
    give(client=through(failing(ServiceError(refusal))))

    answer = _authorize(basic("till@shop.example", "a password"))

    assert {effect for effect, _ in _effects(answer)} == {"Allow"}  # the API's function refuses it each time
    assert answer["context"]["code"] == str(refusal.code)


def test_the_reason_of_a_denial_fits_into_json_as_it_is() -> None:
    for error in (error for error in ErrorCode if error.is_denial):
        assert json.loads(f'"{error.message}"') == error.message  # the gateway's template does not escape


@pytest.mark.usefixtures("moto")
@pytest.mark.parametrize("header", ["Authorization", "authorization", "AUTHORIZATION"])
def test_the_header_is_found_in_any_case(header: str) -> None:
    account = an_account()

    answer = authorizer.authorizer(_event(account.basic_with_key, header), SimpleNamespace())

    assert answer["principalId"] == str(account.agent.id)


@pytest.mark.usefixtures("moto")
@pytest.mark.parametrize("headers", [None, {}, {"Accept": "*/*"}])
def test_a_request_without_the_header_has_no_credential(headers: Any) -> None:
    answer = authorizer.authorizer(_event("", headers=headers), SimpleNamespace())

    assert answer["context"]["code"] == str(ErrorCode.NO_CREDENTIAL.code)


@pytest.mark.usefixtures("moto")
def test_an_event_with_a_token_alone_is_understood_while_a_stage_is_updated() -> None:
    account = an_account()
    event = {"type": "TOKEN", "authorizationToken": account.basic_with_key, "methodArn": ARN}

    assert authorizer.authorizer(event, SimpleNamespace())["principalId"] == str(account.agent.id)


@pytest.mark.usefixtures("moto")
def test_chalices_test_client_calls_it_in_its_own_way(capsys: pytest.CaptureFixture[str]) -> None:
    account = an_account()
    gateway = LocalGateway(importlib.import_module("app").app, Config.create(chalice_stage="local", app_name="x"))

    def status(authorization: str) -> int:
        answer = gateway.handle_request("GET", "/api/v1/payment/x", {"Authorization": authorization}, None)
        return int(answer["statusCode"])

    assert status(account.basic_with_key) == 404
    capsys.readouterr()
    with pytest.raises(ForbiddenError):
        status(basic(account.email, "wrong"))
    assert json.loads(capsys.readouterr().out)["source"] == "127.0.0.1"


@pytest.mark.usefixtures("moto")
def test_a_denial_is_logged_with_the_address_that_the_gateway_saw(capsys: pytest.CaptureFixture[str]) -> None:
    account = an_account()

    _authorize(basic(account.email, "wrong"))

    line = json.loads(capsys.readouterr().out)
    assert (line["event"], line["source"]) == ("denied", SOURCE)


def test_an_outage_is_no_denial_the_gateway_could_remember(give: Give) -> None:
    give(client=through(failing(ServiceError(ErrorCode.STORE_UNAVAILABLE))))

    with pytest.raises(ServiceError):
        _authorize(basic("till@shop.example", "a password"))


@pytest.mark.usefixtures("moto")
@pytest.mark.parametrize("error", [KeyError("Basic c2VjcmV0OnNlY3JldA=="), ServiceError(ErrorCode.INTERNAL)])
def test_a_defect_is_no_policy_and_shows_nothing_of_the_credential(
    error: Exception, give: Give, capsys: pytest.CaptureFixture[str]
) -> None:
    give(client=through(failing(error)))

    answer = _authorize("Basic c2VjcmV0OnNlY3JldA==")

    printed = "".join(capsys.readouterr())
    assert answer is None  # null in JSON, which API Gateway cannot parse as a policy
    assert json.loads(printed)["event"] == "defect"
    assert "c2VjcmV0" not in printed


def test_a_cold_start_of_the_authorizer_loads_neither_pydantic_nor_the_routes_nor_what_one_scheme_needs() -> None:
    command = [sys.executable, "-c", LOADED]
    loaded = set(json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout))

    assert "chalicelib.services.authentication" in loaded
    assert not {"pydantic", "pydantic_core", "jwt", "argon2", "cryptography", "phonenumbers", "simplejson"} & loaded
    assert not {"http.client", "ssl"} & loaded  # the first call of AWS loads them
    assert not [
        name
        for name in loaded
        if name.startswith(("chalicelib.routes", "chalicelib.endpoints", "chalicelib.schemas", "chalicelib.web"))
    ]


@pytest.mark.parametrize(
    ("handler", "is_tried"),
    [("chalicelib.authorizer.authorizer", True), ("app.app", False), ("chalicelib.routes.jobs.sweep", False)],
)
def test_only_the_function_itself_fetches_the_secret_before_its_first_request_and_starts_without_it(
    handler: str, *, is_tried: bool
) -> None:
    nowhere = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{ports.free_port()}", "_HANDLER": handler}
    command = [sys.executable, "-c", FETCHED_EARLY]
    environment = {**stage_settings.ENVIRONMENT, **nowhere}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)

    *lines, outcome = done.stdout.splitlines()
    assert outcome == ("tried" if is_tried else "not tried")
    assert [json.loads(line)["event"] for line in lines] == ["secret_not_fetched_early"] * is_tried
