"""The resources of a stage, read from `resources.json`, and its tables created on an engine or compared with one.

The local stage has the same resources. Those of `cloud.json` (hosts, access log, network) exist in the cloud only.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from infra.local.data_folder import DataFolderError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

FOLDER = Path(__file__).parent
# The stack of the local stage.
STACK = "payments-local"
REGION: Literal["eu-west-1"] = "eu-west-1"
ACCOUNT_ID = "123456789012"  # moto's
TABLE_TYPE = "AWS::DynamoDB::Table"
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
            **({"StreamSpecification": stream} if (stream := _stream_of(table)) else {}),
        }
        for table in properties_of(TABLE_TYPE)
    ]


def _stream_of(table: dict[str, Any]) -> dict[str, Any] | None:
    """Return the stream of a table for CreateTable, which unlike a template must enable it."""
    specification = table.get("StreamSpecification")
    return {"StreamEnabled": True, **specification} if specification else None


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


INDEX_KINDS = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")


def create_missing(client: "DynamoDBClient", stack: str) -> None:
    """Create the tables of the stack that do not exist. Raises DataFolderError when one has another definition."""
    existing = set(client.list_tables()["TableNames"])
    for arguments in create_table_arguments(stack):
        name = arguments["TableName"]
        if name not in existing:
            client.create_table(**arguments)
            continue
        table = client.describe_table(TableName=name)["Table"]
        if _definition(table) != _definition(arguments):
            raise _changed(name)
        if "StreamSpecification" in arguments and "StreamSpecification" not in table:
            client.update_table(TableName=name, StreamSpecification=arguments["StreamSpecification"])


def enable_ttl(client: "DynamoDBClient", stack: str) -> None:
    """Enable the TTL of the tables that have one. Raises DataFolderError when it is enabled on another attribute."""
    for name, specification in ttl_specifications(stack).items():
        found = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        if found["TimeToLiveStatus"] == "DISABLED":
            client.update_time_to_live(TableName=name, TimeToLiveSpecification=specification)  # type: ignore[arg-type]
        elif found["AttributeName"] != specification["AttributeName"]:
            raise _changed(name)


def _definition(table: Mapping[str, Any]) -> tuple[object, ...]:
    """Return the parts that cannot be changed: the keys, and the indexes by name."""
    attributes = {attribute["AttributeName"]: attribute["AttributeType"] for attribute in table["AttributeDefinitions"]}
    indexes = {
        index["IndexName"]: (kind, index["KeySchema"], index["Projection"])
        for kind in INDEX_KINDS
        for index in table.get(kind, ())
    }
    return table["KeySchema"], attributes, indexes


def _changed(name: str) -> DataFolderError:
    message = f"The table {name} in DATA is not as resources.json defines it. Take another folder, or delete this one."
    return DataFolderError(message)
