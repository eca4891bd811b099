"""The policies of the functions, enforced on the local AWS: a missing permission fails the test that needs it.

Every call the service makes in a test is made by one of its functions, which the stack of the call shows. A call that
the policy of this function does not allow in the cloud is not allowed here either.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parseaddr
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from botocore.signers import RequestSigner

from chalicelib import outside
from chalicelib.store.aws_client import Client
from infra.bench.client import through
from infra.local.stage_settings import ENVIRONMENT
from infra.stack.policies import SENDER
from infra.stack.resources import ACCOUNT_ID, REGION, STACK

FOLDER = Path(__file__).parents[2] / ".chalice"
KEY, SECRET = "the key of the stage", "the secret of the stage"
PSEUDO_PARAMETERS = {
    "${AWS::Partition}": "aws",
    "${AWS::Region}": REGION,
    "${AWS::AccountId}": ACCOUNT_ID,
    "${AWS::URLSuffix}": "amazonaws.com",
    "${AWS::StackName}": STACK,
}
TRANSACTION_ACTIONS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
# The actions on the stage's key that a call to an encrypted table, secret or bucket needs.
READING, WRITING = ("Decrypt",), ("Decrypt", "GenerateDataKey")
# What DynamoDB does to a copy, and with its key, with the permissions of the caller who restores it.
RESTORING = ("BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "Scan", "UpdateItem")
KEY_OF_A_TABLE = ("CreateGrant", "Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey", "ReEncryptFrom", "ReEncryptTo")
# The functions by their code: a module of chalicelib, or a module and the name in it.
FUNCTIONS = {
    "authorizer.py": "authorizer",
    "web.py": "api",
    "services/payment_sweep.py": "sweep",
    "services/outbox.py:sweep": "sweep",
    "services/outbox.py:deliver": "deliver-outbox",
    "services/deliveries.py:sweep": "sweep",
    "services/lane_runner.py": "sweep",  # in a thread of it
    "services/deliveries.py:deliver": "deliver-events",
    "services/deliveries.py:attempt": "deliver-events",  # in a thread of its own, unless the sweep calls it
}


@dataclass(frozen=True)
class Permission:
    """One permission that a call needs."""

    action: str
    resource: str
    context: Mapping[str, str] = field(default_factory=dict)


class NotPermittedError(Exception):
    """A call that the policy of its function does not allow."""


DENIED_CALLS: list[str] = []  # of the test that runs


def calling_function() -> str | None:
    """Return the function that makes the call, by the outermost code of the service on the stack; None for a test."""
    found, frame = None, sys._getframe()  # noqa: SLF001  the only way to see the stack without reading its sources
    while frame:
        _, _, module = frame.f_code.co_filename.rpartition("chalicelib/")
        found = FUNCTIONS.get(f"{module}:{frame.f_code.co_name}") or FUNCTIONS.get(module) or found
        frame = frame.f_back  # type: ignore[assignment]
    return found


@cache
def statements(function: str) -> list[dict[str, Any]]:
    """Return the statements of the policy of a function."""
    parsed: dict[str, Any] = json.loads((FOLDER / f"policy-{function}.json").read_text(encoding="utf-8"))
    listed: list[dict[str, Any]] = parsed["Statement"]
    return listed


def resource_of(value: Any) -> str:
    """Return the name a resource of a policy has on the local AWS."""
    if value == {"Fn::GetAtt": ["Key", "Arn"]}:
        return KEY
    if isinstance(value, dict) and "Ref" in value:
        return {"Secret": SECRET}.get(value["Ref"], str(value["Ref"]))
    if value == SENDER:
        return ENVIRONMENT[SENDER]
    if isinstance(value, dict) and "Fn::GetAtt" in value:
        return " ".join(value["Fn::GetAtt"])
    text: str = value["Fn::Sub"] if isinstance(value, dict) else value
    for name, local in PSEUDO_PARAMETERS.items():
        text = text.replace(name, local)
    return text


def is_allowed(function: str, permission: Permission) -> bool:
    """Return whether the policy of a function allows it."""
    return _is_allowed(function, permission.action, permission.resource, *permission.context.items())


@cache
def _is_allowed(function: str, action: str, resource: str, *context: tuple[str, str]) -> bool:
    return is_allowed_by(statements(function), Permission(action, resource, dict(context)))


def is_allowed_by(listed: Iterable[Mapping[str, Any]], permission: Permission) -> bool:
    """Return whether a statement allows it, and none denies it."""
    matching = [one for one in listed if matches(one, permission)]
    return bool(matching) and all(one["Effect"] == "Allow" for one in matching)


def matches(statement: Mapping[str, Any], permission: Permission) -> bool:
    """Return whether a statement is about this permission."""
    return (
        any(fnmatchcase(permission.action, action) for action in statement["Action"])
        and any(fnmatchcase(permission.resource, resource_of(one)) for one in statement["Resource"])
        and all(
            _fulfils(permission.context.get(key), [value] if isinstance(value, str) else value, test)
            for test, tests in statement.get("Condition", {}).items()
            for key, value in tests.items()
        )
    )


def _fulfils(value: str | None, wanted: Iterable[Any], test: str) -> bool:
    if test == "ForAnyValue:StringNotEquals":
        return not {*(value or "").split()} <= {*wanted}
    return value is not None and any(fnmatchcase(value, resource_of(one)) for one in wanted)


# Operations that look at the whole account.
OF_THE_ACCOUNT = {"DescribeCertificate", "GetAccount", "GetCostAndUsage", "ListTables"}
OF_THE_ACCOUNT |= {"GetSMSAttributes", "GetSMSSandboxAccountStatus"}


def required_permissions(service: str, operation: str, parameters: Mapping[str, Any]) -> Iterator[Permission]:
    """Yield the permissions that a call needs. Raises KeyError for a service that is not listed here."""
    if operation == "GetCallerIdentity":  # everybody may
        return
    if operation in OF_THE_ACCOUNT:
        yield Permission(f"{service.removesuffix('v2')}:{operation}", "*")
    elif service == "dynamodb":
        yield from _table_permissions(operation, parameters)
    elif service == "kms":
        context = {f"kms:EncryptionContext:{name}": value for name, value in parameters["EncryptionContext"].items()}
        yield Permission(f"kms:{operation}", KEY, context)
    elif service == "secretsmanager":
        yield Permission(f"secretsmanager:{operation}", SECRET)
        yield from _key_permissions("secretsmanager", READING)
    elif service == "s3":
        yield from _file_permissions(operation, parameters)
    elif service == "sesv2":
        identity = f"arn:aws:ses:{REGION}:{ACCOUNT_ID}:identity/example.com"
        sender = {"ses:FromAddress": parseaddr(parameters["FromEmailAddress"])[1]}
        actions = ["ses:SendEmail", *(["ses:SendRawEmail"] if "Raw" in parameters["Content"] else [])]
        used = [identity]
        if configuration_set := parameters.get("ConfigurationSetName"):
            used.append(f"arn:aws:ses:{REGION}:{ACCOUNT_ID}:configuration-set/{configuration_set}")
        yield from (Permission(action, one, sender) for action in actions for one in used)
    else:
        yield Permission(f"{service}:{operation}", _resource_of(service, parameters))


def _resource_of(service: str, parameters: Mapping[str, Any]) -> str:
    if service == "cloudformation":
        return _arn(service, f"stack/{parameters['StackName']}/any")
    if service == "cloudwatch":
        return _arn(service, f"alarm:{STACK}-any")
    if service == "lambda":
        return f"{parameters['FunctionName'].split('-')[-2]} Arn"  # STACK-Name-random
    return {"sns": str(parameters.get("TopicArn") or "+27829876543")}[service]


def _file_permissions(operation: str, parameters: Mapping[str, Any]) -> Iterator[Permission]:
    bucket = f"arn:aws:s3:::{parameters['Bucket']}"
    if operation == "ListObjectVersions":
        yield Permission("s3:ListBucketVersions", bucket)
    elif operation == "DeleteObjects":
        for one in parameters["Delete"]["Objects"]:
            yield Permission("s3:DeleteObject", f"{bucket}/{one['Key']}")  # for a version as well
            yield from _file_permissions("DeleteObject", {**parameters, **one})
    else:
        of_version = "Version" if "VersionId" in parameters else ""
        yield Permission(f"s3:{operation}{of_version}", f"{bucket}/{parameters['Key']}")
        yield from _key_permissions("s3", READING if operation == "GetObject" else WRITING)


def _table_permissions(operation: str, parameters: Mapping[str, Any]) -> Iterator[Permission]:
    if operation == "TransactWriteItems":
        for item in parameters["TransactItems"]:
            ((kind, step),) = item.items()
            yield _table_permission(TRANSACTION_ACTIONS[kind], step["TableName"], context=_attributes(step))
    elif operation == "RestoreTableToPointInTime":
        yield _table_permission(operation, parameters["SourceTableName"])
        yield from (_table_permission(action, parameters["TargetTableName"]) for action in (operation, *RESTORING))
        yield from _key_permissions("dynamodb", KEY_OF_A_TABLE, {"kms:GrantIsForAWSResource": "true"})
    elif operation == "BatchGetItem":
        yield from (_table_permission(operation, name) for name in parameters["RequestItems"])
    else:
        yield _table_permission(
            operation, parameters["TableName"], parameters.get("IndexName"), _attributes(parameters)
        )
    yield from _key_permissions("dynamodb", READING if operation in {"GetItem", "BatchGetItem", "Query"} else WRITING)


def _table_permission(
    action: str, name: str, index: str | None = None, context: Mapping[str, str] | None = None
) -> Permission:
    arn = _arn("dynamodb", f"table/{name}")
    return Permission(f"dynamodb:{action}", arn + (f"/index/{index}" if index else ""), context or {})


def _attributes(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return the context of an update: the attributes that it names."""
    if "UpdateExpression" not in parameters:
        return {}
    return {"dynamodb:Attributes": " ".join([*parameters["Key"], *parameters["ExpressionAttributeNames"].values()])}


