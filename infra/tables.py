"""The tables of `resources.json` on an engine: created where they are missing, refused where they differ."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from infra import resources
from infra.data_folder import DataFolderError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

INDEX_KINDS = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")


def create_missing(client: "DynamoDBClient", stack: str) -> None:
    """Create the tables of the stack that do not exist. Raises DataFolderError when one has another definition."""
    existing = set(client.list_tables()["TableNames"])
    for arguments in resources.create_table_arguments(stack):
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
    for name, specification in resources.ttl_specifications(stack).items():
        found = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        if found["TimeToLiveStatus"] == "DISABLED":
            client.update_time_to_live(TableName=name, TimeToLiveSpecification=specification)  # type: ignore[arg-type]
        elif found["AttributeName"] != specification["AttributeName"]:
            raise _changed(name)


def _definition(table: Mapping[str, Any]) -> tuple[object, ...]:
    """Return what cannot differ: the keys, and the indexes by name."""
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
