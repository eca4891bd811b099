"""How much of a stage one caller, one route or one job can take."""

import json
import re
from typing import Any

import pytest

from chalicelib.endpoints import DOCUMENTS, ENDPOINTS
from infra.reference import ROOT
from infra.stack import resources
from infra.stack.cloudformation import deployed
from infra.stack.parameters import quota
from tests.infra.stack.test_template import of_type

PUBLIC = [endpoint for endpoint in (*ENDPOINTS, *DOCUMENTS) if endpoint.public]
PERIOD_SECONDS = 60  # of the sweep
UNRESERVED = 100  # runs that AWS keeps for functions without a reservation


def throttles(sam: dict[str, Any], **parameters: int) -> dict[tuple[str, str], tuple[int, int]]:
    """Return rate and burst by method and path."""
    return {
        (one["HttpMethod"], one["ResourcePath"]): (one["ThrottlingRateLimit"], one["ThrottlingBurstLimit"])
        for one in deployed(sam, **parameters)["RestAPI"]["Properties"]["MethodSettings"]
    }


def throttled_as(endpoint: Any) -> tuple[str, str]:
    return endpoint.method, "/" + endpoint.path.replace("/", "~1") if endpoint.path != "/" else "/"


@pytest.mark.parametrize("endpoint", PUBLIC, ids=lambda endpoint: endpoint.name)
def test_a_public_route_has_a_throttle_of_its_own(endpoint: Any, sam: dict[str, Any]) -> None:
    login = endpoint.name == "accounts_session"

    rate, burst = throttles(sam)[throttled_as(endpoint)]
    assert (rate, burst) == ((20, 40) if login else (50, 100))
    kind = "Login" if login else "Public"
    assert throttles(sam, **{f"{kind}RateLimit": 7})[throttled_as(endpoint)] == (7, burst)


def test_all_other_routes_share_the_throttle_of_the_stage(sam: dict[str, Any]) -> None:
    found = throttles(sam)

    assert found.pop(("*", "/*")) == (200, 400)
    assert set(found) == {(method, throttled_as(endpoint)[1]) for endpoint in PUBLIC for method in endpoint.methods}


def test_the_throttle_of_a_route_with_a_part_names_the_part_as_the_gateway_does(sam: dict[str, Any]) -> None:
    assert ("GET", "/~1api~1v1~1payment~1statusPublic~1{tranId}") in throttles(sam)


def test_there_is_one_stage_and_the_api_answers_no_other(sam: dict[str, Any]) -> None:
    items = deployed(sam)

    assert items["RestAPI"]["Properties"]["OpenApiVersion"] == "2.0"  # else SAM makes a second one, without limits
    assert items["RestAPI"]["Properties"]["StageName"] == "api"
    assert items["APIHandlerInvokePermission"]["Properties"]["SourceArn"]["Fn::Sub"].endswith(":${RestAPI}/api/*")


def reserved(sam: dict[str, Any], function: str, **parameters: int) -> int | None:
    concurrency: int | None = deployed(sam, **parameters)[function]["Properties"].get("ReservedConcurrentExecutions")
    return concurrency


@pytest.mark.parametrize(
    ("function", "parameter", "default"),
    [
        ("Authorizer", "AuthorizerConcurrency", 100),
        ("APIHandler", "ApiConcurrency", None),
        ("Sweep", "SweepConcurrency", 1),
    ],
)
def test_a_function_reserves_what_the_account_decides(
    function: str, parameter: str, default: int | None, sam: dict[str, Any]
) -> None:
    assert reserved(sam, function) == default
    assert reserved(sam, function, **{parameter: 0}) is None
    assert reserved(sam, function, **{parameter: 1}) == 1


