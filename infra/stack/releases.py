"""The releases of a stack in the bucket of the code: each template, with the zip that it names.

An object has the digest of its content as its name, so a release has one address, however often it is deployed.
"""

import copy
import hashlib
import json
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import get_session

from infra.stack.resources import TABLE_TYPE

Template = dict[str, Any]

KEPT = "RetainExceptOnCreate"
FUNCTION_TYPE = "AWS::Serverless::Function"
LEGACY_REGIONS = {None: "us-east-1", "": "us-east-1", "EU": "eu-west-1"}  # as S3 names these two


class ReleaseError(Exception):
    """The reason why a release cannot be deployed again, in one line."""


def upload(build: Path, stack: str, bucket: str, s3: Any) -> tuple[Template, str]:
    """Upload the zip and the template under names of their content. Return the template and its address."""
    content = (build / "deployment.zip").read_bytes()
    code = f"{stack}/{hashlib.sha256(content).hexdigest()}.zip"
    s3.put_object(Bucket=bucket, Key=code, Body=content)
    template = json.loads((build / "sam.json").read_text(encoding="utf-8"))
    for resource in template["Resources"].values():
        if resource["Type"] == FUNCTION_TYPE:
            resource["Properties"]["CodeUri"] = f"s3://{bucket}/{code}"
    return template, stored(template, stack, bucket, s3)


def stored(template: Mapping[str, Any], stack: str, bucket: str, s3: Any) -> str:
    """Upload a template, and return its address."""
    text = json.dumps(template).encode()
    name = f"{stack}/{hashlib.sha256(text).hexdigest()}.template"
    s3.put_object(Bucket=bucket, Key=name, Body=text)
    location = s3.get_bucket_location(Bucket=bucket).get("LocationConstraint")
    region = LEGACY_REGIONS.get(location, location)
    return f"https://{bucket}.s3.{region}.{_domain(str(region))}/{name}"


def _domain(region: str) -> str:
    """Return the end of the addresses in a region: China has another, as botocore's clients know."""
    config = Config(ignore_configured_endpoint_urls=True)  # type: ignore[call-arg]  # its stubs lack it
    address: str = get_session().create_client("dynamodb", region_name=region, config=config).meta.endpoint_url
    return address.partition(f".{region}.")[2]


def read(address: str, s3: Any) -> Template:
    """Return the template at an address, whose zip is there as well. Raises ReleaseError if one of the two is gone."""
    place = (bucket_of(address), urlsplit(address).path.lstrip("/"))
    try:
        template: Template = json.loads(s3.get_object(Bucket=place[0], Key=place[1])["Body"].read())
        for place in sorted(_zips(template)):
            s3.head_object(Bucket=place[0], Key=place[1])
    except ClientError as problem:
        if problem.response["Error"]["Code"] not in {"NoSuchKey", "NoSuchBucket", "404"}:
            raise
        message = f"s3://{'/'.join(place)} is gone, so this release cannot be deployed again. Deploy another one."
        raise ReleaseError(message) from problem
    return template


def bucket_of(address: str) -> str:
    """Return the bucket of a template."""
    return urlsplit(address).netloc.partition(".s3.")[0]


def _zips(template: Template) -> set[tuple[str, str]]:
    """Return bucket and key of the zip of each function."""
    functions = [one["Properties"] for one in template["Resources"].values() if one["Type"] == FUNCTION_TYPE]
    addresses = {urlsplit(one["CodeUri"]) for one in functions}
    return {(one.netloc, one.path.lstrip("/")) for one in addresses}


def with_new_tables_unprotected(template: Template, standing: Container[str]) -> Template | None:
    """Return the template with which tables are created: unprotected from deletion. None if all tables stand.

    A rollback deletes the tables that it created, unless they are protected. Then the next attempt meets their names.
    """
    new = [
        name
        for name, item in template["Resources"].items()
        if item["Type"] == TABLE_TYPE and item["Properties"].get("DeletionProtectionEnabled") and name not in standing
    ]
    first = copy.deepcopy(template)
    for name in new:
        first["Resources"][name]["Properties"]["DeletionProtectionEnabled"] = False
    return first if new else None


def with_kept_resources(template: Template, newer: Template) -> Template:
    """Return the template with the resources that only a newer one has, and that are kept, such as a new table.

    A stack that loses one leaves it where it is. Then the next deployment of the newer template meets its name.
    """
    kept = {name: item for name, item in newer["Resources"].items() if item.get("DeletionPolicy") == KEPT}
    return (
        {**template, "Resources": {**kept, **template["Resources"]}}
        if kept.keys() - template["Resources"]
        else template
    )
