"""The role of the operator: it may make the calls of the commands of `infra.operator`, and no others.

tests/infra/operator/test_role.py runs each command and compares its calls with the role.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from infra.stack import resources
from infra.stack.resources import SECRET_TYPE, TABLE_TYPE

Statement = dict[str, Any]

HOURS = 12  # of a session: the copies of large tables take hours
SENDER = "MAIL_FROM"  # `make package` replaces it by the addresses of this setting, as in policies of functions
FUNCTIONS = ("APIHandler", "SweepPayments", "SweepOutbox")
READ = ("BatchGetItem", "GetItem", "Query", "Scan")
WRITTEN = ("ConditionCheckItem", "DeleteItem", "PutItem", "UpdateItem")
# DynamoDB fills a copy with the caller's permissions.
COPIED = ("BatchWriteItem", "DeleteItem", "PutItem", "UpdateItem", "RestoreTableToPointInTime")
INDEXES = ("agents/index/by_client", "outbox/index/due", "transactions/index/due")
KEY = {"Fn::GetAtt": ["Key", "Arn"]}
TABLE = "dynamodb:${AWS::Region}:${AWS::AccountId}:table/"
FILES = "s3:::${AWS::StackName}-${AWS::AccountId}-files"


def role() -> dict[str, Any]:
    """Return the resource. `OperatorPrincipal` may assume it; without one, each principal that the account allows."""
    trusted = {"Fn::If": ["HasOperatorPrincipal", {"Ref": "OperatorPrincipal"}, _arn("iam::${AWS::AccountId}:root")]}
    trust = {"Effect": "Allow", "Principal": {"AWS": trusted}, "Action": "sts:AssumeRole"}
    policy = {"Version": "2012-10-17", "Statement": [*_of_tables(), *_of_the_key(), *_others()]}
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "Description": {"Fn::Sub": "Operator's commands on ${AWS::StackName}"},
            "MaxSessionDuration": HOURS * 3600,
            "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [trust]},
            "Policies": [{"PolicyName": "commands", "PolicyDocument": policy}],
        },
    }


def _arn(text: str) -> dict[str, str]:
    return {"Fn::Sub": "arn:${AWS::Partition}:" + text}


def _statement(sid: str, service: str, actions: Iterable[str], on: Sequence[Any], **conditions: Any) -> Statement:
    actions = [f"{service}:{action}" for action in actions]
    condition = {"Condition": conditions} if conditions else {}
    return {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": list(on), **condition}


def _of_tables() -> list[Statement]:
    tables = [_arn(TABLE + one["TableName"]["Fn::Sub"]) for one in resources.properties_of(TABLE_TYPE)]
    indexes = [_arn(TABLE + "${AWS::StackName}-" + index) for index in INDEXES]
    described = ("DescribeContinuousBackups", "DescribeTable", "RestoreTableToPointInTime")
    copies = [_arn(TABLE + "${AWS::StackName}-copy-*")]
    return [
        _statement("ReadWriteAndCopyTables", "dynamodb", (*READ, *WRITTEN, *described), tables),
        _statement("FindInIndexes", "dynamodb", ("Query",), indexes),
        _statement("MakeReadAndDeleteCopies", "dynamodb", (*READ, *COPIED, "DescribeTable", "DeleteTable"), copies),
    ]


def _of_the_key() -> list[Statement]:
    names = ("dynamodb", "s3", "secretsmanager")
    services = [{"Fn::Sub": f"{name}.${{AWS::Region}}.${{AWS::URLSuffix}}"} for name in names]
    actions = ("Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey*", "ReEncrypt*")
    by_service = {"kms:ViaService": services}
    granting = {"StringEquals": {"kms:ViaService": services[:1]}, "Bool": {"kms:GrantIsForAWSResource": "true"}}
    of_agents = {"kms:EncryptionContext:agent": "*"}
    return [
        _statement("UseTheKeyOfTablesSecretsAndFiles", "kms", actions, [KEY], StringEquals=by_service),
        _statement("EncryptCopies", "kms", ("CreateGrant",), [KEY], **granting),
        _statement("EncryptAndDigestSecretKeys", "kms", ("Decrypt", "Encrypt"), [KEY], StringLike=of_agents),
    ]


def _others() -> list[Statement]:
    changes = ("DescribeSecret", "GetSecretValue", "PutSecretValue", "UpdateSecretVersionStage")
    functions = [{"Fn::GetAtt": [name, "Arn"]} for name in FUNCTIONS]
    named = resources.definition()["Resources"].items()
    secrets = [{"Ref": name} for name, item in named if item.get("Type") == SECRET_TYPE]
    stack = _arn("cloudformation:${AWS::Region}:${AWS::AccountId}:stack/${AWS::StackName}/*")
    files = ("DeleteObjectVersion", "GetObject", "GetObjectVersion", "PutObject")
    identities = [
        _arn(f"ses:${{AWS::Region}}:${{AWS::AccountId}}:{kind}/*") for kind in ("identity", "configuration-set")
    ]
    no_topic = _statement("DenyTopics", "sns", ("Publish",), [_arn("sns:*:*:*")])
    sender = {"StringEquals": {"ses:FromAddress": SENDER}}
    return [
        _statement("FindTheFunctions", "cloudformation", ("DescribeStackResource",), [stack]),
        _statement("ReadSettings", "lambda", ("GetFunctionConfiguration",), functions),
        _statement("ChangeSecrets", "secretsmanager", changes, secrets),
        _statement("ReadAndErasePictures", "s3", files, [_arn(FILES + "/*")]),
        _statement("ListPictures", "s3", ("ListBucketVersions",), [_arn(FILES)]),
        _statement("SendMail", "ses", ("SendEmail", "SendRawEmail"), identities, **sender),
        _statement("SendShortMessages", "sns", ("Publish",), ["*"]),
        {**no_topic, "Effect": "Deny"},
    ]
