"""The role of the operator: it may make the calls of the commands of `infra.operator`, and no others.

tests/infra/operator/test_role.py runs each command and compares its calls with the role.
"""

from typing import Any

from infra.stack import resources
from infra.stack.alarms import TOPICS
from infra.stack.policies import FILES, KEY, TABLE, USE_OF_THE_KEY, Statement, allow, arn, via
from infra.stack.resources import SECRET_TYPE, TABLE_TYPE

HOURS = 12  # of a session: the copies of large tables take hours
# What `status` looks at and the console needs for the saved queries, which is of the whole account.
OF_THE_ACCOUNT = (
    *("logs:DescribeLogGroups", "logs:DescribeQueryDefinitions", "logs:GetQueryResults", "logs:StopQuery"),
    *("acm:DescribeCertificate", "ce:GetCostAndUsage", "dynamodb:ListTables", "ses:GetAccount"),
    *("sns:GetSMSAttributes", "sns:GetSMSSandboxAccountStatus"),
)
WITH_MFA = {"Bool": {"aws:MultiFactorAuthPresent": "true"}}
READ = ("BatchGetItem", "GetItem", "Query", "Scan")
WRITTEN = ("ConditionCheckItem", "DeleteItem", "PutItem", "UpdateItem")
# DynamoDB fills a copy with the caller's permissions.
COPIED = ("BatchWriteItem", "DeleteItem", "DescribeTable", "PutItem", "UpdateItem", "RestoreTableToPointInTime")
DUE = ("events", "outbox", "transactions")
INDEXES = (*(f"{name}/index/by_client" for name in ("agents", "terminals")), *(f"{name}/index/due" for name in DUE))


def role() -> dict[str, Any]:
    """Return the resource. `OperatorPrincipal` may assume it; without one, each principal that the account allows."""
    trusted = {"Fn::If": ["HasOperatorPrincipal", {"Ref": "OperatorPrincipal"}, arn("iam::${AWS::AccountId}:root")]}
    trust = {"Effect": "Allow", "Principal": {"AWS": trusted}, "Action": "sts:AssumeRole", "Condition": WITH_MFA}
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


def _of_tables() -> list[Statement]:
    tables = [arn(TABLE + one["TableName"]["Fn::Sub"]) for one in resources.properties_of(TABLE_TYPE)]
    copies = [arn(TABLE + "${AWS::StackName}-copy-*")]
    indexes = [arn(TABLE + "${AWS::StackName}-" + index) for index in INDEXES]
    kept = [arn(TABLE + "${AWS::StackName}-audit")]
    beside = {"ForAnyValue:StringNotEquals": {"dynamodb:Attributes": ["object", "at", "former", "version"]}}
    return [
        allow("dynamodb", (*READ, *WRITTEN, "RestoreTableToPointInTime"), tables),
        # Nobody changes who did what. An erasure takes former values away.
        {**allow("dynamodb", ("DeleteItem",), kept), "Effect": "Deny"},
        {**allow("dynamodb", ("UpdateItem",), kept, **beside), "Effect": "Deny"},
        allow("dynamodb", ("Query",), indexes),
        allow("dynamodb", (*READ, *COPIED), copies),
    ]


def _of_the_key() -> list[Statement]:
    granting = {"StringEquals": via(["dynamodb"]), "Bool": {"kms:GrantIsForAWSResource": "true"}}
    of_agents = {"kms:EncryptionContext:agent": "*"}
    return [
        allow("kms", ("CreateGrant",), [KEY], **granting),
        allow("kms", USE_OF_THE_KEY, [KEY], StringEquals=via(["dynamodb", "s3", "secretsmanager"])),
        allow("kms", ("Encrypt",), [KEY], StringLike=of_agents),
    ]


def _others() -> list[Statement]:
    changes = ("DescribeSecret", "GetSecretValue", "PutSecretValue", "UpdateSecretVersionStage")
    named = resources.definition()["Resources"].items()
    secrets = [{"Ref": name} for name, item in named if item.get("Type") == SECRET_TYPE]
    stack = arn("cloudformation:${AWS::Region}:${AWS::AccountId}:stack/${AWS::StackName}/*")
    files = ("DeleteObject", "DeleteObjectVersion", "GetObjectVersion", "PutObject")
    alarms = arn("cloudwatch:${AWS::Region}:${AWS::AccountId}:alarm:${AWS::StackName}-*")
    topics = [{"Ref": name} for name in TOPICS.values()]
    logs = arn("logs:${AWS::Region}:${AWS::AccountId}:log-group:/payments/${AWS::StackName}/*")
    return [
        allow("cloudformation", ("DescribeStackResource", "DescribeStacks"), [stack]),
        allow("cloudwatch", ("DescribeAlarms", "SetAlarmState"), [alarms]),
        allow("sns", ("ListSubscriptionsByTopic",), topics),
        allow("logs", ("StartQuery",), [logs]),
        {"Effect": "Allow", "Action": list(OF_THE_ACCOUNT), "Resource": ["*"]},
        allow("lambda", ("GetFunctionConfiguration",), [{"Fn::GetAtt": ["APIHandler", "Arn"]}]),
        allow("secretsmanager", changes, secrets),
        allow("s3", files, [arn(FILES + "/*")]),
        allow("s3", ("ListBucketVersions",), [arn(FILES)]),
    ]
