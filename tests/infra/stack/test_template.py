"""The template that is deployed, as `make package` makes it."""

import importlib
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from chalicelib.endpoints import DOCUMENTS, ENDPOINTS
from infra.stack import names, resources, template
from infra.stack.cloudformation import deployed, resolved
from infra.stack.package import ROOT
from tests.infra.stack.creation_order import created_before

LINTER = ROOT / ".engines" / "tools" / "bin" / "cfn-lint"
APP = importlib.import_module("app").app


def of_type(sam: dict[str, Any], kind: str) -> dict[str, Any]:
    return {name: item["Properties"] for name, item in sam["Resources"].items() if item["Type"] == kind}


def test_cfn_lint_has_nothing_against_it(build: Path) -> None:
    if not LINTER.exists():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("cfn-lint is missing: `make tools`")
    done = subprocess.run(
        [LINTER, "--regions", "eu-west-1", "--", str(build / "sam.json")], capture_output=True, text=True, check=False
    )

    assert (done.stdout, done.returncode) == ("", 0)


def test_it_is_made_of_the_one_definition(sam: dict[str, Any]) -> None:
    for name, item in resources.definition()["Resources"].items():
        for key, value in item["Properties"].items():
            assert sam["Resources"][name]["Properties"][key] == value or key == "GatewayResponses"


def test_every_endpoint_is_behind_the_authorizer_unless_it_is_public(sam: dict[str, Any]) -> None:
    paths = sam["Resources"]["RestAPI"]["Properties"]["DefinitionBody"]["paths"]

    assert set(paths) == {endpoint.path for endpoint in (*ENDPOINTS, *DOCUMENTS)}
    for endpoint in (*ENDPOINTS, *DOCUMENTS):
        operation = paths[endpoint.path][endpoint.method.lower()]
        assert operation.get("security", []) == ([] if endpoint.public else [{"authorizer": []}])


def test_every_function_has_the_python_that_was_chosen(sam: dict[str, Any]) -> None:
    functions = of_type(sam, "AWS::Serverless::Function")

    assert set(functions) == set(template.function_names(APP))
    assert {function["Runtime"] for function in functions.values()} == {"python3.13"}


def test_tls_before_1_2_is_refused_at_every_address(sam: dict[str, Any]) -> None:
    api = sam["Resources"]["RestAPI"]["Properties"]
    hosts = of_type(sam, "AWS::ApiGateway::DomainName")

    assert set(hosts) == {"BaseDomainName", "ProcessingDomainName"}
    for address in (api, *hosts.values()):
        assert {name: address[name] for name in template.TLS} == {
            "SecurityPolicy": "SecurityPolicy_TLS13_1_2_2021_06",
            "EndpointAccessMode": "STRICT",
        }
    # The policy is one of regional APIs. Those at the edge have others.
    assert api["EndpointConfiguration"] == "REGIONAL"
    assert all(host["EndpointConfiguration"] == {"Types": ["REGIONAL"]} for host in hosts.values())


@pytest.mark.parametrize(
    ("domain", "address"),
    [
        ({"BaseDomain": "api.example.com"}, "https://api.example.com"),
        ({}, {"Fn::Sub": "https://${RestAPI}.execute-api.eu-west-1.amazonaws.com/api"}),
    ],
)
def test_the_health_probe_asks_the_address_that_tills_use(
    sam: dict[str, Any], domain: dict[str, str], address: Any
) -> None:
    variables = sam["Resources"]["ProbeHealth"]["Properties"]["Environment"]["Variables"]

    assert resolved(sam, variables["PUBLIC_ADDRESS"], **domain) == address


def test_the_authorizer_is_called_with_the_whole_request_and_remembered_by_its_header(sam: dict[str, Any]) -> None:
    definitions = sam["Resources"]["RestAPI"]["Properties"]["DefinitionBody"]["securityDefinitions"]
    authorizer = definitions["authorizer"]["x-amazon-apigateway-authorizer"]

    assert set(definitions) == {"authorizer"}
    assert authorizer["authorizerUri"]
    assert {name: value for name, value in authorizer.items() if name != "authorizerUri"} == {
        "type": "request",
        "identitySource": "method.request.header.Authorization",
        "authorizerResultTtlInSeconds": 60,
    }
    assert definitions["authorizer"]["x-amazon-apigateway-authtype"] == "custom"


def test_every_function_has_a_role_a_log_and_traces_of_its_own(sam: dict[str, Any]) -> None:
    functions = of_type(sam, "AWS::Serverless::Function")

    assert set(functions) == set(template.function_names(APP))
    roles = [json.dumps(function["Role"]) for function in functions.values()]
    logs = [json.dumps(function["LoggingConfig"]) for function in functions.values()]
    assert len(set(roles)) == len(set(logs)) == len(functions)
    traced = {name for name, function in functions.items() if function["Tracing"] == "Active"}
    assert traced == {"APIHandler", "Authorizer"}  # not the jobs: their traces would cost more than their runs
    for name, function in functions.items():
        log = sam["Resources"][function["LoggingConfig"]["LogGroup"]["Ref"]]["Properties"]
        group = log["LogGroupName"]["Fn::Sub"]
        role = sam["Resources"][function["Role"]["Fn::GetAtt"][0]]["Properties"]
        written = [one for one in statements(role) if one["Action"][0].startswith("logs:")]
        assert [group + ":*" in resource["Fn::Sub"] for resource in written[0]["Resource"]] == [True], name