def test_the_operators_guide_names_the_quota_of_concurrent_runs(sam: dict[str, Any]) -> None:
    guide = (ROOT / "docs" / "operator.md").read_text(encoding="utf-8")
    functions = of_type(sam, "AWS::Serverless::Function")

    limited = [name for name in resources.definition()["Parameters"] if name.endswith("Concurrency")]
    without = [name for name in limited if sam["Parameters"][name]["Default"]]
    assert quota(sam) == UNRESERVED + sum(reserved(sam, function) or 0 for function in functions)
    assert re.search(rf"{quota(sam)} with\s+the default values", guide)
    assert f"(`{'`, `'.join(sorted(without))}`)" in guide
    assert [reserved(sam, function, **dict.fromkeys(without, 0)) for function in functions] == [None] * len(functions)


def test_runs_of_the_sweep_do_not_pile_up(sam: dict[str, Any]) -> None:
    function = deployed(sam)["Sweep"]["Properties"]

    assert function["ReservedConcurrentExecutions"] == 1
    assert function["EventInvokeConfig"] == {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": PERIOD_SECONDS}
    assert function["Timeout"] < PERIOD_SECONDS
    assert sam["Parameters"]["SweepConcurrency"]["AllowedValues"] == [0, 1]


def test_the_sweep_has_nearly_the_whole_minute(sam: dict[str, Any]) -> None:
    assert sam["Resources"]["Sweep"]["Properties"]["Timeout"] == 58


def web_acls(items: dict[str, Any]) -> list[str]:
    return [name for name, item in items.items() if item["Type"].startswith("AWS::WAFv2::")]


def test_there_is_no_web_acl_unless_it_is_asked_for(sam: dict[str, Any]) -> None:
    assert web_acls(deployed(sam)) == []
    assert web_acls(deployed(sam, AddressRateLimit="0")) == []
    assert len(web_acls(deployed(sam, AddressRateLimit="2000"))) == 2


def test_the_web_acl_limits_each_source_address_of_the_stage(sam: dict[str, Any]) -> None:
    items = deployed(sam, AddressRateLimit="2000")

    acl = items["WebACL"]["Properties"]
    (rule,) = acl["Rules"]
    assert rule["Statement"]["RateBasedStatement"] == {
        "Limit": "2000",
        "AggregateKeyType": "IP",
        "EvaluationWindowSec": 300,
    }
    assert (acl["Scope"], acl["DefaultAction"]) == ("REGIONAL", {"Allow": {}})
    stage = items["WebACLOfTheStage"]["Properties"]["ResourceArn"]["Fn::Sub"]
    assert stage.endswith("::/restapis/${RestAPI}/stages/${RestAPI.Stage}")


def test_an_address_over_its_limit_gets_the_answer_of_a_throttled_request(sam: dict[str, Any]) -> None:
    acl = deployed(sam, AddressRateLimit="2000")["WebACL"]["Properties"]

    answer = acl["Rules"][0]["Action"]["Block"]["CustomResponse"]
    body = acl["CustomResponseBodies"][answer["CustomResponseBodyKey"]]
    throttled = resources.gateway_responses()["THROTTLED"]
    assert str(answer["ResponseCode"]) == throttled["StatusCode"]
    assert json.loads(body["Content"]) == json.loads(throttled["ResponseTemplates"]["application/json"])
    of_every_answer = {"Strict-Transport-Security", "X-Content-Type-Options"}
    assert {header["Name"] for header in answer["ResponseHeaders"]} == {"Retry-After", *of_every_answer}


def test_a_page_of_an_allowed_origin_can_read_that_its_address_is_over_the_limit(sam: dict[str, Any]) -> None:
    shop = "https://shop.example"

    acl = deployed(sam, AddressRateLimit="2000", AllowedOrigins=shop)["WebACL"]["Properties"]

    headers = {
        one["Name"]: one["Value"] for one in acl["Rules"][0]["Action"]["Block"]["CustomResponse"]["ResponseHeaders"]
    }
    assert headers["Access-Control-Allow-Origin"] == shop
    assert "Retry-After" in headers["Access-Control-Expose-Headers"]


def test_the_web_acl_stores_no_samples_of_requests_which_would_hold_credentials(sam: dict[str, Any]) -> None:
    acl = deployed(sam, AddressRateLimit="2000")["WebACL"]["Properties"]

    for item in (acl, *acl["Rules"]):
        assert item["VisibilityConfig"]["SampledRequestsEnabled"] is False
