import json
from typing import Any

import pytest

from chalicelib.errors import ErrorCode
from infra.local import stage_settings
from infra.stack import resources

RESPONSES = resources.gateway_responses()
ERRORS = {error.code: error for error in ErrorCode}
TABLES = resources.properties_of(resources.TABLE_TYPE)

# Every type API Gateway has, from its documentation; one that is not set would answer {"message": ...}.
TYPES = [
    "ACCESS_DENIED",
    "API_CONFIGURATION_ERROR",
    "AUTHORIZER_CONFIGURATION_ERROR",
    "AUTHORIZER_FAILURE",
    "BAD_REQUEST_BODY",
    "BAD_REQUEST_PARAMETERS",
    "DEFAULT_4XX",
    "DEFAULT_5XX",
    "EXPIRED_TOKEN",
    "INTEGRATION_FAILURE",
    "INTEGRATION_TIMEOUT",
    "INVALID_API_KEY",
    "INVALID_SIGNATURE",
    "MISSING_AUTHENTICATION_TOKEN",
    "QUOTA_EXCEEDED",
    "REQUEST_TOO_LARGE",
    "RESOURCE_NOT_FOUND",
    "THROTTLED",
    "UNAUTHORIZED",
    "UNSUPPORTED_MEDIA_TYPE",
    "WAF_FILTERED",
]


def test_every_type_of_gateway_response_is_set() -> None:
    assert sorted(RESPONSES) == sorted(TYPES)


@pytest.mark.parametrize("kind", sorted(set(RESPONSES) - {"ACCESS_DENIED"}))
def test_a_gateway_response_is_the_envelope_of_a_known_error(kind: str) -> None:
    body = json.loads(RESPONSES[kind]["ResponseTemplates"]["application/json"])

    error = ERRORS[body["ErrorCode"]]
    assert body == {"ErrorCode": error.code, "ErrorMessage": error.message, "Validations": None}
    # The gateway gives up waiting after 29 s: the outcome is open, so it is 503 and not 500.
    assert int(RESPONSES[kind]["StatusCode"]) == (503 if kind == "INTEGRATION_TIMEOUT" else error.status)


def test_a_denial_carries_what_the_authorizer_put_in_its_context() -> None:
    text = RESPONSES["ACCESS_DENIED"]["ResponseTemplates"]["application/json"]

    assert text == (
        '{"ErrorCode": $context.authorizer.code, "ErrorMessage": "$context.authorizer.message", "Validations": null}'
    )


def test_a_401_says_how_to_authenticate_and_a_429_or_503_when_to_retry() -> None:
    headers = {kind: response.get("ResponseParameters", {}).get("Headers", {}) for kind, response in RESPONSES.items()}

    for kind, response in RESPONSES.items():
        status = response["StatusCode"]
        assert ("WWW-Authenticate" in headers[kind]) == (status == "401")
        assert ("Retry-After" in headers[kind]) == (status in {"429", "503"})


def test_no_message_needs_escaping_because_api_gateway_does_not_escape() -> None:
    for error in ErrorCode:
        assert json.dumps(error.message) == f'"{error.message}"'


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table["TableName"]["Fn::Sub"].split("-")[-1])
def test_a_table_survives_mistakes_and_is_encrypted_with_the_key_of_the_stage(table: dict[str, Any]) -> None:
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert "DeletionProtectionEnabled" not in table  # a rollback deletes a new table; `make deploy` protects it then
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    key = {"Fn::GetAtt": ["Key", "Arn"]}
    assert table["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": key}


def test_what_holds_data_outlives_its_stack_but_not_a_creation_that_is_rolled_back() -> None:
    for name, item in resources.definition()["Resources"].items():
        if name not in {"RestAPI", "KeyAlias"}:
            assert (item["DeletionPolicy"], item["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain"), name


def test_the_tables_are_those_of_the_design() -> None:
    names = " ".join(resources.physical_name(table["TableName"], "s").removeprefix("s-") for table in TABLES)

    assert names == (
        "merchants agents terminals cards logins sessions transactions history sequences outbox "
        "pricelists drawers webhooks events audit sandbox"
    )


def test_chalices_stage_local_has_the_resources_of_the_local_stage() -> None:
    variables = stage_settings.ENVIRONMENT

    assert {name: variables[name] for name in ("TABLE_PREFIX", "KEY_ID", "BUCKET", "SECRET_ID", "AWS_REGION")} == {
        "TABLE_PREFIX": f"{resources.STACK}-",
        "KEY_ID": f"alias/{resources.STACK}",
        "BUCKET": f"{resources.STACK}-{resources.ACCOUNT_ID}-files",
        "SECRET_ID": f"{resources.STACK}-secret",
        "AWS_REGION": resources.REGION,
    }
