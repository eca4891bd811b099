"""What each function may do. That nothing is missing, every other test proves: `tests/iam.py` enforces the policies."""

import json
from typing import Any

import pytest

from infra import resources
from infra.cloud.package import ROOT
from tests.iam import KEY, SECRET, Permission, is_allowed, required_permissions, resource_of, statements

POLICIES = sorted(path.stem.removeprefix("policy-") for path in (ROOT / ".chalice").glob("policy-*.json"))
TABLES = {
    resources.physical_name(table["TableName"], "payments-local")
    for table in resources.properties_of(resources.TABLE_TYPE)
}
INDEXES = {
    f"{resources.physical_name(table['TableName'], 'payments-local')}/index/{index['IndexName']}"
    for table in resources.properties_of(resources.TABLE_TYPE)
    for index in table.get("GlobalSecondaryIndexes", [])
}


def test_each_function_has_its_policy() -> None:
    config = json.loads((ROOT / ".chalice" / "config.json").read_text(encoding="utf-8"))

    files = {function["iam_policy_file"] for function in config["lambda_functions"].values()}
    assert files == {f"policy-{name}.json" for name in POLICIES}


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_names_actions_and_things_that_exist(name: str) -> None:
    for statement in statements(name):
        for action in statement["Action"]:
            assert action.count("*") == 0 or action in {"kms:GenerateDataKey*", "kms:ReEncrypt*"}
        for resource in map(resource_of, statement["Resource"]):
            if ":table/" in resource:
                assert resource.split(":table/")[1] in TABLES | INDEXES
            elif statement["Effect"] == "Allow":
                assert resource != "*" or statement["Sid"] in {"Trace", "SendShortMessages"}


def test_the_authorizer_reaches_credentials_and_one_secret_and_nothing_else() -> None:
    own = [one for one in statements("authorizer") if one["Sid"] not in {"Log", "Trace"}]
    reached = {resource_of(resource) for statement in own for resource in statement["Resource"]}

    tables = {resource.rsplit("-", 1)[-1] for resource in reached - {KEY, SECRET}}
    assert tables == {"logins", "sessions", "agents"}  # a session names its agent
    assert {KEY, SECRET} <= reached
    actions = {action for statement in own for action in statement["Action"] if action.startswith("dynamodb:")}
    assert actions == {"dynamodb:GetItem", "dynamodb:UpdateItem"}  # failures are counted, sessions prolonged


@pytest.mark.parametrize(
    ("function", "need"),
    [
        (
            "authorizer",
            Permission("dynamodb:GetItem", "arn:aws:dynamodb:eu-west-1:123456789012:table/payments-local-transactions"),
        ),
        (
            "api",
            Permission("dynamodb:DeleteItem", "arn:aws:dynamodb:eu-west-1:123456789012:table/payments-local-audit"),
        ),
        ("api", Permission("dynamodb:Scan", "arn:aws:dynamodb:eu-west-1:123456789012:table/payments-local-history")),
        ("api", Permission("kms:Decrypt", KEY)),  # without an agent in its context
        ("api", Permission("sns:Publish", "arn:aws:sns:eu-west-1:123456789012:any")),
        ("api", Permission("secretsmanager:PutSecretValue", SECRET)),
        (
            "sweep-outbox",
            Permission("dynamodb:UpdateItem", "arn:aws:dynamodb:eu-west-1:123456789012:table/payments-local-logins"),
        ),
    ],
)
def test_what_a_function_has_no_business_with_is_refused(function: str, need: Permission) -> None:
    assert not is_allowed(function, need)


def test_a_transaction_takes_the_permission_of_each_of_its_steps() -> None:
    steps: list[dict[str, Any]] = [{"Put": {"TableName": "a"}}, {"ConditionCheck": {"TableName": "b"}}]

    taken = {
        (need.action, need.resource.rsplit("/")[-1])
        for need in required_permissions("dynamodb", "TransactWriteItems", {"TransactItems": steps})
    }
    assert {("dynamodb:PutItem", "a"), ("dynamodb:ConditionCheckItem", "b")} <= taken
