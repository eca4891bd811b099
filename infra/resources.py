"""Reads `resources.json`, the one definition of what a stage is made of."""

import json
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("resources.json")
TABLE = "AWS::DynamoDB::Table"
SECRET = "AWS::SecretsManager::Secret"  # noqa: S105  the name of a resource type, not a secret

# What DynamoDB Local has no use for: it keeps everything in memory until it is stopped.
_DEPLOYED_ONLY = {"PointInTimeRecoverySpecification", "SSESpecification", "TimeToLiveSpecification", "TableName"}


@cache
def definition() -> dict[str, Any]:
    """The file, parsed."""
    parsed: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return parsed


def gateway_responses() -> dict[str, dict[str, Any]]:
    """What API Gateway answers itself: by response type, in the form of AWS::Serverless::Api."""
    responses: dict[str, dict[str, Any]] = definition()["Resources"]["RestAPI"]["Properties"]["GatewayResponses"]
    return responses


def declared(kind: str) -> list[dict[str, Any]]:
    """The properties of each resource of this type."""
    return [item["Properties"] for item in definition()["Resources"].values() if item.get("Type") == kind]


def template() -> str:
    """What CloudFormation alone can create: without SAM (`Globals`, `RestAPI`), and secrets, which moto's cannot."""
    resources = definition()["Resources"]
    return json.dumps(
        {"Resources": {name: item for name, item in resources.items() if item.get("Type") not in {None, SECRET}}}
    )


def tables(stack: str) -> list[dict[str, Any]]:
    """The arguments of CreateTable for each table of the stack."""
    return [
        {
            "TableName": named(table["TableName"], stack),
            **{name: value for name, value in table.items() if name not in _DEPLOYED_ONLY},
        }
        for table in declared(TABLE)
    ]


def lifetimes(stack: str) -> dict[str, dict[str, Any]]:
    """The TimeToLiveSpecification of each table that has one."""
    return {
        named(table["TableName"], stack): table["TimeToLiveSpecification"]
        for table in declared(TABLE)
        if "TimeToLiveSpecification" in table
    }


def named(value: dict[str, str], stack: str) -> str:
    """A name of the definition, as it is in this stack."""
    return value["Fn::Sub"].replace("${AWS::StackName}", stack)
