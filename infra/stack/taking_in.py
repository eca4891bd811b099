"""A deleted stack leaves its tables, bucket, key and secret. A new stack takes them in: an import of CloudFormation.

It imports a resource only under a literal name, so the template of the import has no function in names. The deployment
that follows brings all else, and changes nothing of these: their names and properties are the same.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError

from infra.stack.cloudformation import resolved
from infra.stack.releases import KEPT, DeployError, stored
from infra.stack.resources import BUCKET_TYPE, SECRET_TYPE, TABLE_TYPE

Template = dict[str, Any]
KEY_TYPE, POLICY_TYPE = "AWS::KMS::Key", "AWS::S3::BucketPolicy"


def take_in(client: Any, build: Path, stack: str, bucket: str, token: str) -> None:
    """Create the stack from what is left of it. Raises DeployError if something of it is missing."""
    sam = json.loads((build / "sam.json").read_text(encoding="utf-8"))
    template = template_of(sam, stack, client.meta.region_name)
    found = [
        {"ResourceType": item["Type"], "LogicalResourceId": name, "ResourceIdentifier": _identifier(item, template)}
        for name, item in template["Resources"].items()
    ]
    names = {"StackName": stack, "ChangeSetName": token}
    client.create_change_set(
        **names, ChangeSetType="IMPORT", ResourcesToImport=found, TemplateURL=stored(template, stack, bucket)
    )
    client.get_waiter("change_set_create_complete").wait(**names)
    client.execute_change_set(**names)
    client.get_waiter("stack_import_complete").wait(StackName=stack)
    print(f"{stack} has {len(found)} resources of the deleted stack again.", flush=True)


def template_of(sam: Mapping[str, Any], stack: str, region: str) -> Template:
    """Return the template of the import: the resources that a deletion leaves, with literal names."""
    _, partition, _, _, account, *_ = boto3.client("sts").get_caller_identity()["Arn"].split(":")
    here = {"AWS::AccountId": account, "AWS::Partition": partition, "AWS::Region": region, "AWS::StackName": stack}
    kept = {name: item for name, item in sam["Resources"].items() if item.get("DeletionPolicy") == KEPT}
    literal: Template = resolved(sam, kept, **here)
    for item in literal.values():
        item["DeletionPolicy"] = "Retain"
        if item["Type"] == POLICY_TYPE:
            item["Properties"]["Bucket"] = literal["Bucket"]["Properties"]["BucketName"]
    return {"Resources": literal}


def _identifier(item: Mapping[str, Any], template: Template) -> dict[str, str]:
    """Return the name by which CloudFormation finds a resource, which must exist."""
    kind, properties = item["Type"], item["Properties"]
    try:
        if kind == TABLE_TYPE:
            boto3.client("dynamodb").describe_table(TableName=properties["TableName"])
            return {"TableName": properties["TableName"]}
        if kind == BUCKET_TYPE:
            boto3.client("s3").head_bucket(Bucket=properties["BucketName"])
            return {"BucketName": properties["BucketName"]}
        if kind == SECRET_TYPE:
            return {"Id": boto3.client("secretsmanager").describe_secret(SecretId=properties["Name"])["ARN"]}
        return {"KeyId": _key_of(template)} if kind == KEY_TYPE else {"Bucket": properties["Bucket"]}
    except ClientError as refusal:
        name = next((value for key, value in properties.items() if key.endswith("Name")), kind)
        message = f"{name} is missing: restore it first. {refusal}"
        raise DeployError(message) from refusal


def _key_of(template: Template) -> str:
    """Return the ID of the key of the tables. Its alias went with the stack."""
    table = next(one for one in template["Resources"].values() if one["Type"] == TABLE_TYPE)
    described = boto3.client("dynamodb").describe_table(TableName=table["Properties"]["TableName"])["Table"]
    return str(described["SSEDescription"]["KMSMasterKeyArn"].rpartition("/")[2])
