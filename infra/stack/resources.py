"""The resources of a stage, read from `resources.json`, and its tables created on an engine.

The local stage has the same resources. Those of `cloud.json` (hosts, access log, network) exist in the cloud only.
"""

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chalicelib.store.aws_client import REGION as REGION  # noqa: PLC0414  the region of the local stage

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

FOLDER = Path(__file__).parent
# The stack of the local stage.
STACK = "payments-local"
ACCOUNT_ID = "123456789012"  # moto's
TABLE_TYPE = "AWS::DynamoDB::Table"
FUNCTION_TYPE = "AWS::Serverless::Function"
ALIAS_TYPE = "AWS::KMS::Alias"
BUCKET_TYPE = "AWS::S3::Bucket"
SECRET_TYPE = "AWS::SecretsManager::Secret"  # noqa: S105  the name of a resource type, not a secret

# Not for DynamoDB Local. TTL is enabled after a table was created.
_DEPLOYED_ONLY = {"PointInTimeRecoverySpecification", "SSESpecification", "TimeToLiveSpecification", "TableName"}


@cache
def definition() -> dict[str, Any]:
    """Return the content of `resources.json`."""
    parsed: dict[str, Any] = json.loads((FOLDER / "resources.json").read_text(encoding="utf-8"))
    return parsed


def cloud() -> dict[str, dict[str, Any]]:
    """Return the content of `cloud.json`: the resources that only a stage in the cloud has, in groups."""
    parsed: dict[str, dict[str, Any]] = json.loads((FOLDER / "cloud.json").read_text(encoding="utf-8"))
    return parsed


def gateway_responses() -> dict[str, dict[str, Any]]:
    """Return API Gateway's own answers by response type, in the form of AWS::Serverless::Api."""
    responses: dict[str, dict[str, Any]] = definition()["Resources"]["RestAPI"]["Properties"]["GatewayResponses"]
    return responses


def properties_of(resource_type: str) -> list[dict[str, Any]]:
    """Return the properties of each resource of this type."""
    return [item["Properties"] for item in definition()["Resources"].values() if item.get("Type") == resource_type]


def create_table_arguments(stack: str) -> list[dict[str, Any]]:
    """Return the arguments of CreateTable for each table of the stack."""
    return [
        {
            "TableName": physical_name(table["TableName"], stack),
            **{name: value for name, value in table.items() if name not in _DEPLOYED_ONLY},
            # Unlike a template, CreateTable must enable the stream.
            **(
                {"StreamSpecification": {"StreamEnabled": True, **stream}}
                if (stream := table.get("StreamSpecification"))
                else {}
            ),
        }
        for table in properties_of(TABLE_TYPE)
    ]


def ttl_specifications(stack: str) -> dict[str, dict[str, Any]]:
    """Return the TimeToLiveSpecification of each table that has one, by the name of the table."""
    return {
        physical_name(table["TableName"], stack): table["TimeToLiveSpecification"]
        for table in properties_of(TABLE_TYPE)
        if "TimeToLiveSpecification" in table
    }


def physical_name(name: dict[str, str], stack: str, account: str = "") -> str:
    """Return the name a resource has in this stack, from the `Fn::Sub` of the definition."""
    return name["Fn::Sub"].replace("${AWS::StackName}", stack).replace("${AWS::AccountId}", account)


def create_tables(client: "DynamoDBClient", stack: str) -> None:
    """Create the tables of the stack."""
    for arguments in create_table_arguments(stack):
        client.create_table(**arguments)


def enable_ttl(client: "DynamoDBClient", stack: str) -> None:
    """Enable the TTL of the tables that have one."""
    for name, specification in ttl_specifications(stack).items():
        client.update_time_to_live(TableName=name, TimeToLiveSpecification=specification)  # type: ignore[arg-type]