def statements(role: dict[str, Any]) -> list[dict[str, Any]]:
    (policy,) = role["Policies"]
    listed: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
    return listed


def test_a_sweep_runs_every_minute_and_the_health_probe_every_five(sam: dict[str, Any]) -> None:
    for name, source in sources_of_events(sam).items():
        if source["Type"] == "Schedule":
            expected = "rate(5 minutes)" if name == "ProbeHealth" else "rate(1 minute)"
            assert source["Properties"]["Schedule"] == expected, name


def sources_of_events(sam: dict[str, Any]) -> dict[str, Any]:
    """Return what calls each job."""
    found = {}
    for event in APP.event_sources:
        name = "".join(word.capitalize() for word in event.name.split("_"))
        (found[name],) = sam["Resources"][name]["Properties"]["Events"].values()
    return found


def test_a_function_at_a_stream_loses_no_record_unreported(sam: dict[str, Any]) -> None:
    streams = {name: one["Properties"] for name, one in sources_of_events(sam).items() if one["Type"] == "DynamoDB"}

    assert {name: one["Stream"]["Fn::GetAtt"] for name, one in streams.items()} == {
        "DeliverEvents": ["Events", "StreamArn"],
        "DeliverOutbox": ["Outbox", "StreamArn"],
    }
    for source in streams.values():
        assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert source["BisectBatchOnFunctionError"]
        assert source["StartingPosition"] == "TRIM_HORIZON"
        assert source["DestinationConfig"]["OnFailure"]["Destination"] == {"Fn::GetAtt": ["LostRecords", "Arn"]}
        assert all(json.loads(one["Pattern"]) for one in source["FilterCriteria"]["Filters"])


def test_the_functions_that_call_acquirers_can_stand_in_subnets(sam: dict[str, Any]) -> None:
    inside = {"SubnetIds": {"Ref": "SubnetIds"}, "SecurityGroupIds": {"Ref": "SecurityGroupIds"}}
    functions = of_type(sam, "AWS::Serverless::Function")

    placed = {name for name, one in functions.items() if "VpcConfig" in one}
    roles = sam["Resources"]["NetworkPolicy"]["Properties"]["Roles"]

    assert placed == {"APIHandler", "Sweep"}
    for name in placed:
        assert functions[name]["VpcConfig"] == {"Fn::If": ["HasSubnets", inside, {"Ref": "AWS::NoValue"}]}
        assert functions[name]["Role"]["Fn::GetAtt"][0] in {role["Ref"] for role in roles}
        assert "NetworkPolicy" in created_before(deployed(sam, SubnetIds="a", SecurityGroupIds="b"))[name]
        assert "NetworkPolicy" not in created_before(deployed(sam))[name]


def test_no_name_is_kept_by_a_creation_that_is_rolled_back(sam: dict[str, Any]) -> None:
    kept = {name for name, item in sam["Resources"].items() if item.get("DeletionPolicy") == "Retain"}

    assert kept == {"GatewayAccount", "GatewayLogsRole"}  # without a name; other stages of the account use the role


def test_each_name_that_has_the_stacks_name_is_compared_with_what_aws_takes(sam: dict[str, Any]) -> None:
    for logical, item in sam["Resources"].items():
        for name, value in item["Properties"].items():
            if name.endswith("Name") and "AWS::StackName" in json.dumps(value):
                assert names.RULES[item["Type"]].name == name, logical


@pytest.mark.parametrize(
    ("stack", "said"),
    [
        ("payments-prod", ""),
        ("p" * 44, ""),
        ("p" * 45, "has 64 characters, and AWS takes 63: name the stack with at most 44."),
        ("Payments", "must be lower case"),
        ("payments-Prod", "must be lower case"),
        ("payments_prod", "is no name of a stack"),
        ("1payments", "is no name of a stack"),
    ],
)
def test_a_name_that_aws_does_not_take_is_found_before_anything_is_created(
    stack: str, said: str, sam: dict[str, Any]
) -> None:
    found = names.problems(sam, stack)

    assert bool(found) == bool(said)
    assert said in "".join(found)


def test_each_address_and_arn_is_one_of_its_partition(sam: dict[str, Any]) -> None:
    found = re.findall(r'"([^" ]*(?:arn:aws|amazonaws\.com)[^" ]*)"', json.dumps(sam))

    assert set(found) == {
        f"{name}.amazonaws.com" for name in ("apigateway", "cloudwatch", "lambda", "ses")
    }  # also in China
