"""The releases of a stack in the bucket of the code: each template, with the zip that it names.

An object has the digest of its content as its name, so a release has one address, however often it is deployed.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3

from infra.stack import names
from infra.stack.resources import FUNCTION_TYPE

Template = dict[str, Any]

GOING_BACK = "docs/operator.md#go-back-to-the-release-before"
RELEASE, RELEASE_BEFORE = "Release", "ReleaseBefore"  # parameters of the stack: the addresses of templates
KEPT = "RetainExceptOnCreate"


class DeployError(Exception):
    """The reason why the new version is not deployed, or not sound."""


def upload(build: Path, stack: str, bucket: str) -> str:
    """Upload the zip and the template. Return the address of the template. Raises DeployError before the upload."""
    template: Template = json.loads((build / "sam.json").read_text(encoding="utf-8"))
    if lines := names.problems(template, stack):
        raise DeployError("\n".join(lines))
    code = _stored((build / "deployment.zip").read_bytes(), stack, bucket, "zip")
    for resource in template["Resources"].values():
        if resource["Type"] == FUNCTION_TYPE:
            resource["Properties"]["CodeUri"] = f"s3://{bucket}/{code}"
    return stored(template, stack, bucket)


def stored(template: Template, stack: str, bucket: str) -> str:
    """Upload a template, and return its address. AWS wants the code of functions in the region of the stack."""
    key = _stored(json.dumps(template).encode(), stack, bucket, "template")
    return f"{boto3.client('s3').meta.endpoint_url}/{bucket}/{key}"


def _stored(content: bytes, stack: str, bucket: str, suffix: str) -> str:
    key = f"{stack}/{hashlib.sha256(content).hexdigest()}.{suffix}"
    boto3.client("s3").put_object(Bucket=bucket, Key=key, Body=content)
    return key


def release_before(stack: str, known: Mapping[str, str]) -> str:
    """Return the address of the release before, to which the tables and other data of the present one are added.

    A stack that loses a table leaves it where it is. Then the next deployment of the newer template meets its name:
    CloudFormation imports only resources with a name that no function makes, such as `Fn::Sub`.
    """
    if not (address := known.get(RELEASE_BEFORE)):
        message = f"{stack} knows no release before this one. Deploy one with its own checkout: {GOING_BACK}"
        raise DeployError(message)
    (bucket, template), (_, newer) = _read(address), _read(known[RELEASE])
    kept = {name: item for name, item in newer["Resources"].items() if item.get("DeletionPolicy") == KEPT}
    if kept.keys() - template["Resources"].keys():
        address = stored({**template, "Resources": {**kept, **template["Resources"]}}, stack, bucket)
    print(f"{stack} goes back to {address}", flush=True)
    return address


def _read(address: str) -> tuple[str, Template]:
    bucket, _, key = urlsplit(address).path.lstrip("/").partition("/")
    return bucket, json.loads(boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read())
