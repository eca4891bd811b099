"""The authorizer: its answers to API Gateway, the modules it loads, and that it never shows a credential."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib import authorizer
from chalicelib.errors import ErrorCode, ServiceError
from chalicelib.services import authentication
from tests.accounts import an_account

ROOT = Path(__file__).parent.parent
ARN = "arn:aws:execute-api:eu-west-1:123456789012:api/stage/GET/api/v1/payment/1"
LOADED = """
import json, sys
import chalicelib.authorizer
print(json.dumps(sorted(sys.modules)))
"""


def _authorize(token: str) -> dict[str, Any]:
    event = {"type": "TOKEN", "authorizationToken": token, "methodArn": ARN}
    answer: dict[str, Any] = authorizer.authorizer(event, SimpleNamespace())
    return answer


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
    }
    assert _effects(answer) == {("Allow", "arn:aws:execute-api:eu-west-1:123456789012:api/stage/*/*")}


@pytest.mark.usefixtures("moto")
@pytest.mark.parametrize(("token", "error"), [("Basic x", ErrorCode.BAD_CREDENTIAL), ("", ErrorCode.NO_CREDENTIAL)])
def test_a_denial_says_why(token: str, error: ErrorCode) -> None:
    answer = _authorize(token)

    assert answer["context"] == {"code": str(error.code), "message": error.message}
    assert not [effect for effect, _ in _effects(answer) if effect == "Allow"]


def test_the_reason_of_a_denial_fits_into_json_as_it_is() -> None:
    for error in (error for error in ErrorCode if error.status == 401):
        assert json.loads(f'"{error.message}"') == error.message  # the gateway's template does not escape


def test_an_outage_is_no_denial_the_gateway_could_remember(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise ServiceError(ErrorCode.STORE_UNAVAILABLE)

    monkeypatch.setattr(authentication, "caller_of", unreachable)

    with pytest.raises(ServiceError):
        _authorize("Basic abc")


@pytest.mark.usefixtures("moto")
def test_a_defect_shows_nothing_of_the_credential(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def defect(authorization: str, *_: object) -> None:
        raise KeyError(authorization)

    monkeypatch.setattr(authentication, "caller_of", defect)

    with pytest.raises(ServiceError) as failure:
        _authorize("Basic c2VjcmV0OnNlY3JldA==")

    printed = "".join(capsys.readouterr())
    assert "KeyError" in printed
    assert "c2VjcmV0" not in printed + str(failure.value)
    assert failure.value.__suppress_context__


def test_a_cold_start_of_the_authorizer_loads_neither_pydantic_nor_the_routes_nor_what_one_scheme_needs() -> None:
    command = [sys.executable, "-c", LOADED]
    loaded = set(json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout))

    assert "chalicelib.services.authentication" in loaded
    assert not {"pydantic", "pydantic_core", "jwt", "argon2", "cryptography", "phonenumbers", "simplejson"} & loaded
    assert not [
        name for name in loaded if name.startswith(("chalicelib.routes", "chalicelib.schemas", "chalicelib.web"))
    ]
