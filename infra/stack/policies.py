"""The policies of the functions, from the tables below: `make reference` writes them to `.chalice/policy-*.json`.

Each function may do what is listed for it, and nothing else. `tests/support/iam.py` fails each test in which a function
needs more, `tests/infra/stack/test_policies.py` shows what each of them may not do.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Statement = dict[str, Any]

SENDER = "MAIL_FROM"  # `make package` replaces it by the addresses of this setting; without one it permits no e-mail
KEY = {"Fn::GetAtt": ["Key", "Arn"]}
TABLE = "dynamodb:${AWS::Region}:${AWS::AccountId}:table/"
FILES = "s3:::${AWS::StackName}-${AWS::AccountId}-files"
USE_OF_THE_KEY = ("Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey*", "ReEncrypt*")

# Actions of DynamoDB, and the tables and indexes that they need. A refused update reads its item.
TABLES: Mapping[str, Mapping[str, str]] = {
    "api": {
        "GetItem BatchGetItem": "merchants pricelists drawers agents terminals cards logins sessions transactions"
        " sequences webhooks",
        "PutItem": "merchants pricelists drawers agents terminals logins sessions transactions history sequences outbox"
        " audit webhooks events",
        "GetItem UpdateItem": "merchants pricelists drawers agents terminals cards logins sessions transactions history"
        " sequences webhooks events",
        "ConditionCheckItem": "agents cards drawers",
        "DeleteItem": "logins webhooks",
        "Query": "history drawers webhooks events agents/index/by_client terminals/index/by_client"
        " cards/index/by_account cards/index/by_client sessions/index/remembered",
        "Scan": "merchants agents terminals",
        "GetItem PutItem UpdateItem": "sandbox",
    },
    "authorizer": {"GetItem UpdateItem": "logins sessions", "GetItem": "agents"},
    "deliver-events": {
        "GetItem BatchGetItem UpdateItem": "events webhooks merchants",
        "PutItem": "events audit outbox",
        "Query": "webhooks",
    },
    "deliver-outbox": {
        "GetItem BatchGetItem": "transactions",
        "GetItem": "agents logins merchants",
        "GetItem UpdateItem": "outbox",
        "GetItem PutItem UpdateItem": "sequences",
    },
    "probe-health": {},
    "sweep": {
        "GetItem UpdateItem": "cards sequences",
        "GetItem BatchGetItem UpdateItem": "transactions events webhooks merchants",
        "GetItem": "agents logins",
        "PutItem": "events audit sequences",
        "Query": "transactions/index/due outbox/index/due events/index/due webhooks",
        "Scan": "webhooks",
        "GetItem PutItem UpdateItem": "history outbox sandbox",
    },
}
TRACED = ("api", "authorizer")
STREAMS = {"deliver-events": "Events", "deliver-outbox": "Outbox"}
READ_SECRETS = ("api", "authorizer", "sweep")
# Actions of KMS on values of an agent or a webhook, which the service encrypts itself.
ENCRYPTED: Mapping[str, Mapping[str, Sequence[str]]] = {
    "api": {"agent": ("Encrypt", "Decrypt"), "webhook": ("Encrypt", "Decrypt")},
    "deliver-events": {"webhook": ("Decrypt",)},
    "sweep": {"webhook": ("Decrypt",)},
}
# Actions of S3 on pictures and exports.
STORED_FILES = {
    "api": ("GetObject", "PutObject"),
    "deliver-outbox": ("GetObject",),
    "sweep": ("GetObject",),
}
SEND_MESSAGES = ("deliver-outbox", "sweep")


def policy_files() -> dict[str, str]:
    """Return the content of each policy's file, by its path in the project: a line for each statement."""
    return {f".chalice/policy-{name}.json": _text(statements(name)) for name in TABLES}


def statements(name: str) -> list[Statement]:
    """Return the policy of a function."""
    log = arn(f"logs:${{AWS::Region}}:${{AWS::AccountId}}:log-group:/payments/${{AWS::StackName}}/{name}:*")
    own = [allow("logs", ("CreateLogStream", "PutLogEvents"), [log])]
    if name in TRACED:
        own.append(allow("xray", ("PutTraceSegments", "PutTelemetryRecords"), ["*"]))
    if name in STREAMS:
        reading = ("DescribeStream", "GetRecords", "GetShardIterator")
        own.append(allow("dynamodb", reading, [{"Fn::GetAtt": [STREAMS[name], "StreamArn"]}]))
        own.append(allow("dynamodb", ("ListStreams",), ["*"]))
        own.append(allow("sqs", ("SendMessage",), [{"Fn::GetAtt": ["LostRecords", "Arn"]}]))
    for actions, tables in TABLES[name].items():
        named = [arn(f"{TABLE}${{AWS::StackName}}-{one}") for one in tables.split()]
        own.append(allow("dynamodb", actions.split(), named))
    if name in READ_SECRETS:
        own.append(allow("secretsmanager", ("GetSecretValue",), [{"Ref": "Secret"}]))
    if name in STORED_FILES:
        own.append(allow("s3", STORED_FILES[name], [arn(f"{FILES}/*")]))
    encrypted = {"dynamodb": TABLES[name], "secretsmanager": name in READ_SECRETS, "s3": name in STORED_FILES}
    if services := [service for service, is_used in encrypted.items() if is_used]:
        own.append(allow("kms", USE_OF_THE_KEY, [KEY], StringEquals=via(services)))
    for owner, of_kms in ENCRYPTED.get(name, {}).items():
        own.append(allow("kms", of_kms, [KEY], StringLike={f"kms:EncryptionContext:{owner}": "*"}))
    return own + (_sending() if name in SEND_MESSAGES else [])


def _sending() -> list[Statement]:
    """Return the statements about e-mails from the stage's sender, and SMS to telephones."""
    names = ("identity/*", "configuration-set/${AWS::StackName}")
    own = [arn(f"ses:${{AWS::Region}}:${{AWS::AccountId}}:{name}") for name in names]
    return [
        allow("ses", ("SendEmail", "SendRawEmail"), own, StringEquals={"ses:FromAddress": SENDER}),
        allow("sns", ("Publish",), ["*"]),
        {**allow("sns", ("Publish",), [arn("sns:*:*:*")]), "Effect": "Deny"},
    ]


def allow(service: str, actions: Iterable[str], on: Sequence[Any], **conditions: Any) -> Statement:
    """Return the statement that allows these actions of a service on these resources."""
    named = [f"{service}:{action}" for action in actions]
    return {
        "Effect": "Allow",
        "Action": named,
        "Resource": list(on),
        **({"Condition": conditions} if conditions else {}),
    }


def arn(text: str) -> dict[str, str]:
    """Return the name of a resource in the stack's partition."""
    return {"Fn::Sub": "arn:${AWS::Partition}:" + text}


def via(services: Iterable[str]) -> dict[str, Any]:
    """Return the condition that one of these services uses the key for the caller."""
    return {"kms:ViaService": [{"Fn::Sub": f"{name}.${{AWS::Region}}.${{AWS::URLSuffix}}"} for name in services]}


def _text(listed: Iterable[Statement]) -> str:
    lines = ",\n".join(f"  {json.dumps(one)}" for one in listed)
    return f'{{\n "Version": "2012-10-17",\n "Statement": [\n{lines}\n ]\n}}\n'
