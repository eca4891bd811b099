"""Pages of other origins, in the template that is deployed."""

from typing import Any

import pytest

from chalicelib.endpoints import DOCUMENTS, ENDPOINTS
from infra.stack import resources
from infra.stack.cloudformation import deployed
from tests.support.origins import CORS, SHOP

LOCALHOST = "http://localhost:3000"
NAMES = {f"{CORS}Allow-Origin", f"{CORS}Expose-Headers"}


def api(sam: dict[str, Any], origins: str) -> dict[str, Any]:
    properties: dict[str, Any] = deployed(sam, AllowedOrigins=origins)["RestAPI"]["Properties"]
    return properties


def headers_of_refusals(sam: dict[str, Any], origins: str) -> dict[str, dict[str, str]]:
    responses = api(sam, origins)["GatewayResponses"]
    return {kind: response["ResponseParameters"]["Headers"] for kind, response in responses.items()}


def test_without_origins_the_api_says_nothing_of_them(sam: dict[str, Any]) -> None:
    defined = resources.gateway_responses()

    assert headers_of_refusals(sam, "") == {
        kind: response.get("ResponseParameters", {}).get("Headers", {})
        | {"Strict-Transport-Security": "'max-age=15552000'", "X-Content-Type-Options": "'nosniff'"}
        for kind, response in defined.items()
    }
    assert CORS not in str(api(sam, ""))


@pytest.mark.parametrize(("origins", "readable_by"), [(SHOP, SHOP), (f"{SHOP},{LOCALHOST}", "*")])
def test_every_refusal_of_the_gateway_can_be_read(sam: dict[str, Any], origins: str, readable_by: str) -> None:
    defined = headers_of_refusals(sam, "")

    for kind, headers in headers_of_refusals(sam, origins).items():
        assert headers[f"{CORS}Allow-Origin"] == f"'{readable_by}'"
        assert "Retry-After" in headers[f"{CORS}Expose-Headers"]
        assert {name: value for name, value in headers.items() if name not in NAMES} == defined[kind]


def test_the_function_answers_the_preflights_of_every_path_without_authorizer(sam: dict[str, Any]) -> None:
    for path in api(sam, SHOP)["DefinitionBody"]["paths"].values():
        method = path["x-amazon-apigateway-any-method"]
        assert "options" not in path
        assert "security" not in method
        assert "${APIHandler.Arn}" in method["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"]


def test_head_of_a_public_get_calls_the_function_within_the_limits_of_get(sam: dict[str, Any]) -> None:
    properties = api(sam, "")
    limited = {(one["HttpMethod"], one["ResourcePath"].replace("~1", "/")[1:]) for one in properties["MethodSettings"]}
    public = {one.path for one in (*ENDPOINTS, *DOCUMENTS) if one.method == "GET" and one.public}

    for name, path in properties["DefinitionBody"]["paths"].items():
        assert ("head" in path) is (name in public)
        if name in public:
            assert "security" not in path["head"]
            assert path["head"]["x-amazon-apigateway-integration"] == path["get"]["x-amazon-apigateway-integration"]
            assert ("HEAD", name if name != "/" else "") in limited


def test_the_function_is_told_the_origins(sam: dict[str, Any]) -> None:
    variables = deployed(sam, AllowedOrigins=SHOP)["APIHandler"]["Properties"]["Environment"]["Variables"]

    assert variables["ALLOWED_ORIGINS"] == SHOP


def test_a_changed_parameter_reaches_the_stage(sam: dict[str, Any]) -> None:
    assert api(sam, SHOP)["AlwaysDeploy"] is True
