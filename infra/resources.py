"""The reader of `resources.json`, the one definition of the resources of a stage."""

import json
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("resources.json")
TABLE_TYPE = "AWS::DynamoDB::Table"
SECRET_TYPE = "AWS::SecretsManager::Secret"  # noqa: S105  the name of a resource type, not a secret

# DynamoDB Local has no use for these; TTL is enabled on a table that exists.
_DEPLOYED_ONLY = {"PointInTimeRecoverySpecification", "SSESpecification", "TimeToLiveSpecification", "TableName"}


@cache
def definition() -> dict[str, Any]:
    """Return the content of `resources.json`."""
    parsed: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return parsed


def gateway_responses() -> dict[str, dict[str, Any]]:
    """Return the answers that API Gateway gives itself: by response type, in the form of AWS::Serverless::Api."""
    responses: dict[str, dict[str, Any]] = definition()["Resources"]["RestAPI"]["Properties"]["GatewayResponses"]
    return responses


def properties_of(resource_type: str) -> list[dict[str, Any]]:
    """Return the properties of each resource of this type."""
    return [item["Properties"] for item in definition()["Resources"].values() if item.get("Type") == resource_type]


def cloudformation_template() -> str:
    """Return the template for moto's CloudFormation: without SAM (`Globals`, `RestAPI`) and without secrets."""
    resources = definition()["Resources"]
    return json.dumps(
        {"Resources": {name: item for name, item in resources.items() if item.get("Type") not in {None, SECRET_TYPE}}}
    )


def create_table_arguments(stack: str) -> list[dict[str, Any]]:
    """Return the arguments of CreateTable for each table of the stack."""
    return [
        {
            "TableName": physical_name(table["TableName"], stack),
            **{name: value for name, value in table.items() if name not in _DEPLOYED_ONLY},
            **({"StreamSpecification": stream} if (stream := _stream_of(table)) else {}),
        }
        for table in properties_of(TABLE_TYPE)
    ]


def _stream_of(table: dict[str, Any]) -> dict[str, Any] | None:
    """Return the stream of a table as CreateTable takes it: that it is enabled goes without saying in a template."""
    specification = table.get("StreamSpecification")
    return {"StreamEnabled": True, **specification} if specification else None


def ttl_specifications(stack: str) -> dict[str, dict[str, Any]]:
    """Return the TimeToLiveSpecification of each table that has one, by the name of the table."""
    return {
        physical_name(table["TableName"], stack): table["TimeToLiveSpecification"]
        for table in properties_of(TABLE_TYPE)
        if "TimeToLiveSpecification" in table
    }


def physical_name(name: dict[str, str], stack: str) -> str:
    """Return the name a resource has in this stack, from the `Fn::Sub` of the definition."""
    return name["Fn::Sub"].replace("${AWS::StackName}", stack)