def _arn(service: str, name: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT_ID}:{name}"


def _key_permissions(
    service: str, actions: tuple[str, ...], context: Mapping[str, str] | None = None
) -> Iterator[Permission]:
    for action in actions:
        via = {"kms:ViaService": f"{service}.{REGION}.amazonaws.com"}
        yield Permission(f"kms:{action}", KEY, {**via, **(context or {})})


def enforce(service: str, operation: str, parameters: Mapping[str, Any]) -> None:
    """Raise NotPermittedError if the policy of the calling function does not allow the call."""
    function = calling_function()
    if function is None:
        return
    for permission in required_permissions(service, operation, parameters):
        if not is_allowed(function, permission):
            message = f".chalice/policy-{function}.json does not allow {permission.action} on {permission.resource}"
            DENIED_CALLS.append(message)
            raise NotPermittedError(message)


@pytest.fixture(scope="session", autouse=True)
def enforced_policies() -> Iterator[None]:
    """Check every call of every client, ours and boto3's, against the policies."""
    with pytest.MonkeyPatch.context() as patch:
        call = BaseClient._make_api_call  # type: ignore[attr-defined]  # noqa: SLF001
        sign = RequestSigner.generate_presigned_url

        def own_checked(client: Client, operation: str, **parameters: Any) -> dict[str, Any]:
            enforce(client.service, operation, parameters)
            return client.call(operation, **parameters)

        def checked(client: Any, operation: str, parameters: dict[str, Any]) -> Any:
            enforce(client.meta.service_model.service_name, operation, parameters)
            return call(client, operation, parameters)

        def signed(signer: Any, **named: Any) -> Any:
            enforce("s3", named["operation_name"], {"Bucket": ENVIRONMENT["BUCKET"], "Key": "any"})
            return sign(signer, **named)

        patch.setattr(BaseClient, "_make_api_call", checked)
        patch.setattr(RequestSigner, "generate_presigned_url", signed)
        with outside.given(client=through(own_checked)):
            yield


@pytest.fixture(autouse=True)
def no_call_denied() -> Iterator[None]:
    """Fail a test in which a call was denied, even if the service handled the error."""
    DENIED_CALLS.clear()
    yield
    assert DENIED_CALLS == []
