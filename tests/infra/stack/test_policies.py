"""Each function has no more permissions than it needs; `support/iam.py` fails every test in which one is missing."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra.stack import resources
from infra.stack.package import ROOT
from infra.stack.resources import ACCOUNT_ID, REGION, STACK
from tests.support.iam import KEY, SECRET, Permission, is_allowed, required_permissions, resource_of, statements

OF_TRACES = ["xray:PutTraceSegments", "xray:PutTelemetryRecords"]
POLICIES = sorted(path.stem.removeprefix("policy-") for path in (ROOT / ".chalice").glob("policy-*.json"))
TABLES = {resources.physical_name(table["TableName"], STACK) for table in resources.properties_of(resources.TABLE_TYPE)}
INDEXES = {
    f"{resources.physical_name(table['TableName'], STACK)}/index/{index['IndexName']}"
    for table in resources.properties_of(resources.TABLE_TYPE)
    for index in table.get("GlobalSecondaryIndexes", [])
}


def test_each_function_has_its_policy() -> None:
    config = json.loads((ROOT / ".chalice" / "config.json").read_text(encoding="utf-8"))

    files = {function["iam_policy_file"] for function in config["lambda_functions"].values()}
    assert files == {f"policy-{name}.json" for name in POLICIES}


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_names_actions_and_resources_that_exist(name: str) -> None:
    for statement in statements(name):
        for action in statement["Action"]:
            assert action.count("*") == 0 or action in {"kms:GenerateDataKey*", "kms:ReEncrypt*"}
        for resource in map(resource_of, statement["Resource"]):
            if ":table/" in resource:
                assert resource.split(":table/")[1] in TABLES | INDEXES
            elif statement["Effect"] == "Allow":
                assert resource != "*" or set(statement["Action"]) <= {
                    *OF_TRACES,
                    "sns:Publish",
                    "dynamodb:ListStreams",
                }


def test_the_authorizer_reaches_credentials_and_the_secret_and_nothing_else() -> None:
    own = [one for one in statements("authorizer") if not one["Action"][0].startswith(("logs:", "xray:"))]
    reached = {resource_of(resource) for statement in own for resource in statement["Resource"]}

    tables = {resource.rsplit("-", 1)[-1] for resource in reached - {KEY, SECRET}}
    assert tables == {"logins", "sessions", "agents"}  # a session names its agent
    assert {KEY, SECRET} <= reached
    actions = {action for statement in own for action in statement["Action"] if action.startswith("dynamodb:")}
    assert actions == {"dynamodb:GetItem", "dynamodb:UpdateItem"}  # failures are counted, sessions prolonged


def test_whoever_names_the_secret_may_read_it() -> None:
    for name in POLICIES:
        reached = {resource_of(one) for statement in statements(name) for one in statement["Resource"]}
        assert (SECRET in reached) == is_allowed(name, Permission("secretsmanager:GetSecretValue", SECRET)), name


@pytest.mark.parametrize("name", POLICIES)
def test_a_function_that_updates_a_table_may_read_the_item_that_refuses_it(name: str) -> None:
    updated = [one["Resource"] for one in statements(name) if "dynamodb:UpdateItem" in one["Action"]]
    tables = [resource_of(resource) for resources in updated for resource in resources]

    assert [one for one in tables if not is_allowed(name, Permission("dynamodb:GetItem", one))] == []


KEY_OF_TABLES = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
STREAMS = {"deliver-outbox": "Outbox", "deliver-events": "Events"}


@pytest.mark.parametrize("name", POLICIES)
def test_a_function_may_do_what_only_the_cloud_asks_of_it(name: str) -> None:
    """Lambda writes its log and reads its stream with the function's role, and DynamoDB uses the key with it."""
    own = [(one["Action"], [*map(resource_of, one["Resource"])]) for one in statements(name)]
    log = f"arn:aws:logs:{REGION}:{ACCOUNT_ID}:log-group:/payments/{STACK}/{name}:*"
    wanted = [(["logs:CreateLogStream", "logs:PutLogEvents"], [log])]
    if name in {"api", "authorizer"}:
        wanted.append((OF_TRACES, ["*"]))
    if name in STREAMS:
        reading = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
        wanted.append((reading, [f"{STREAMS[name]} StreamArn"]))
        wanted.append((["dynamodb:ListStreams"], ["*"]))
        wanted.append((["sqs:SendMessage"], ["LostRecords Arn"]))
    if any(":table/" in resource for _, resources in own for resource in resources):
        wanted.append((KEY_OF_TABLES, [KEY]))
        assert is_allowed(name, Permission("kms:Decrypt", KEY, {"kms:ViaService": f"dynamodb.{REGION}.amazonaws.com"}))

    assert [one for one in wanted if one not in own] == []


def permissions(name: str) -> set[str]:
    """Return what a policy allows and denies, a line for each action on each resource under each condition."""
    return {
        json.dumps([one["Effect"], action, resource, condition])
        for one in statements(name)
        for action in one["Action"]
        for resource in one["Resource"]
        for condition in list(conditions(one)) or [None]
        if not action.startswith(("logs:", "sqs:")) and action not in OF_STREAMS
    }


def conditions(statement: dict[str, Any]) -> Iterator[Any]:
    for tests in statement.get("Condition", {}).values():
        for name, wanted in tests.items():
            yield from ([name, value] for value in (wanted if isinstance(wanted, list) else [wanted]))


OF_STREAMS = {f"dynamodb:{name}" for name in ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")}


@pytest.mark.parametrize("stream", STREAMS)
def test_the_sweep_may_do_all_that_a_function_at_a_stream_does(stream: str) -> None:
    assert permissions(stream) - permissions("sweep") == set()


@pytest.mark.parametrize(
    ("function", "permission"),
    [
        (
            "authorizer",
            Permission("dynamodb:GetItem", f"arn:aws:dynamodb:{REGION}:{ACCOUNT_ID}:table/{STACK}-transactions"),
        ),
        (
            "api",
            Permission("dynamodb:DeleteItem", f"arn:aws:dynamodb:{REGION}:{ACCOUNT_ID}:table/{STACK}-audit"),
        ),
        ("api", Permission("dynamodb:Scan", f"arn:aws:dynamodb:{REGION}:{ACCOUNT_ID}:table/{STACK}-history")),
        ("api", Permission("kms:Decrypt", KEY)),  # without an agent in its context
        ("api", Permission("sns:Publish", f"arn:aws:sns:{REGION}:{ACCOUNT_ID}:any")),
        ("api", Permission("secretsmanager:PutSecretValue", SECRET)),
        (
            "sweep",
            Permission(
                "ses:SendEmail",
                f"arn:aws:ses:{REGION}:{ACCOUNT_ID}:identity/example.com",
                {"ses:FromAddress": "other@example.com"},
            ),
        ),
        (
            "sweep",
            Permission("dynamodb:UpdateItem", f"arn:aws:dynamodb:{REGION}:{ACCOUNT_ID}:table/{STACK}-logins"),
        ),
    ],
)
def test_an_action_a_function_does_not_need_is_denied(function: str, permission: Permission) -> None:
    assert not is_allowed(function, permission)


def test_a_transaction_needs_the_permission_of_each_of_its_steps() -> None:
    steps: list[dict[str, Any]] = [{"Put": {"TableName": "a"}}, {"ConditionCheck": {"TableName": "b"}}]

    needed = {
        (one.action, one.resource.rsplit("/")[-1])
        for one in required_permissions("dynamodb", "TransactWriteItems", {"TransactItems": steps})
    }
    assert {("dynamodb:PutItem", "a"), ("dynamodb:ConditionCheckItem", "b")} <= needed
